import { assert, assertEquals, assertThrows } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { SseFrameTooLargeError, SseSplitter } from "../../../../core/lib/sse/frame.ts";

interface Seen {
  readonly event: string;
  readonly data: string;
  readonly lines: number;
}

interface Run {
  readonly frames: Seen[];
  /** The joined bytes of all frames. */
  readonly bytes: string;
  readonly rest: string | undefined;
}

const encoder = new TextEncoder();

/** Feeds the parts through one buffer that is overwritten after each call, as a driver does. */
function split(parts: readonly Uint8Array[], maxFrameBytes = 1 << 20): Run {
  const splitter = new SseSplitter(maxFrameBytes);
  const frames: Seen[] = [];
  const pieces: Uint8Array[] = [];
  for (const part of parts) {
    const lent = part.slice();
    splitter.push(lent, (frame) => {
      frames.push({ event: frame.event, data: frame.data, lines: frame.dataLines });
      pieces.push(frame.bytes.slice(frame.start, frame.end));
      return true;
    });
    lent.fill(0x21);
  }
  const rest = splitter.takeRest();
  return {
    frames,
    bytes: new TextDecoder().decode(join(pieces)),
    rest: rest && new TextDecoder().decode(rest.bytes.subarray(rest.start, rest.end)),
  };
}

function join(parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

function cut(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const at = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...at].map((from, i) => bytes.subarray(from, at[i] ?? bytes.length));
}

function one(text: string): Seen[] {
  return split([encoder.encode(text)]).frames;
}

Deno.test("fields are read as the HTML standard prescribes", () => {
  const cases: [string, Seen][] = [
    ["data: a\n\n", { event: "", data: "a", lines: 1 }],
    ["data:a\n\n", { event: "", data: "a", lines: 1 }],
    ["data:  a\n\n", { event: "", data: " a", lines: 1 }],
    ["data\n\n", { event: "", data: "", lines: 1 }],
    ["data:\n\n", { event: "", data: "", lines: 1 }],
    ["event: x\ndata: a\n\n", { event: "x", data: "a", lines: 1 }],
    ["data: a\nevent:x\n\n", { event: "x", data: "a", lines: 1 }],
    ["event: x\nevent: y\ndata: a\n\n", { event: "y", data: "a", lines: 1 }],
    ["data: a\ndata: b\ndata:\n\n", { event: "", data: "a\nb\n", lines: 3 }],
    ["event: sự kiện\ndata: a\n\n", { event: "sự kiện", data: "a", lines: 1 }],
    ["id: 1\nretry: 5\ndata: a\n\n", { event: "", data: "a", lines: 1 }],
    ["database: no\neventual: no\n\n", { event: "", data: "", lines: 0 }],
    [": comment\n\n", { event: "", data: "", lines: 0 }],
    [": comment\ndata: a\n\n", { event: "", data: "a", lines: 1 }],
    ["\ufeffdata: a\n\n", { event: "", data: "a", lines: 1 }],
    ["data: a: b\n\n", { event: "", data: "a: b", lines: 1 }],
    ["data: tiếng Việt 🙂\n\n", { event: "", data: "tiếng Việt 🙂", lines: 1 }],
  ];
  for (const [text, expected] of cases) assertEquals(one(text), [expected], JSON.stringify(text));
});

Deno.test("a frame ends at a blank line, whichever way lines end", () => {
  for (const end of ["\n", "\r\n", "\r"]) {
    const text = `event: x${end}data: a${end}${end}data: b${end}${end}`;
    const run = split([encoder.encode(text)]);
    assertEquals(
      run.frames,
      [{ event: "x", data: "a", lines: 1 }, { event: "", data: "b", lines: 1 }],
      JSON.stringify(end),
    );
    assertEquals(run.bytes, text, JSON.stringify(end));
  }
});

Deno.test("CRLF split between its two bytes is still one line end", () => {
  const bytes = encoder.encode("data: a\r\n\r\ndata: b\r\n\r\n");
  for (let at = 0; at <= bytes.length; at++) {
    const run = split([bytes.subarray(0, at), bytes.subarray(at)]);
    assertEquals(run.frames.map((frame) => frame.data), ["a", "b"], `cut at ${at}`);
  }
});

