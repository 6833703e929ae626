import { assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import type { StreamReading, Style } from "../../../../core/wire/contract/contract.ts";
import {
  createNativePipe,
  type NativePipeContext,
} from "../../../../core/wire/convert/dialects.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export const context: NativePipeContext = {
  clientModel: "m",
  requestId: "req_1",
  clientWantsUsage: true,
  injectedUsage: false,
  nowSeconds: 1_700_000_000,
};

/** What a pipe made of a stream: what left at once, what `end` added, and the reading as plain data. */
export interface Piped {
  readonly passed: string;
  readonly ending: string;
  readonly reading: Omit<StreamReading, "error"> & {
    readonly error: { code: string; message: string } | undefined;
  };
}

/** Sends the parts through a native pipe, each in a lent buffer that is spoiled afterwards. */
export function pipeParts(
  style: Style,
  parts: readonly Uint8Array[],
  changes: Partial<NativePipeContext> = {},
): Piped {
  const pipe = createNativePipe(style, { ...context, ...changes });
  const passed: Uint8Array[] = [];
  let ending: Uint8Array;
  try {
    for (const part of parts) {
      const lent = part.slice();
      passed.push(pipe.push(lent));
      lent.fill(0x21);
    }
    ending = pipe.end();
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    ending = pipe.fail(error);
  }
  const { error, ...reading } = pipe.reading;
  return {
    passed: passed.map((bytes) => decoder.decode(bytes, { stream: true })).join("") +
      decoder.decode(),
    ending: decoder.decode(ending),
    reading: { ...reading, error: error && { code: error.code, message: error.message } },
  };
}

export function pipeText(
  style: Style,
  text: string,
  changes: Partial<NativePipeContext> = {},
): Piped {
  return pipeParts(style, [encoder.encode(text)], changes);
}

/** Cuts bytes at any places, also inside characters and line ends. */
function cutAt(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
}

/** Checks that the stream gives the same bytes and the same reading whatever way it is split. */
export function assertSplitMakesNoDifference(
  style: Style,
  bytes: Uint8Array,
  changes: Partial<NativePipeContext> = {},
  numRuns = 40,
): void {
  const whole = pipeParts(style, [bytes], changes);
  fc.assert(
    fc.property(fc.array(fc.nat(), { maxLength: 30 }), (cuts) => {
      assertEquals(pipeParts(style, cutAt(bytes, cuts), changes), whole);
    }),
    { numRuns },
  );
  if (bytes.length > 20_000) return;
  const single = [...bytes].map((_, i) => bytes.subarray(i, i + 1));
  assertEquals(pipeParts(style, single, changes), whole);
}

/** A transcript: one event per line here, in wire form there. */
export function chatStream(...events: readonly (string | object)[]): string {
  return events.map((event) =>
    typeof event === "string" && event.startsWith(":")
      ? `${event}\n\n`
      : `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`
  ).join("");
}

/** Named events: each `[name, body]`; the body's `type` is the name, as both vendors do it. */
export function namedStream(...events: readonly (readonly [string, object?])[]): string {
  return events.map(([name, body]) =>
    `event: ${name}\ndata: ${JSON.stringify({ type: name, ...body })}\n\n`
  ).join("");
}
