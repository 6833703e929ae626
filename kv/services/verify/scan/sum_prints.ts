/**
 * Keeps sums of days that were read as prints: 64 bytes each, where a sum takes 700. A row that is compared with a print
 * is right if it has the same one. Prints are hashes of 53 bits with a seed of their own in each process, so that nobody
 * can make a wrong row with the print of the right one; among a billion rows, one that is wrong by accident goes unseen
 * once in nine million verifications.
 */
import type { UsageSum } from "../../../money/receipts/day_sums.ts";
import type { HoursTotal } from "../checks/verify_sums.ts";

const [seed = 0, otherSeed = 0] = crypto.getRandomValues(new Uint32Array(2));

/** Computes the print of a text: two lanes of 32 bits in the manner of MurmurHash3, of which 53 bits are kept. */
function printOf(text: string): number {
  let [one, other] = [seed, otherSeed];
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at);
    one = Math.imul(one ^ char, 0xcc9e2d51);
    one = one << 13 | one >>> 19;
    other = Math.imul(other ^ char, 0x1b873593);
    other = other << 15 | other >>> 17;
  }
  one = Math.imul(one ^ one >>> 16, 0x85ebca6b) ^ other;
  other = Math.imul(other ^ other >>> 13, 0xc2b2ae35) ^ one;
  one = Math.imul(one ^ one >>> 15, 0x2c1b3c6d);
  other = Math.imul(other ^ other >>> 16, 0x297a2d39);
  return (other >>> 11) * 2 ** 32 + (one >>> 0);
}

/** Every member of a sum in a fixed order, those of providers by name. */
function sumText({ providers, ...sum }: UsageSum): string {
  let text = `${sum.calls} ${sum.failedCalls} ${sum.estimatedCalls} ${sum.inputTokens} ` +
    `${sum.cacheReadTokens} ${sum.cacheWriteTokens} ${sum.outputTokens} ${sum.units} ` +
    `${sum.costMicroVnd} ${sum.shortfallMicroVnd} ${sum.latencyMs} ${sum.firstOutputMs} ` +
    `${sum.firstOutputCalls}`;
  for (const name of Object.keys(providers ?? {}).sort()) {
    const part = providers?.[name];
    if (part === undefined) continue;
    text += `\n${name} ${part.calls} ${part.revenueMicroVnd} ${part.costMicroVnd}`;
    for (const bucket of Object.keys(part.units).sort()) text += ` ${bucket} ${part.units[bucket]}`;
  }
  return text;
}

const hoursText = (
  { calls, outputTokens, costMicroVnd }: Omit<HoursTotal, "missingCalls">,
): string => `${calls} ${outputTokens} ${costMicroVnd}`;

/** Slots of a new table. A table is at most three quarters full. */
const firstSlots = 1_024;

/** Findings about the row of a sum; a right one may wait for its copy. */
const [notCompared, wrong, right, waitsForCopy] = [0, 1, 2, 3];

class Columns {
  readonly slots: number;
  readonly names: Float64Array;
  readonly sums: Float64Array;
  readonly hours: Float64Array;
  readonly versions: Float64Array;
  /** 0: a free slot. */
  readonly accounts: Uint32Array;
  readonly states: Uint8Array;

  /** @param slots a power of two */
  constructor(slots: number) {
    this.slots = slots;
    this.names = new Float64Array(slots);
    this.sums = new Float64Array(slots);
    this.hours = new Float64Array(slots);
    this.versions = new Float64Array(slots);
    this.accounts = new Uint32Array(slots);
    this.states = new Uint8Array(slots);
  }

  /** The slot of a name, or the free one where it belongs. */
  slotOf(name: number): number {
    const last = this.slots - 1;
    let slot = name % this.slots;
    while (this.accounts[slot] !== 0 && this.names[slot] !== name) slot = slot + 1 & last;
    return slot;
  }

  copyFrom(other: Columns, from: number): void {
    const slot = this.slotOf(other.names[from]!);
    this.names[slot] = other.names[from]!;
    this.sums[slot] = other.sums[from]!;
    this.hours[slot] = other.hours[from]!;
    this.versions[slot] = other.versions[from]!;
    this.accounts[slot] = other.accounts[from]!;
    this.states[slot] = other.states[from]!;
  }
}

/** Prints of sums by their names, and what was found out about their rows. */
export class SumPrints {
  #columns = new Columns(firstSlots);
  #size = 0;
  #byAccount: Uint32Array | undefined;

  get size(): number {
    return this.#size;
  }

