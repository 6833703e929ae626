/** Changes the catalogue for pages and operations alike: what would change, every problem, or a new version. */
import { ambiguousPrices } from "../../../../core/catalog/ambiguous_prices.ts";
import type { Catalog } from "../../../../core/catalog/catalog.ts";
import { type CatalogChange, catalogChanges } from "../../../../core/catalog/diff.ts";
import type { ReadCatalog } from "../../../../core/config/catalog_reading.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import type { Clock } from "../../../../core/lib/time/clock.ts";
import { catalogDigest, catalogText } from "../../../../kv/services/catalog/contents.ts";
import {
  addVersion,
  type CatalogChangeResult,
  type CatalogVersion,
  declineFile,
  isPassedOver,
  readHead,
  readVersion,
  readVersionContents,
  rollBack,
  seedCatalog,
  settledHead,
  withdrawScheduled,
} from "../../../../kv/services/catalog/versions.ts";
import type { CatalogHead } from "../../../../kv/engine/control/catalog_head.ts";
import type { Actor } from "../../../../kv/people/audit/operator_audit.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";
import type { LiveVault } from "../../../../kv/services/vault/live_vault.ts";
import type { Gateway } from "../../../api/gateway/gateway.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";

/** Needs of editing. */
export interface CatalogEditing {
  readonly kv: KeyValueStore;
  readonly clock: Pick<Clock, "nowMs">;
  /** Reads contents as this process would have to serve them. */
  readonly read: ReadCatalog;
  /** The stored keys that a catalogue may name. */
  readonly vault: LiveVault;
  /** Contents of the `gateway.json` of this process. */
  readonly fileContents: unknown;
  /** Puts a change in force here at once; other instances find it themselves. */
  readonly refresh: () => Promise<void>;
}

/** The catalogue as an editor finds it. */
export interface CatalogState {
  /** As of now: a version whose moment has come waits no longer. */
  readonly head: CatalogHead;
  /** The version in force. */
  readonly version: number;
  readonly contents: JsonObject;
  /** Whether `gateway.json` has contents that were neither taken over nor declined. */
  readonly isFilePassedOver: boolean;
}

/** Effect of a change, or why it is none. */
export type CatalogPreview =
  | { readonly ok: false; readonly problems: readonly string[] }
  | {
    readonly ok: true;
    readonly changes: readonly CatalogChange[];
    /** As this process would serve it. */
    readonly catalog: Catalog;
  };

/** A change that an operator asks for. */
export interface WantedChange {
  /** The newest version that the author has seen. */
  readonly base: number;
  readonly reason: string;
  /** The moment from which it is in force; absent: at once. */
  readonly effectiveFromMs?: number | undefined;
}

/** The result of a change. */
export type ChangeResult = CatalogChangeResult | {
  readonly ok: false;
  readonly reason: "invalid";
  readonly problems: readonly string[];
};

/** Reads the catalogue of the store, which is made of `gateway.json` if there is none yet. */
export async function catalogState(deps: CatalogEditing): Promise<CatalogState> {
  const { kv, clock, fileContents } = deps;
  const nowMs = clock.nowMs();
  const stored = await readHead(kv) ?? (await seedCatalog(kv, fileContents, nowMs)).head;
  const head = settledHead(stored, nowMs);
  const { version } = head;
  const contents = await readVersionContents(kv, version);
  if (!isObject(contents)) throw new Error(`catalogue version ${version} is damaged`);
  const fileDigest = await catalogDigest(catalogText(fileContents));
  return {
    head,
    version,
    contents,
    isFilePassedOver: isPassedOver(head, fileDigest, nowMs),
  };
}

function isObject(contents: unknown): contents is JsonObject {
  return typeof contents === "object" && contents !== null && !Array.isArray(contents);
}

/** Problems of how new contents are written, although they can be read. */
function writtenProblems(contents: unknown): string[] {
  if (!isObject(contents)) return [];
  return ambiguousPrices(contents).map((problem) => `catalogue ${problem}`);
}

/** Checks contents and compares them with the version in force. */
export async function previewCatalog(
  { read, vault }: Pick<CatalogEditing, "read" | "vault">,
  before: JsonObject,
  wanted: unknown,
): Promise<CatalogPreview> {
  const problems = writtenProblems(wanted);
  if (problems.length > 0) return { ok: false, problems };
  await vault.refresh();
  const reading = read(wanted, "catalogue", { storedKeys: vault });
  if (!reading.ok) return { ok: false, problems: reading.problems };
  // What is a catalogue is an object of JSON.
  const after = isObject(wanted) ? wanted : {};
  return { ok: true, changes: catalogChanges(before, after), catalog: reading.catalog };
}

