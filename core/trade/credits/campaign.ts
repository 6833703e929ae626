/**
 * Describes campaigns: under which conditions an operator gives credit, and how much in all. Whether one
 * may give is decided from its row alone, which the commit that gives checks and rewrites.
 */
import type { AccountId, CampaignId } from "../../lib/ids/ids.ts";
import { microVndPerVnd } from "../../billing/money/micro_vnd.ts";
import { invariant } from "../../lib/base/assert.ts";
import { dayMs } from "../../lib/time/durations.ts";

// The code of a voucher: 15 random symbols and a check symbol, in groups of four.
//
// The alphabet leaves out what people confuse: 0 O, 1 I L. It has 31 symbols, a prime: a weighted sum
// modulo 31 detects every single wrong symbol and every swap of two. 15 random symbols are 74 bits, too
// many to guess even from stolen hashes.

declare const brand: unique symbol;
/** A well-formed code with a correct check symbol, without its hyphens. It need not exist. */
export type VoucherCode = string & { readonly [brand]: "VoucherCode" };

const alphabet = "23456789ABCDEFGHJKMNPQRSTUVWXYZ";
const radix = alphabet.length;
const randomSymbols = 15;
const groupSymbols = 4;

/** Characters of a code as it is printed. */
export const voucherCodeChars = 19;

/** Computes the check value: weights 2..16 for the random symbols, 1 for the check symbol. */
function checkValue(values: readonly number[]): number {
  const sum = values.reduce((total, value, index) => total + (index + 2) * value, 0);
  return (radix - sum % radix) % radix;
}

/**
 * Parses a code as people type it: in any case, with or without hyphens and spaces; `undefined` for a
 * wrong form or a wrong check symbol.
 *
 * @example
 * ```ts
 * import { newVoucherCode, parseVoucherCode, printedVoucherCode } from "./campaign.ts";
 * const code = newVoucherCode((into) => crypto.getRandomValues(into));
 * const typed = printedVoucherCode(code).toLowerCase().replaceAll("-", " ");
 * if (parseVoucherCode(typed) !== code) throw new Error("a valid code was refused");
 * const typo = (code.startsWith("A") ? "B" : "A") + code.slice(1);
 * if (parseVoucherCode(typo) !== undefined) throw new Error("a typo was accepted");
 * ```
 */
export function parseVoucherCode(text: string): VoucherCode | undefined {
  const symbols = text.toUpperCase().replace(/[\s\-–]/g, "");
  if (symbols.length !== randomSymbols + 1) return undefined;
  const values = [...symbols].map((symbol) => alphabet.indexOf(symbol));
  if (values.includes(-1)) return undefined;
  const isRight = checkValue(values.slice(0, randomSymbols)) === values[randomSymbols];
  return isRight ? symbols as VoucherCode : undefined;
}

/** Writes a code in groups of four. */
export function printedVoucherCode(code: VoucherCode): string {
  return code.match(new RegExp(`.{${groupSymbols}}`, "g"))?.join("-") ?? code;
}

/**
 * Creates a code from random bytes. Bytes of 248 and above are skipped (248 = 8 × 31), so every symbol
 * is equally likely.
 *
 * @param randomBytes fills the array it is given, like `crypto.getRandomValues`
 */
export function newVoucherCode(
  randomBytes: (into: Uint8Array<ArrayBuffer>) => void,
): VoucherCode {
  const values: number[] = [];
  const buffer = new Uint8Array(32);
  // 16 refills of 32 bytes cannot all be 248 or above unless the source is broken.
  for (let refill = 0; refill < 16 && values.length < randomSymbols; refill++) {
    randomBytes(buffer);
    for (const byte of buffer) {
      if (byte < 8 * radix && values.length < randomSymbols) values.push(byte % radix);
    }
  }
  invariant(values.length === randomSymbols, "the random source yields usable bytes");
  const symbols = [...values, checkValue(values)].map((value) => alphabet[value]);
  const code = parseVoucherCode(symbols.join(""));
  invariant(code !== undefined, "a new voucher code is valid");
  return code;
}

/** Occasions for which a campaign gives credit: a sign-up, a code, or a top-up. */
export const campaignKinds = ["signup", "voucher", "bonus"] as const;

/** One of these causes. */
export type CampaignKind = typeof campaignKinds[number];

/** Amount of one grant. */
export type Gift =
  | { readonly kind: "amount"; readonly amountMicroVnd: bigint }
  /** A share of a top-up, at most the cap. */
  | { readonly kind: "percent"; readonly percent: number; readonly capMicroVnd: bigint };

