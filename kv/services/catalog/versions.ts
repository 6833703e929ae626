/**
 * Keeps the versions of the catalogue. A version never changes; the head says which one is in force, and which one will
 * be from a moment on.
 *
 * - Folder `kv/services/catalog/`: the catalogue in the store: versions, their contents, and the one that a process serves.
 * - In: contents that were validated, the author, the reason, the version that the author saw.
 * - Out: the version in force, the history, one catalogue in memory that follows the head.
 * - Never: changes the head without checking what the author saw, or holds a secret: contents name variables and stored
 *   keys.
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { compareAndSet } from "../../engine/store/cas.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import {
  catalogHeadKey,
  catalogVersionKey,
  catalogVersionsPrefix,
} from "../../engine/schema/keys.ts";
import { type CatalogHead, type HeadVersion, inForce } from "../../engine/control/catalog_head.ts";
import { type Actor, addAuditLine } from "../../people/audit/operator_audit.ts";
import {
  catalogDigest,
  catalogText,
  knownContents,
  readContents,
  removeContents,
  writeContents,
  type WrittenContents,
} from "./contents.ts";

/** Versions, newest first, whose contents are kept for a rollback. Older ones keep their line in the history. */
export const keptVersions = 200;

/** Versions on one page of the history. */
export const versionsPerPage = 50;

/** Attempts to change the head: only operators compete. */
const headWriteAttempts = 5;

/** Most characters of a reason. */
export const maxCatalogReasonChars = 500;

/** The author of versions that come from `gateway.json`. */
const fileAuthor = "gateway.json";

/** One version. Written once. */
export interface CatalogVersion extends HeadVersion {
  readonly contentId: string;
  /** Account of the operator; absent for `gateway.json`, the command line and the operator key. */
  readonly authorId?: AccountId;
  readonly author: string;
  readonly reason: string;
  readonly createdAtMs: number;
  readonly effectiveFromMs: number;
  /** The version that it replaces; absent for the first. */
  readonly parent?: number;
  /** The version whose contents it repeats. */
  readonly rollbackTo?: number;
}

/** Actor who changes the catalogue, the reason, and the version that the actor knows. */
export interface CatalogAct {
  /** Absent: `gateway.json`. */
  readonly author?: Actor;
  readonly reason: string;
  readonly nowMs: number;
  /** The newest version that the author has seen; another one is a conflict. */
  readonly base: number;
}

/** Contents that become a version. */
export interface NewVersion {
  readonly text: string;
  /** The moment from which it is in force; absent: at once. */
  readonly effectiveFromMs?: number | undefined;
  readonly rollbackTo?: number;
  /** Contents that are in the store already. */
  readonly contentId?: string;
  /** Set if the contents are those of `gateway.json`. */
  readonly fileDigest?: string;
  /** A row by which the contents were found valid: if it changes before the commit, that is a conflict. */
  readonly validBy?: Deno.AtomicCheck;
}

/** The result of a change of the catalogue. */
export type CatalogChangeResult =
  | { readonly ok: true; readonly version: CatalogVersion; readonly withdrawn?: number }
  /** Somebody else has made a version since. */
  | { readonly ok: false; readonly reason: "conflict"; readonly newest: CatalogVersion | undefined }
  /** It would be the same as the version in force. */
  | { readonly ok: false; readonly reason: "unchanged" }
  /** There is no such version, or its contents are no longer kept. */
  | { readonly ok: false; readonly reason: "missing" };

/** The head as of a moment: a scheduled version whose moment has come is in force. */
export function settledHead(head: CatalogHead, nowMs: number): CatalogHead {
  const { scheduled: _, ...rest } = head;
  const { version, digest } = inForce(head, nowMs);
  return version === head.version ? head : { ...rest, version, digest };
}

/** Reads the head; `undefined` before the first start on this store. */
export async function readHead(kv: KeyValueStore): Promise<CatalogHead | undefined> {
  return (await kv.get<CatalogHead>(catalogHeadKey())).value ?? undefined;
}

export async function readVersion(
  kv: KeyValueStore,
  version: number,
): Promise<CatalogVersion | undefined> {
  return (await kv.get<CatalogVersion>(catalogVersionKey(version))).value ?? undefined;
}

/** Reads the contents of a version; `undefined` if they are not kept, or damaged. */
export async function readVersionContents(kv: KeyValueStore, version: number): Promise<unknown> {
  const row = await readVersion(kv, version);
  return row && await readContents(kv, row);
}

/** Lists versions, newest first. */
export async function listVersions(
  kv: KeyValueStore,
  { before, count = versionsPerPage }: { readonly before?: number; readonly count?: number } = {},
): Promise<CatalogVersion[]> {
  const prefix = catalogVersionsPrefix();
  const selector = before === undefined ? { prefix } : { prefix, end: catalogVersionKey(before) };
  const rows = kv.list<CatalogVersion>(selector, { limit: count, reverse: true });
  return (await Array.fromAsync(rows)).map(({ value }) => value);
}

