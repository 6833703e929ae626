/**
 * Keeps the chain of checkpoints: one per day, each sealed with a master key, and each with the seal of the day
 * before. So none can be changed, left out or moved by somebody who has no master key; the head names the last.
 *
 * What this cannot show: that the whole store, with the chain, was put back to an earlier state. Whoever needs that
 * keeps the last seal elsewhere and compares.
 */
import {
  checkSignature,
  type MasterKeys,
  signText,
} from "../../../../core/people/api_keys/seal.ts";
import { vietnamDay, vietnamDayStartMs } from "../../../../core/lib/time/vietnam_time.ts";
import {
  checkpointHeadKey,
  checkpointKey,
  checkpointsFromSelector,
  checkpointsPrefix,
  dayOfCheckpoint,
} from "../../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../../engine/store/key_value_store.ts";
import { readAhead } from "../../../engine/store/read_ahead.ts";
import type { DayContent } from "./day_digests.ts";
import { groupsOf } from "../../../engine/store/in_parallel.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";

/** The balances of all accounts at the end of a day. */
export interface SealedBalances {
  readonly accounts: number;
  readonly pages: number;
  readonly totalMicroVnd: bigint;
  /** SHA-256 of the pages in hexadecimal digits. */
  readonly digest: string;
}

/** Commits that dropped rows by their age, by kind of row. */
export type DroppedCommits = Readonly<Record<string, number>>;

/** The last day that was signed for proofs, and the hash of its statement, which leads to all before it. */
export interface SignedHead {
  readonly day: string;
  readonly digest: string;
}

/** Day that was verified. */
export interface Checkpoint extends DayContent {
  readonly day: string;
  /** The seal of the day before; `null` for the first of the chain. */
  readonly previousSeal: string | null;
  /** Only of the last day that a verification sealed: earlier days have none. */
  readonly balances: SealedBalances | null;
  readonly sealedAtMs: number;
  /** Rows that were dropped by their age until then; absent as long as none were. */
  readonly droppedCommits?: DroppedCommits;
  /** The last signed day then; absent if none was, or of an earlier release. */
  readonly signed?: SignedHead;
}

/** A checkpoint with its seal. */
export interface SealedCheckpoint extends Checkpoint {
  readonly seal: string;
}

/** A stored row. The text is what the seal covers, byte by byte. */
export interface SealedRow {
  readonly text: string;
  readonly seal: string;
}

/** The last checkpoint of the chain. */
export interface HeadRow {
  readonly day: string;
  readonly seal: string;
}

/** A chain as it was read. */
export interface Chain {
  /** In the order of their days; as far as the first problem, if there is one. */
  readonly checkpoints: readonly SealedCheckpoint[];
  /** One line each. */
  readonly problems: readonly string[];
}

/** Returns the day after a day. */
export function nextDay(day: string): string {
  return vietnamDay(vietnamDayStartMs(day) + dayMs);
}

function encode({ balances, ...checkpoint }: Checkpoint): string {
  return JSON.stringify({
    version: 1,
    ...checkpoint,
    chargedMicroVnd: checkpoint.chargedMicroVnd.toString(),
    ledgerMicroVnd: checkpoint.ledgerMicroVnd.toString(),
    balances: balances === null
      ? null
      : { ...balances, totalMicroVnd: balances.totalMicroVnd.toString() },
  });
}

/** Decodes a text whose seal was found valid, so its form is known. */
function decode(text: string): Checkpoint {
  const { version: _, ...stored } = JSON.parse(text);
  return {
    ...stored,
    chargedMicroVnd: BigInt(stored.chargedMicroVnd),
    ledgerMicroVnd: BigInt(stored.ledgerMicroVnd),
    balances: stored.balances === null
      ? null
      : { ...stored.balances, totalMicroVnd: BigInt(stored.balances.totalMicroVnd) },
  };
}

function isRow(value: unknown): value is SealedRow {
  return typeof value === "object" && value !== null && "text" in value && "seal" in value &&
    typeof value.text === "string" && typeof value.seal === "string";
}

/** Checks a row that was sealed. Returns a line if it is not what was sealed; `what` names it. */
export async function openSealed(
  keys: MasterKeys,
  what: string,
  value: unknown,
): Promise<SealedRow | string> {
  if (!isRow(value)) return `${what} is not one`;
  const check = await checkSignature(keys, value.text, value.seal);
  if (check.kind === "unknown_key") {
    return `${what} is sealed with the master key ${check.keyId}, which is not configured`;
  }
  return check.kind === "invalid" ? `${what} was changed after it was sealed` : value;
}

async function opened(
  keys: MasterKeys,
  day: string,
  value: unknown,
): Promise<SealedCheckpoint | string> {
  const row = await openSealed(keys, `the checkpoint of ${day}`, value);
  return typeof row === "string" ? row : { ...decode(row.text), seal: row.seal };
}

