/**
 * Keeps the movements behind notices: one row per movement, whatever source reported it. Searching
 * and adding share a guard row, so two simultaneous notices of one movement cannot both treat it as
 * new.
 */
import type { BankNotice } from "../../../core/trade/bank/bank_notice.ts";
import { foldVietnamese } from "../../../core/trade/bank/order_code.ts";
import { codesOfTexts } from "../../../core/trade/statements/memo_codes.ts";
import {
  comparedReference,
  compareMovement,
  type KnownMovement,
  type MovementTraits,
  type MovementVerdict,
  movementWindowMs,
} from "../../../core/trade/statements/same_movement.ts";
import {
  bankMovementGuardKey,
  bankMovementIdOf,
  bankMovementKey,
  bankMovementsBetween,
  bankReferenceKey,
} from "../../engine/schema/keys.ts";
import type { AtomicWrite, KeyValueStore } from "../../engine/store/key_value_store.ts";
import { defined } from "../../../core/lib/base/defined.ts";

/** Characters of a memo that are compared: banks cut theirs at 210 or fewer. */
const comparedMemoChars = 200;

/**
 * Most movements of one amount within three days that a new one is compared with: far above any
 * real number.
 */
const maxComparedMovements = 50_000;

type Direction = BankNotice["direction"];

/** A movement in the store, with its key and version. */
export interface StoredMovement extends KnownMovement {
  readonly entry: Deno.KvEntry<KnownMovement>;
}

/** The result of a search, and what the following write has to check. */
export interface MovementSearch {
  readonly verdict: MovementVerdict<StoredMovement>;
  readonly traits: MovementTraits;
  readonly account: string;
  readonly direction: Direction;
  readonly amountMicroVnd: bigint;
  readonly guard: Deno.KvEntryMaybe<number>;
  readonly referenceIsFree: boolean;
}

/** Returns the properties of a notice that are compared. */
export function movementTraits(event: BankNotice): MovementTraits {
  return {
    source: event.source,
    id: event.id,
    time: event.time,
    reference: comparedReference(event.reference),
    codes: codesOfTexts([event.detectedCode, event.memo, event.fullText]),
    memo: foldVietnamese(event.memo).replace(/[^A-Z0-9]/g, "").slice(0, comparedMemoChars),
    ...defined({ importId: event.importId }),
  };
}

/**
 * Compares a notice with known movements.
 *
 * @param account canonical name of the receiving account
 */
export async function searchMovement(
  kv: KeyValueStore,
  event: BankNotice,
  account: string,
): Promise<MovementSearch> {
  const { direction, amountMicroVnd } = event;
  const traits = movementTraits(event);
  // The guard is read first: a movement added after this read makes the write fail.
  const guard = await kv.get<number>(bankMovementGuardKey(account, direction, amountMicroVnd));
  const near = bankMovementsBetween(account, direction, amountMicroVnd, {
    fromMs: event.time.atMs - movementWindowMs,
    toMs: event.time.atMs + movementWindowMs,
  });
  const rows = kv.list<KnownMovement>(near, { limit: maxComparedMovements });
  const known = new Map<string, StoredMovement>();
  for await (const entry of rows) known.set(bankMovementIdOf(entry.key), stored(entry));
  let referenceIsFree = false;
  if (traits.reference !== "") {
    const key = bankReferenceKey(account, direction, amountMicroVnd, traits.reference);
    const pointer = await kv.get<Deno.KvKey>(key);
    referenceIsFree = pointer.value === null;
    const entry = pointer.value === null ? undefined : await kv.get<KnownMovement>(pointer.value);
    if (entry !== undefined && entry.value !== null) {
      known.set(bankMovementIdOf(entry.key), stored(entry));
    }
  }
  const verdict = compareMovement(traits, [...known.values()]);
  return { verdict, traits, account, direction, amountMicroVnd, guard, referenceIsFree };
}

function stored(entry: Deno.KvEntry<KnownMovement>): StoredMovement {
  return { ...entry.value, entry };
}

function importsOf({ importId }: MovementTraits): readonly string[] {
  return importId === undefined ? [] : [importId];
}

/**
 * Adds to an atomic write: the notice stands for a movement of its own. Needs at most two checks.
 */
export function addMovement(operation: AtomicWrite, search: MovementSearch): void {
  const { account, direction, amountMicroVnd, traits, guard } = search;
  const { source, id, time } = traits;
  const key = bankMovementKey(account, direction, amountMicroVnd, time.atMs, source, id);
  const movement: KnownMovement = { ...traits, toldBy: [source], imports: importsOf(traits) };
  operation.check(guard)
    .set(guard.key, (guard.value ?? 0) + 1)
    .set(key, movement);
  if (search.referenceIsFree) {
    operation.set(bankReferenceKey(account, direction, amountMicroVnd, traits.reference), key);
  }
}

/**
 * Adds to an atomic write: the notice reports a known movement. The row of the movement changes
 * only under the guard.
 */
export function joinMovement(
  operation: AtomicWrite,
  search: MovementSearch,
  known: StoredMovement,
): void {
  const movement: KnownMovement = {
    ...known.entry.value,
    toldBy: [...known.entry.value.toldBy, search.traits.source],
    imports: [...known.entry.value.imports ?? [], ...importsOf(search.traits)],
  };
  operation.check(search.guard)
    .set(search.guard.key, (search.guard.value ?? 0) + 1)
    .set(known.entry.key, movement);
}

/**
 * Prepares an atomic write: a notice that was joined to a movement or set aside stands for a
 * movement of its own after all, so that other notices of it are recognized. Changes nothing if it
 * does already.
 *
 * @param account canonical name of the receiving account
 * @param joinedTo the notice to whose movement it was joined
 */
export async function separateMovement(
  kv: KeyValueStore,
  event: BankNotice,
  account: string,
  joinedTo: BankNotice | undefined,
): Promise<(operation: AtomicWrite) => void> {
  // The guard is read before the rows, since both change only under it.
  const search = await searchMovement(kv, event, account);
  const rowOf = (one: BankNotice) => {
    const { direction, amountMicroVnd, time, source, id } = one;
    const key = bankMovementKey(account, direction, amountMicroVnd, time.atMs, source, id);
    return kv.get<KnownMovement>(key);
  };
  if ((await rowOf(event)).value !== null) return () => {};
  const former = joinedTo === undefined ? undefined : await rowOf(joinedTo);
  return (operation) => {
    addMovement(operation, search);
    if (former === undefined || former.value === null) return;
    const { toldBy, imports = [], ...traits } = former.value;
    const told = importsOf(search.traits);
    operation.set(
      former.key,
      {
        ...traits,
        toldBy: toldBy.filter((source) => source !== event.source),
        imports: imports.filter((one) => !told.includes(one)),
      } satisfies KnownMovement,
    );
  };
}