async function committed(
  kv: KeyValueStore,
  operation: AtomicWrite,
  version: CatalogVersion,
): Promise<boolean> {
  if ((await operation.commit()).ok) return true;
  // The commit may have been repeated by the store's client, and have met what it wrote itself.
  const row = await readVersion(kv, version.version);
  return row?.contentId === version.contentId && row.createdAtMs === version.createdAtMs &&
    row.author === version.author;
}

function addAudit(
  operation: AtomicWrite,
  { author, reason, nowMs }: CatalogAct,
  act: "catalog_applied" | "catalog_withdrawn" | "catalog_file_declined",
  subject: string,
): void {
  // The file is no person: its version is the record.
  if (author === undefined) return;
  addAuditLine(operation, author, { act, subject, detail: reason, atMs: nowMs });
}

/**
 * Makes a version of contents that were validated, together with its audit line. A version that waits for its moment is
 * withdrawn.
 */
export async function addVersion(
  kv: KeyValueStore,
  wanted: NewVersion,
  act: CatalogAct,
): Promise<CatalogChangeResult> {
  const digest = await catalogDigest(wanted.text);
  let written: WrittenContents | undefined;
  const outcome = await compareAndSet<CatalogChangeResult>(async () => {
    const entry = await kv.get<CatalogHead>(catalogHeadKey());
    const head = entry.value === null ? undefined : settledHead(entry.value, act.nowMs);
    if ((head?.newest ?? 0) !== act.base) return { done: await conflict(kv, head) };
    const isPending = head?.scheduled !== undefined;
    if (head?.digest === digest && !isPending) return { done: { ok: false, reason: "unchanged" } };
    written ??= wanted.contentId === undefined
      ? await writeContents(kv, wanted.text, act.nowMs)
      : await knownContents(kv, wanted.contentId);
    if (written.row.value === null) return { done: { ok: false, reason: "missing" } };
    const version = versionRow(wanted, act, { digest, head, contentId: written.contentId });
    const operation = kv.atomic()
      .check(entry, written.row, { key: catalogVersionKey(version.version), versionstamp: null })
      .check(...(wanted.validBy === undefined ? [] : [wanted.validBy]))
      .set(catalogVersionKey(version.version), version)
      .set(catalogHeadKey(), headWith(head, version, wanted, act.nowMs));
    addAudit(operation, act, "catalog_applied", `version ${version.version}`);
    if (!await committed(kv, operation, version)) return "again";
    const withdrawn = head?.scheduled?.version;
    return { done: { ok: true, version, ...defined({ withdrawn }) } };
  }, { attempts: headWriteAttempts });
  if (outcome === "conflict") return await conflict(kv, await readHead(kv));
  if (outcome.done.ok) await removeUnkept(kv, act.nowMs);
  return outcome.done;
}

async function conflict(
  kv: KeyValueStore,
  head: CatalogHead | undefined,
): Promise<CatalogChangeResult> {
  const newest = head && await readVersion(kv, head.newest);
  return { ok: false, reason: "conflict", newest };
}

function versionRow(
  { effectiveFromMs, rollbackTo }: NewVersion,
  { author, reason, nowMs }: CatalogAct,
  { digest, head, contentId }: {
    readonly digest: string;
    readonly head: CatalogHead | undefined;
    readonly contentId: string;
  },
): CatalogVersion {
  return {
    version: (head?.newest ?? 0) + 1,
    digest,
    contentId,
    ...(author !== undefined && "accountId" in author && { authorId: author.accountId }),
    author: author?.email ?? fileAuthor,
    reason: reason.slice(0, maxCatalogReasonChars),
    createdAtMs: nowMs,
    effectiveFromMs: Math.max(nowMs, effectiveFromMs ?? nowMs),
    ...defined({ parent: head?.version, rollbackTo }),
  };
}

function headWith(
  head: CatalogHead | undefined,
  { version, digest, effectiveFromMs }: CatalogVersion,
  wanted: NewVersion,
  nowMs: number,
): CatalogHead {
  const fileDigest = wanted.fileDigest ?? head?.fileDigest ?? "";
  return head !== undefined && effectiveFromMs > nowMs
    ? {
      newest: version,
      version: head.version,
      digest: head.digest,
      scheduled: { version, digest, effectiveFromMs },
      fileDigest,
    }
    : { newest: version, version, digest, fileDigest };
}

/** Removes contents of old versions. Called after each change, so that a store keeps a bounded number. */
async function removeUnkept(kv: KeyValueStore, nowMs: number): Promise<void> {
  const kept = await listVersions(kv, { count: keptVersions });
  await removeContents(kv, new Set(kept.map(({ contentId }) => contentId)), nowMs);
}

