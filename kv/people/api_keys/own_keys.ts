/**
 * Keeps the provider keys of organisations: one for each provider of the catalogue, which their calls use before those
 * of the operator. A row has them all, each sealed with a master key and bound to organisation and provider; nothing
 * shows a key again. The row of the account says that there are some, so that no other call reads for them.
 */
import { ascending } from "../../../core/lib/base/ascending.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";
import { bumpKeysEpoch } from "../../engine/control/control.ts";
import { addMail } from "../../engine/outbox/outbox.ts";
import { accountKey, ownKeysKey } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { type Account, hasOnlyBooks, mailReaderOf, writeAccount } from "../accounts/accounts.ts";
import { addAct, type Done } from "../audit/account_activity.ts";

/** Provider keys of an organisation: more than an operator has providers, and their row stays far below its bound. */
export const maxOwnKeys = 20;

/** Characters of a key: those of all vendors are far shorter, and twenty sealed ones fit a row. */
export const maxOwnKeyChars = 1_000;

/** Refusal of a key by its provider, as it was noted. */
export interface OwnKeyProblem {
  readonly status: number;
  readonly atMs: number;
}

/** A provider key of an organisation. */
export interface OwnKey {
  readonly provider: string;
  readonly sealed: string;
  /** Text that tells the key from another: its last four characters, or the begin of its digest. */
  readonly fingerprint: string;
  /** Whether calls that it does not serve go on to the operator's routes. */
  readonly fallback: boolean;
  /** Whether the provider took it when it was entered; otherwise that could not be found out. */
  readonly isTested: boolean;
  readonly setAtMs: number;
  /** Absent: the provider has not refused it since it was entered. */
  readonly problem?: OwnKeyProblem;
}

/** The row of an organisation. */
export interface OwnKeysRow {
  readonly keys: readonly OwnKey[];
}

/** Lists the provider keys of an organisation, by provider. */
export async function listOwnKeys(
  kv: KeyValueStore,
  organisationId: AccountId,
): Promise<readonly OwnKey[]> {
  return (await kv.get<OwnKeysRow>(ownKeysKey(organisationId))).value?.keys ?? [];
}

/** Facts of a key in the activity log: no secret. */
function shownOf(key: OwnKey | undefined): object {
  return key === undefined ? {} : {
    key: key.fingerprint,
    fallback: key.fallback,
    tested: key.isTested,
  };
}

/** Result of a change: `full`: there are as many as may be. */
export type OwnKeyChange = "changed" | "missing" | "full";

/**
 * Changes the key for a provider; on all instances within two seconds.
 *
 * @param change returns the key that takes the place of the former one; `undefined`: none does
 */
export async function changeOwnKey(
  kv: KeyValueStore,
  organisationId: AccountId,
  { provider, change, ...done }: Done & {
    readonly provider: string;
    readonly change: (former: OwnKey | undefined) => OwnKey | undefined;
  },
): Promise<OwnKeyChange> {
  return await writeAccount<OwnKeyChange>(async () => {
    const [account, row] = await kv.getMany<[Account, OwnKeysRow]>([
      accountKey(organisationId),
      ownKeysKey(organisationId),
    ]);
    if (account.value === null || hasOnlyBooks(account.value)) return { done: "missing" };
    const { keys: former } = row.value ?? { keys: [] };
    const before = former.find((key) => key.provider === provider);
    const after = change(before);
    if (before === undefined && after === undefined) return { done: "missing" };
    const keys = [
      ...former.filter((key) => key !== before),
      ...(after === undefined ? [] : [after]),
    ].sort((one, other) => ascending(one.provider, other.provider));
    if (keys.length > maxOwnKeys) return { done: "full" };
    const { hasOwnKeys: _, ...rest } = account.value;
    const operation = bumpKeysEpoch(kv.atomic()).check(account, row)
      .set(account.key, keys.length === 0 ? rest : { ...rest, hasOwnKeys: true });
    if (keys.length === 0) operation.delete(row.key);
    else operation.set(row.key, { keys });
    addAct(operation, organisationId, "provider_key_changed", done, {
      subject: provider,
      before: shownOf(before),
      after: shownOf(after),
    });
    return (await operation.commit()).ok ? { done: "changed" } : "again";
  });
}

/** Milliseconds after which a refusal of the same status is told again. */
const toldAgainMs = dayMs;

/**
 * Notes that a provider refused a key of an organisation in a call, and mails its owner: once for each status and day,
 * over all instances, since note and mail are one commit.
 *
 * @returns whether there is something to tell
 */
export async function noteOwnKeyRefusal(
  kv: KeyValueStore,
  organisationId: AccountId,
  { provider, ...problem }: OwnKeyProblem & { readonly provider: string },
): Promise<boolean> {
  const [{ value: account }, row] = await kv.getMany<[Account, OwnKeysRow]>([
    accountKey(organisationId),
    ownKeysKey(organisationId),
  ]);
  const keys = row.value?.keys ?? [];
  const key = keys.find((one) => one.provider === provider);
  const { status, atMs } = problem;
  const isTold = key?.problem?.status === status && atMs - key.problem.atMs < toldAgainMs;
  if (account === null || key === undefined || isTold) return false;
  const noted = keys.map((one) => one === key ? { ...one, problem } : one);
  const operation = kv.atomic().check(row).set(row.key, { keys: noted });
  addAct(operation, organisationId, "provider_key_changed", {
    by: { kind: "gateway" },
    nowMs: atMs,
  }, { subject: provider, after: { refused: status } });
  const reader = mailReaderOf(account, "provider_key_refused");
  if (reader !== undefined) {
    addMail(operation, { kind: "provider_key_refused", ...reader, provider, status }, {
      nowMs: atMs,
    });
  }
  // Another call that was refused at the same time has told it.
  return (await operation.commit()).ok;
}