  /**
   * Adds a sum. One whose name is there already is never right: its account is read again.
   *
   * @param account the number of its account, from 1 on
   */
  add(id: string, account: number, sum: UsageSum): void {
    if (this.#size * 4 >= this.#columns.slots * 3) this.#resize(this.#columns.slots * 2);
    const columns = this.#columns;
    const name = printOf(id);
    const slot = columns.slotOf(name);
    const isNew = columns.accounts[slot] === 0;
    if (isNew) this.#size++;
    columns.names[slot] = name;
    columns.accounts[slot] = account;
    columns.sums[slot] = isNew ? printOf(sumText(sum)) : NaN;
    columns.hours[slot] = isNew ? printOf(hoursText(sum)) : NaN;
  }

  #resize(slots: number, isKept: (account: number) => boolean = () => true): void {
    const before = this.#columns;
    this.#columns = new Columns(slots);
    this.#size = 0;
    for (let slot = 0; slot < before.slots; slot++) {
      const account = before.accounts[slot]!;
      if (account === 0 || !isKept(account)) continue;
      this.#columns.copyFrom(before, slot);
      this.#size++;
    }
  }

  /** Forgets the sums of some accounts. */
  forget(accounts: ReadonlySet<number>): void {
    this.#resize(this.#columns.slots, (account) => !accounts.has(account));
  }

  #find(id: string): number | undefined {
    const slot = this.#columns.slotOf(printOf(id));
    return this.#columns.accounts[slot] === 0 ? undefined : slot;
  }

  /** Whether the receipts of a sum add up to this one. */
  isSame(id: string, sum: UsageSum): boolean {
    const slot = this.#find(id);
    return slot !== undefined && this.#columns.sums[slot] === printOf(sumText(sum));
  }

  /** The row of a sum, until it is compared. */
  get(id: string): PrintOfSum | undefined {
    const slot = this.#find(id);
    return slot === undefined ? undefined : new PrintOfSum(this.#columns, slot);
  }

  /** The numbers of the accounts that have sums without a row. */
  withoutRow(): Set<number> {
    return this.#accountsOf(notCompared);
  }

  /** The numbers of the accounts that have right sums whose copy was not seen, or not as it should be. */
  withoutCopy(): Set<number> {
    return this.#accountsOf(waitsForCopy);
  }

  #accountsOf(state: number): Set<number> {
    const { slots, states, accounts } = this.#columns;
    const found = new Set<number>();
    for (let slot = 0; slot < slots; slot++) {
      const account = accounts[slot]!;
      if (account !== 0 && states[slot] === state) found.add(account);
    }
    return found;
  }

  /** The number of sums of an account. The first call counts those of all, so that they should be complete. */
  countOf(account: number): number {
    this.#byAccount ??= this.#counts();
    return this.#byAccount[account] ?? 0;
  }

  #counts(): Uint32Array {
    const { accounts } = this.#columns;
    const counts = new Uint32Array(1 + accounts.reduce((most, one) => Math.max(most, one), 0));
    for (const account of accounts) if (account !== 0) counts[account]!++;
    return counts;
  }
}

/** The print of one sum, and what was found out about its row. */
class PrintOfSum {
  readonly #columns: Columns;
  readonly #slot: number;

  constructor(columns: Columns, slot: number) {
    this.#columns = columns;
    this.#slot = slot;
  }

  get isCompared(): boolean {
    return this.#columns.states[this.#slot] !== notCompared;
  }

  /** Whether the row was compared and right. */
  get isRight(): boolean {
    return this.#columns.states[this.#slot]! >= right;
  }

  /** Compares the row of the sum. Returns whether it is right. */
  compare(
    sum: UsageSum,
    { versionstamp, needsCopy }: { readonly versionstamp: string; readonly needsCopy: boolean },
  ): boolean {
    const isRight = this.#columns.sums[this.#slot] === printOf(sumText(sum));
    this.#columns.states[this.#slot] = !isRight ? wrong : needsCopy ? waitsForCopy : right;
    if (isRight) this.#columns.versions[this.#slot] = printOf(versionstamp);
    return isRight;
  }

  /** Whether the row was right and had this version. */
  isProved(versionstamp: string): boolean {
    return this.isRight && this.#columns.versions[this.#slot] === printOf(versionstamp);
  }

  /** Takes the copy of a right sum. Returns whether it is right. */
  takeCopy(copy: UsageSum): boolean {
    const isSame = this.isRight && this.#columns.sums[this.#slot] === printOf(sumText(copy));
    if (isSame) this.#columns.states[this.#slot] = right;
    return isSame;
  }

  /** Whether hours add up to a right sum. */
  areHours(total: HoursTotal): boolean {
    return this.isRight && this.#columns.hours[this.#slot] === printOf(hoursText(total));
  }
}