/** Makes a new version with the contents of an older one. */
export async function rollBack(
  kv: KeyValueStore,
  { to, effectiveFromMs, validBy }: {
    readonly to: number;
    readonly effectiveFromMs?: number | undefined;
    readonly validBy?: Deno.AtomicCheck;
  },
  act: CatalogAct,
): Promise<CatalogChangeResult> {
  const row = await readVersion(kv, to);
  const contents = row && await readContents(kv, row);
  if (row === undefined || contents === undefined) return { ok: false, reason: "missing" };
  const text = JSON.stringify(contents);
  const { contentId } = row;
  const wanted = { text, contentId, rollbackTo: to, effectiveFromMs, ...defined({ validBy }) };
  return await addVersion(kv, wanted, act);
}

/** Changes the head alone, together with its audit line. */
async function changeHead(
  kv: KeyValueStore,
  act: CatalogAct,
  kind: "catalog_withdrawn" | "catalog_file_declined",
  change: (
    head: CatalogHead,
  ) => { readonly head: CatalogHead; readonly subject: string } | undefined,
): Promise<"done" | "conflict" | "missing"> {
  const outcome = await compareAndSet<"done" | "conflict" | "missing">(async () => {
    const entry = await kv.get<CatalogHead>(catalogHeadKey());
    if (entry.value === null) return { done: "missing" };
    const head = settledHead(entry.value, act.nowMs);
    if (head.newest !== act.base) return { done: "conflict" };
    const changed = change(head);
    if (changed === undefined) return { done: "missing" };
    const operation = kv.atomic().check(entry).set(catalogHeadKey(), changed.head);
    addAudit(operation, act, kind, changed.subject);
    return (await operation.commit()).ok ? { done: "done" } : "again";
  }, { attempts: headWriteAttempts });
  return outcome === "conflict" ? "conflict" : outcome.done;
}

/** Takes back the version that waits for its moment. */
export function withdrawScheduled(
  kv: KeyValueStore,
  act: CatalogAct,
): Promise<"done" | "conflict" | "missing"> {
  return changeHead(
    kv,
    act,
    "catalog_withdrawn",
    ({ scheduled, ...head }) => scheduled && { head, subject: `version ${scheduled.version}` },
  );
}

/** Keeps the store's catalogue although `gateway.json` has changed: the file is not offered any more. */
export function declineFile(
  kv: KeyValueStore,
  fileDigest: string,
  act: CatalogAct,
): Promise<"done" | "conflict" | "missing"> {
  return changeHead(
    kv,
    act,
    "catalog_file_declined",
    (head) => ({ head: { ...head, fileDigest }, subject: fileAuthor }),
  );
}

// Takes over `gateway.json` at the start of a process: into an empty store, or after the file has changed.

/** Fate of the file. */
export interface Seeding {
  readonly head: CatalogHead;
  /** Set if the file has changed, but the store was edited since, so that the file does not count. */
  readonly isFilePassedOver: boolean;
}

/** Attempts while other instances start at the same time. */
const seedAttempts = 5;

/** Whether the catalogue in force is not the file that was taken over last. */
function isEdited(head: CatalogHead, nowMs: number): boolean {
  const { scheduled, digest, fileDigest } = settledHead(head, nowMs);
  return scheduled !== undefined || digest !== fileDigest;
}

/** Whether a file has contents that were neither taken over nor declined. */
export function isPassedOver(head: CatalogHead, fileDigest: string, nowMs: number): boolean {
  return head.fileDigest !== fileDigest && inForce(head, nowMs).digest !== fileDigest;
}

/** Makes a version of the file if the store has none, or only versions of the file. */
export async function seedCatalog(
  kv: KeyValueStore,
  fileContents: unknown,
  nowMs: number,
): Promise<Seeding> {
  const text = catalogText(fileContents);
  const fileDigest = await catalogDigest(text);
  for (let attempt = 1;; attempt++) {
    const head = await readHead(kv);
    if (head !== undefined && (head.fileDigest === fileDigest || isEdited(head, nowMs))) {
      return { head, isFilePassedOver: isPassedOver(head, fileDigest, nowMs) };
    }
    const act = { reason: "", nowMs, base: head?.newest ?? 0 };
    const result = await addVersion(kv, { text, fileDigest }, act);
    // An earlier file again, or one that differs in spaces alone, is no new version.
    if (!result.ok && result.reason === "unchanged") await declineFile(kv, fileDigest, act);
    const changed = await readHead(kv);
    if (changed?.fileDigest === fileDigest) return { head: changed, isFilePassedOver: false };
    if (attempt === seedAttempts) throw new Error("the catalogue is being changed by others");
  }
}
