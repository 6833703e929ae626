/** Arguments that can only be changed as a whole are kept until their call ends: within a bound, whoever sends them. */
import { assert, assertEquals, assertThrows } from "../../../support/assert.ts";
import { restoringSink } from "../../../../core/wire/convert/convert.ts";
import type { StreamEvent } from "../../../../core/wire/conversation/mod.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { bufferedBlockBytes } from "../../../../core/wire/contract/limits.ts";

/** A stream whose client has one free-text tool. */
function restoring() {
  const out: StreamEvent[] = [];
  const take = restoringSink({ customTools: new Set(["patch"]) }, (event) => void out.push(event));
  const open = (block: number, name: string) =>
    take({ type: "call", block, id: `call_${block}`, name });
  const send = (block: number, text: string) =>
    take({ type: "arguments", block, json: JSON.stringify(text) });
  return { out, take, open, send };
}

const tooLong = (error: unknown) =>
  error instanceof GatewayError && error.code === "upstream_unreachable";

function assertTooLong(run: () => void): void {
  let caught: unknown;
  assertThrows(() => {
    try {
      run();
    } catch (error) {
      caught = error;
      throw error;
    }
  });
  assert(tooLong(caught), String(caught));
}

const megabyte = "x".repeat(1024 * 1024);
const pieces = bufferedBlockBytes / megabyte.length;

Deno.test("arguments up to the bound come whole, and give their room back", () => {
  const { out, take, open, send } = restoring();
  for (const block of [0, 1, 2]) {
    open(block, "patch");
    for (let i = 0; i < pieces; i++) send(block, megabyte);
    take({ type: "block_end", block });
    const [last] = out.filter(({ type }) => type === "arguments").slice(-1);
    assert(last?.type === "arguments");
    assertEquals(last.json.length, bufferedBlockBytes + 2);
  }
});

Deno.test("arguments beyond the bound end the stream, in one call or in many at once", () => {
  const one = restoring();
  one.open(0, "patch");
  for (let i = 0; i < pieces; i++) one.send(0, megabyte);
  assertTooLong(() => one.send(0, "x"));

  const many = restoring();
  for (let block = 0; block < pieces; block++) {
    many.open(block, "patch");
    many.send(block, megabyte);
  }
  many.open(pieces, "patch");
  assertTooLong(() => many.send(pieces, "x"));
});

Deno.test("what passes at once has no such bound", () => {
  const { out, open, send } = restoring();
  open(0, "search");
  for (let i = 0; i <= pieces; i++) send(0, megabyte);
  assertEquals(out.length, pieces + 2);
});
