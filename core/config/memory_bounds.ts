/** Divides the memory that the process may use between the buffers that grow with traffic. */
import { maxRequestBodyBytes } from "../lib/base/limits.ts";
import type { ByteBounds } from "../lib/bytes/byte_budget.ts";

const megabyte = 1024 * 1024;

/** Bytes that an idle process takes, with its code and the rows of its caches: 115 MB measured. */
const programBytes = 160 * megabyte;

/** MB that a serving thread needs: one body of the largest size, and the program once more. */
const workerMb = 352;

/** MB of the thread that has the store open. */
const ownerMb = 160;

/**
 * Bytes that a process should have left when a body of the largest size arrives: eight for each of its own. Six and more
 * are in use at once, and what the call before it left may not be collected yet.
 */
export const largestBodyBytes = 8 * maxRequestBodyBytes;

/** Serving threads of one process: far above the cores of the machines at hand. */
export const maxWorkers = 256;

/** MB that a process with some serving threads needs: the thread that has the store open counts like them. */
export function leastMemoryMb(workers: number): number {
  return ownerMb + workers * workerMb;
}

/**
 * The number of serving threads unless the operator says another: a core is left to the store, the collection of garbage
 * and the kernel.
 *
 * @example
 * ```ts
 * import { defaultWorkers } from "./memory_bounds.ts";
 * if (defaultWorkers(1, undefined) !== 1 || defaultWorkers(8, undefined) !== 7) throw new Error();
 * if (defaultWorkers(8, 1_024) !== 2) throw new Error("more threads than fit into the memory");
 * ```
 */
export function defaultWorkers(cores: number, memoryMb: number | undefined): number {
  const fitting = memoryMb === undefined ? maxWorkers : Math.floor((memoryMb - ownerMb) / workerMb);
  return Math.max(1, Math.min(cores - 1, fitting, maxWorkers));
}

/**
 * Parts of the rest, by buffer. A byte of a request body costs six bytes of memory and more (its
 * text, its value, the body that is sent, garbage), a byte of an answer up to two. One body and one
 * answer of the largest size may exceed their budgets, which these parts leave room for: with 512 MB
 * that is one body of 20 MB at a time, with smaller ones beside it.
 */
const divisors = { bodies: 32, answers: 14, replayed: 44, items: 88, responses: 44 };

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
  /** Turns that later calls continue. */
  readonly responses: { readonly totalBytes: number; readonly accountBytes: number };
}

/** MB that each of several serving threads may use if the operator sets no bound: machines have as much for a core. */
const assumedWorkerMb = 2_048;

/**
 * Derives the bounds of one thread from the memory of the process; undefined for a single thread without such a bound,
 * where each buffer has its own default.
 *
 * @param workers threads of the process that serve calls
 *
 * @example
 * ```ts
 * import { memoryBounds } from "./memory_bounds.ts";
 * const megabyte = 1024 * 1024;
 * const { bodies, answers } = memoryBounds(512) ?? {};
 * if (bodies?.total !== 11 * megabyte || answers?.total !== 25 * megabyte) throw new Error();
 * if (memoryBounds(864, 2)?.answers.total !== 13 * megabyte) throw new Error("not divided");
 * if (memoryBounds(undefined) !== undefined) throw new Error("a bound from nowhere");
 * ```
 */
export function memoryBounds(
  memoryMb: number | undefined,
  workers = 1,
): MemoryBounds | undefined {
  if (memoryMb === undefined && workers === 1) return undefined;
  const allMb = memoryMb ?? workers * assumedWorkerMb;
  // The thread that has the store open serves no calls, and has the program in memory, too.
  const programs = workers === 1 ? 1 : workers + 1;
  const restBytes = Math.max(0, allMb * megabyte - programs * programBytes) / workers;
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
    responses: { totalBytes: part(divisors.responses), accountBytes: part(divisors.responses) / 2 },
  };
}