/** Makes a version of contents, if they are valid. */
export async function applyCatalog(
  deps: CatalogEditing,
  contents: unknown,
  { base, reason, effectiveFromMs }: WantedChange,
  author: Actor,
): Promise<ChangeResult> {
  const problems = writtenProblems(contents);
  if (problems.length > 0) return { ok: false, reason: "invalid", problems };
  const validBy = await deps.vault.refresh();
  const reading = deps.read(contents, "catalogue", { storedKeys: deps.vault });
  if (!reading.ok) return { ok: false, reason: "invalid", problems: reading.problems };
  const text = catalogText(contents);
  const isFile = text === catalogText(deps.fileContents);
  const fileDigest = isFile ? await catalogDigest(text) : undefined;
  const act = { author, reason, base, nowMs: deps.clock.nowMs() };
  const result = await addVersion(
    deps.kv,
    { text, effectiveFromMs, validBy, ...defined({ fileDigest }) },
    act,
  );
  if (result.ok) await deps.refresh();
  return result;
}

/** Makes a version with the contents of an older one, if this process can still serve those. */
export async function rollBackCatalog(
  deps: CatalogEditing,
  to: number,
  { base, reason, effectiveFromMs }: WantedChange,
  author: Actor,
): Promise<ChangeResult> {
  const contents = await readVersionContents(deps.kv, to);
  if (contents === undefined) return { ok: false, reason: "missing" };
  const validBy = await deps.vault.refresh();
  const reading = deps.read(contents, `catalogue version ${to}`, { storedKeys: deps.vault });
  if (!reading.ok) return { ok: false, reason: "invalid", problems: reading.problems };
  const act = { author, reason, base, nowMs: deps.clock.nowMs() };
  const result = await rollBack(deps.kv, { to, effectiveFromMs, validBy }, act);
  if (result.ok) await deps.refresh();
  return result;
}

/** Takes back the version that waits for its moment. */
export async function withdrawCatalog(
  deps: CatalogEditing,
  { base, reason }: WantedChange,
  author: Actor,
): Promise<"done" | "conflict" | "missing"> {
  const act = { author, reason, base, nowMs: deps.clock.nowMs() };
  const result = await withdrawScheduled(deps.kv, act);
  if (result === "done") await deps.refresh();
  return result;
}

/** Keeps the store's catalogue although `gateway.json` differs. */
export async function keepStoreCatalog(
  { kv, clock, fileContents }: CatalogEditing,
  { base, reason }: WantedChange,
  author: Actor,
): Promise<"done" | "conflict" | "missing"> {
  const fileDigest = await catalogDigest(catalogText(fileContents));
  return await declineFile(kv, fileDigest, { author, reason, base, nowMs: clock.nowMs() });
}

/** Compares a version with the one that it replaced; `undefined` if the contents of either are no longer kept. */
export async function changesOfVersion(
  kv: KeyValueStore,
  version: number,
): Promise<readonly CatalogChange[] | undefined> {
  const row = await readVersion(kv, version);
  const after = await readVersionContents(kv, version);
  if (row === undefined || !isObject(after)) return undefined;
  if (row.parent === undefined) return [];
  const before = await readVersionContents(kv, row.parent);
  return isObject(before) ? catalogChanges(before, after) : undefined;
}

// Connects editing with a running gateway.

/** Returns what editing needs of a running gateway. */
export function editingOf({ kv, clock, catalog, vault, config, control }: Gateway): CatalogEditing {
  return {
    kv,
    clock,
    read: catalog.read,
    vault,
    fileContents: config.fileContents,
    refresh: () => control.refresh(),
  };
}

// Reads the moment from which a change is in force.

/** Milliseconds from now that a moment may be: price lists are announced months before, not years. */
const furthestMs = 366 * dayMs;

/** Form of a moment, for messages. */
export const effectiveMomentForm =
  "must be a time with its zone within a year, such as 2026-12-01T00:00:00+07:00";

/**
 * Reads a time with its zone, such as `2026-12-01T00:00:00+07:00`.
 *
 * @returns undefined if it is none, or further from now than a year
 */
export function effectiveMomentMs(text: string, nowMs: number): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,3})?)?(?:Z|[+-]\d{2}:\d{2})$/.test(text)) {
    return undefined;
  }
  const ms = Date.parse(text);
  return Math.abs(ms - nowMs) <= furthestMs ? ms : undefined;
}

// Writes a version of the catalogue for programs.

/** The row of a version, without its contents. */
export function versionJson(
  { version, author, reason, createdAtMs, effectiveFromMs, parent, rollbackTo, digest }:
    CatalogVersion,
) {
  return {
    version,
    author,
    reason,
    created_at: new Date(createdAtMs).toISOString(),
    effective_from: new Date(effectiveFromMs).toISOString(),
    ...defined({ parent, rollback_to: rollbackTo }),
    digest,
  };
}