/** Reads the checkpoint of a day and checks its own seal; a line if it is not one. */
export async function readCheckpoint(
  kv: KeyValueStore,
  keys: MasterKeys,
  day: string,
): Promise<SealedCheckpoint | string> {
  const { value, versionstamp } = await kv.get(checkpointKey(day));
  return versionstamp === null ? `${day} is not sealed` : await opened(keys, day, value);
}

/** Reads and checks the whole chain. */
export async function readChain(kv: KeyValueStore, keys: MasterKeys): Promise<Chain> {
  // The head first: a checkpoint that is added meanwhile is then behind it.
  const head = (await kv.get<HeadRow>(checkpointHeadKey())).value;
  const checkpoints: SealedCheckpoint[] = [];
  const stop = (problem: string): Chain => ({ checkpoints, problems: [problem] });
  for await (const { key, value } of readAhead(kv, { prefix: checkpointsPrefix() })) {
    const day = dayOfCheckpoint(key);
    const last = checkpoints.at(-1);
    const expected = last === undefined ? day : nextDay(last.day);
    if (day !== expected) return stop(`the checkpoint of ${expected} is missing`);
    const checkpoint = await opened(keys, day, value);
    if (typeof checkpoint === "string") return stop(checkpoint);
    if (checkpoint.day !== day) {
      return stop(`the checkpoint of ${checkpoint.day} is stored as that of ${day}`);
    }
    if (checkpoint.previousSeal !== (last?.seal ?? null)) {
      const before = vietnamDay(vietnamDayStartMs(day) - dayMs);
      return stop(
        last === undefined
          ? `the checkpoint of ${before} is missing`
          : `the checkpoint of ${day} does not follow the one of ${before} that is stored`,
      );
    }
    checkpoints.push(checkpoint);
  }
  const last = checkpoints.at(-1);
  if (head !== null && (last === undefined || last.day < head.day)) {
    return stop(
      `the checkpoint of ${last === undefined ? head.day : nextDay(last.day)} is missing`,
    );
  }
  const named = checkpoints.find(({ day }) => day === head?.day);
  if (named !== undefined && head !== null && named.seal !== head.seal) {
    return stop(`the checkpoint of ${head.day} is not the one that the head of the chain names`);
  }
  if (head === null && last !== undefined) return stop("the head of the checkpoints is missing");
  return { checkpoints, problems: [] };
}

/**
 * Adds a checkpoint to the chain. `false`: another process has added one meanwhile, and this one is not in the chain.
 */
export async function appendCheckpoint(
  kv: KeyValueStore,
  keys: MasterKeys,
  checkpoint: Omit<Checkpoint, "previousSeal">,
  last: SealedCheckpoint | undefined,
): Promise<SealedCheckpoint | undefined> {
  const head = await kv.get<HeadRow>(checkpointHeadKey());
  if ((head.value?.seal ?? null) !== (last?.seal ?? null)) return undefined;
  const whole: Checkpoint = { ...checkpoint, previousSeal: last?.seal ?? null };
  const text = encode(whole);
  const seal = await signText(keys, text);
  const key = checkpointKey(checkpoint.day);
  const row: SealedRow = { text, seal };
  const next: HeadRow = { day: checkpoint.day, seal };
  const result = await kv.atomic().check(head).check({ key, versionstamp: null })
    .set(key, row).set(head.key, next).commit();
  return result.ok ? { ...whole, seal } : undefined;
}

/** Checkpoints deleted in one commit; the store takes 1,000 changes. */
const deletesPerCommit = 500;

/**
 * Removes the checkpoints from a day on, so that those days are sealed anew. The newest go first: what is left after an
 * interruption is a chain, and repeating the call ends it.
 *
 * @param attach adds rows of the caller to the last commit
 */
export async function cutChain(
  kv: KeyValueStore,
  fromDay: string,
  attach: (op: AtomicWrite) => void,
): Promise<void> {
  const keys: Deno.KvKey[] = [];
  const rows = kv.list(checkpointsFromSelector(fromDay), { reverse: true });
  for await (const { key } of rows) keys.push(key);
  const before = vietnamDay(vietnamDayStartMs(fromDay) - dayMs);
  const last = (await kv.get<SealedRow>(checkpointKey(before))).value;
  for (const some of groupsOf(keys.slice(0, -1), deletesPerCommit)) {
    const op = kv.atomic();
    for (const key of some) op.delete(key);
    await op.commit();
  }
  const op = kv.atomic();
  const oldest = keys.at(-1);
  if (oldest !== undefined) op.delete(oldest);
  if (last === null) op.delete(checkpointHeadKey());
  else op.set(checkpointHeadKey(), { day: before, seal: last.seal } satisfies HeadRow);
  attach(op);
  await op.commit();
}