/** The conditions of a campaign, which do not change. */
export interface CampaignTerms {
  readonly kind: CampaignKind;
  /** Customers read it in their statement. */
  readonly name: string;
  readonly gift: Gift;
  /** The smallest top-up with a bonus. */
  readonly minTopupMicroVnd?: bigint;
  /** The most that all grants together may be. At least one of the two bounds is set. */
  readonly budgetMicroVnd?: bigint;
  readonly maxGrants?: number;
  readonly startsAtMs: number;
  /** Absent: it runs until its budget is used up or it is paused. */
  readonly endsAtMs?: number;
  /** Days after the grant on which the unspent rest is taken back. Absent: never. */
  readonly expiresAfterDays?: number;
  /** Grants of one account. */
  readonly perAccount: number;
  /** Sign-ups of one client network per day that get credit. */
  readonly perNetworkPerDay?: number;
}

/** Author of a campaign, or the one who agreed to it: an account, or the command line. */
export interface CampaignAuthor {
  readonly accountId?: AccountId;
  readonly email: string;
}

/** A campaign with what it has given so far. */
export interface Campaign extends CampaignTerms {
  readonly id: CampaignId;
  readonly createdAtMs: number;
  readonly createdBy: CampaignAuthor;
  /** Set if the campaign gives more than one operator may: it waits for a second one. */
  readonly needsApproval?: true;
  readonly approvedBy?: CampaignAuthor;
  readonly pausedAtMs?: number;
  /** Always the sum and the number of its grants in the ledger. */
  readonly givenMicroVnd: bigint;
  readonly grants: number;
  /** Always the sum of the lines that took back unspent rests. */
  readonly expiredMicroVnd: bigint;
}

/** Why a campaign gives nothing. */
export type CampaignRefusal = "approval" | "paused" | "not_yet" | "over" | "budget";

/** Returns the most that one grant of a campaign can be. */
export function largestGift({ gift }: Pick<CampaignTerms, "gift">): bigint {
  return gift.kind === "amount" ? gift.amountMicroVnd : gift.capMicroVnd;
}

/** Returns the most that a campaign can give in all. */
export function maxGiven(terms: CampaignTerms): bigint {
  const byNumber = terms.maxGrants === undefined
    ? undefined
    : largestGift(terms) * BigInt(terms.maxGrants);
  const { budgetMicroVnd } = terms;
  if (byNumber === undefined || budgetMicroVnd === undefined) {
    return budgetMicroVnd ?? byNumber ?? 0n;
  }
  return byNumber < budgetMicroVnd ? byNumber : budgetMicroVnd;
}

const percentBase = 100n;

/** Computes the gift for a top-up of an amount, in whole VND, rounded down; 0 if it is too small. */
export function giftFor(
  { gift, minTopupMicroVnd = 0n }: Pick<CampaignTerms, "gift" | "minTopupMicroVnd">,
  topupMicroVnd: bigint,
): bigint {
  if (topupMicroVnd < minTopupMicroVnd) return 0n;
  if (gift.kind === "amount") return gift.amountMicroVnd;
  const share = topupMicroVnd * BigInt(gift.percent) / percentBase;
  const capped = share < gift.capMicroVnd ? share : gift.capMicroVnd;
  return capped - capped % microVndPerVnd;
}

/**
 * Returns why a campaign does not give an amount at a moment; `undefined` if it does. Nothing is given in
 * part: a grant that the budget does not cover is refused.
 */
export function campaignRefusal(
  campaign: Campaign,
  amountMicroVnd: bigint,
  nowMs: number,
): CampaignRefusal | undefined {
  const { budgetMicroVnd, maxGrants, grants, givenMicroVnd } = campaign;
  if (campaign.needsApproval === true && campaign.approvedBy === undefined) return "approval";
  if (campaign.pausedAtMs !== undefined) return "paused";
  if (nowMs < campaign.startsAtMs) return "not_yet";
  if (campaign.endsAtMs !== undefined && nowMs >= campaign.endsAtMs) return "over";
  if (maxGrants !== undefined && grants >= maxGrants) return "budget";
  if (budgetMicroVnd !== undefined && givenMicroVnd + amountMicroVnd > budgetMicroVnd) {
    return "budget";
  }
  return undefined;
}

/** Returns when credit that is given at a moment expires; `undefined`: never. */
export function expiryOf(
  { expiresAfterDays }: Pick<CampaignTerms, "expiresAfterDays">,
  nowMs: number,
): number | undefined {
  return expiresAfterDays === undefined ? undefined : nowMs + expiresAfterDays * dayMs;
}