Deno.test("a stream of lone CRs delivers each frame without waiting for the next", () => {
  const splitter = new SseSplitter(100);
  const seen: string[] = [];
  const visit = (frame: { data: string }) => seen.push(frame.data) > 0;
  splitter.push(encoder.encode("data: a\r\r"), visit);
  assertEquals(seen, ["a"]);
});

const line = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }).map((text) =>
    `data: ${text.replace(/[\r\n]/g, "~")}`
  ),
  fc.constantFrom("event: delta", ": ping", "data", "id: 7", "data:", "data: [DONE]"),
);
const terminator = fc.constantFrom("\n", "\r\n", "\r");

Deno.test("property: any split of any stream gives the frames and bytes of the unsplit stream", () => {
  fc.assert(
    fc.property(
      fc.array(fc.array(line, { maxLength: 4 }), { maxLength: 6 }),
      terminator,
      fc.array(fc.nat(400), { maxLength: 12 }),
      (frames, end, cuts) => {
        const text = frames.map((lines) => lines.map((l) => l + end).join("") + end).join("");
        const bytes = encoder.encode(text);
        const whole = split([bytes]);
        assertEquals(split(cut(bytes, cuts)), whole);
        assertEquals(split([...bytes].map((_, i) => bytes.subarray(i, i + 1))), whole);
        assertEquals(whole.bytes + (whole.rest ?? ""), text);
      },
    ),
    { numRuns: 300 },
  );
});

Deno.test("property: mixed line ends give the same frames under any split", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(line, terminator), { maxLength: 20 }),
      fc.array(fc.nat(400), { maxLength: 12 }),
      (lines, cuts) => {
        const bytes = encoder.encode(lines.map(([text, end]) => text + end).join(""));
        assertEquals(split(cut(bytes, cuts)), split([bytes]));
      },
    ),
    { numRuns: 300 },
  );
});

Deno.test("a frame that never closes is returned as the rest", () => {
  assertEquals(split([encoder.encode("data: a\n\ndata: b\n")]).rest, "data: b\n");
  assertEquals(split([encoder.encode("data: a\n\n")]).rest, undefined);
});

Deno.test("a frame beyond the bound is refused, whole or in parts, after the frames before it", () => {
  const good = "data: a\n\n";
  const long = `data: ${"x".repeat(100)}\n\n`;
  for (const size of [1, 7, 1000]) {
    const bytes = encoder.encode(good + long);
    const seen: string[] = [];
    const splitter = new SseSplitter(100);
    assertThrows(() => {
      for (let at = 0; at < bytes.length; at += size) {
        splitter.push(bytes.subarray(at, at + size), (frame) => seen.push(frame.data) > 0);
      }
    }, SseFrameTooLargeError);
    assertEquals(seen, ["a"], `pieces of ${size}`);
  }
});

Deno.test("a frame just within the bound passes", () => {
  const text = `data: ${"x".repeat(92)}\n\n`;
  assertEquals(split([encoder.encode(text)], 100).frames.length, 1);
  assertEquals(split([...encoder.encode(text)].map((b) => new Uint8Array([b])), 100).bytes, text);
});

Deno.test("a visitor that returns false stops the stream for good", () => {
  const splitter = new SseSplitter(100);
  let visits = 0;
  const visit = () => {
    visits++;
    return false;
  };
  splitter.push(encoder.encode("data: a\n\ndata: b\n\n"), visit);
  splitter.push(encoder.encode("data: c\n\n"), visit);
  assertEquals(visits, 1);
  assertEquals(splitter.takeRest(), undefined);
});

Deno.test("the open frame is examined once per byte: 4 MB in 1-byte pieces takes linear time", () => {
  // Quadratic work would take 10^13 steps, so the test would not end. It needs no clock.
  const splitter = new SseSplitter(8 << 20);
  const piece = new Uint8Array([0x78]);
  let frames = 0;
  const visit = () => ++frames > 0;
  splitter.push(encoder.encode("data: "), visit);
  for (let i = 0; i < 4 << 20; i++) splitter.push(piece, visit);
  splitter.push(encoder.encode("\n\n"), visit);
  assertEquals(frames, 1);
  assert(splitter.takeRest() === undefined);
});
