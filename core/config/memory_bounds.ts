/** Divides the memory that the process may use between the buffers that grow with traffic. */
import type { ByteBounds } from "../lib/bytes/byte_budget.ts";

const megabyte = 1024 * 1024;

/** Bytes that an idle process takes, with its code and the rows of its caches: 115 MB measured. */
const programBytes = 160 * megabyte;

/**
 * Parts of the rest, by buffer. A byte of a request body costs six bytes of memory and more (its
 * text, its value, the body that is sent, garbage), a byte of an answer up to two. One body and one
 * answer of the largest size may exceed their budgets, which these parts leave room for: with 512 MB
 * that is one body of 20 MB at a time, with smaller ones beside it.
 */
const divisors = { bodies: 32, answers: 14, replayed: 44, items: 88 };

/** The bounds of one process. */
export interface MemoryBounds {
  /** Request bodies, and what is fetched for them. */
  readonly bodies: ByteBounds;
  /** Answers that are read whole. */
  readonly answers: ByteBounds;
  /** Answers that are kept for repeated calls. */
  readonly replayed: ByteBounds;
  /** Output items that later calls refer to. */
  readonly items: { readonly totalChars: number; readonly accountChars: number };
}

/**
 * Derives the bounds from the memory of the process; undefined without such a bound, where each
 * buffer has its own default.
 *
 * @example
 * ```ts
 * import { memoryBounds } from "./memory_bounds.ts";
 * const megabyte = 1024 * 1024;
 * const { bodies, answers } = memoryBounds(512) ?? {};
 * if (bodies?.total !== 11 * megabyte || answers?.total !== 25 * megabyte) throw new Error();
 * if (memoryBounds(undefined) !== undefined) throw new Error("a bound from nowhere");
 * ```
 */
export function memoryBounds(memoryMb: number | undefined): MemoryBounds | undefined {
  if (memoryMb === undefined) return undefined;
  const restBytes = memoryMb * megabyte - programBytes;
  const part = (divisor: number) => Math.floor(restBytes / divisor / megabyte) * megabyte;
  const bounds = (divisor: number): ByteBounds => {
    const total = part(divisor);
    return { total, perOwner: total / 2 };
  };
  return {
    bodies: bounds(divisors.bodies),
    answers: bounds(divisors.answers),
    replayed: bounds(divisors.replayed),
    items: { totalChars: part(divisors.items), accountChars: part(divisors.items) / 2 },
  };
}
