/// <reference lib="deno.worker" />
/**
 * The thread in which {@linkcode countSteps} counts the steps of a computation, which are the same on every machine however busy it is: what a test asserts in place
 * of a time.
 *
 * A step is an execution of a block of code (V8's precise coverage), or an element that a search of the engine passes:
 * those run outside of any block, and are where quadratic code hides. The thread is fresh, because V8 counts no blocks in
 * functions that were compiled before.
 */
import { Session } from "node:inspector/promises";

/** Searches of the engine, whose result says how far they went. */
const searches = [
  [Array.prototype, "indexOf"],
  [Array.prototype, "includes"],
  [Uint8Array.prototype, "indexOf"],
  [String.prototype, "indexOf"],
  [String.prototype, "includes"],
] as const;

/** Copies of the engine, which pass what they return. */
const copies = [
  [Array.prototype, "slice"],
  [Array.prototype, "concat"],
  [TextDecoder.prototype, "decode"],
] as const;

/** Replaces a method of a prototype with one that reports what it has passed; returns how to undo it. */
function count(
  prototype: object,
  name: string,
  passed: (self: { readonly length: number }, args: readonly unknown[], result: unknown) => number,
  add: (steps: number) => void,
): () => void {
  const original: unknown = Reflect.get(prototype, name);
  if (typeof original !== "function") throw new Error(`no method ${name}`);
  const method = function (this: { readonly length: number }, ...args: unknown[]): unknown {
    const result: unknown = Reflect.apply(original, this, args);
    add(passed(this, args, result));
    return result;
  };
  Object.defineProperty(prototype, name, { value: method, configurable: true, writable: true });
  return () =>
    Object.defineProperty(prototype, name, { value: original, configurable: true, writable: true });
}

function countEngine(add: (steps: number) => void): () => void {
  const undo = [
    ...searches.map(([prototype, name]) =>
      count(prototype, name, (self, [, from], result) => {
        const start = typeof from === "number" ? from : 0;
        const end = typeof result === "number" && result >= 0 ? result : self.length;
        return Math.max(0, end - start);
      }, add)
    ),
    ...copies.map(([prototype, name]) =>
      count(
        prototype,
        name,
        (_, __, result) => Array.isArray(result) || typeof result === "string" ? result.length : 0,
        add,
      )
    ),
  ];
  return () => undo.forEach((one) => one());
}

/** The cases of a module, and which of them to run. */
interface Order {
  readonly module: string;
  readonly runs: readonly (readonly [name: string, count: number])[];
}

const session = new Session();
session.connect();

async function takeBlocks(): Promise<number> {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  return result.flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges))
    .reduce((sum, block) => sum + block.count, 0);
}

async function stepsOf(run: () => unknown): Promise<number> {
  await takeBlocks(); // Each reading sets the counts to zero.
  let steps = 0;
  const undo = countEngine((passed) => steps += passed);
  try {
    run();
  } finally {
    undo();
  }
  return steps + await takeBlocks();
}

self.onmessage = async ({ data }: MessageEvent<Order>) => {
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  const { cases }: { cases: Readonly<Record<string, (count: number) => unknown>> } = await import(
    data.module
  );
  const counts: number[] = [];
  for (const [name, count] of data.runs) {
    const run = cases[name];
    if (run === undefined) throw new Error(`no case ${name}`);
    run(1); // What is made once is made here.
    counts.push(await stepsOf(() => run(count)));
  }
  self.postMessage(counts);
};
