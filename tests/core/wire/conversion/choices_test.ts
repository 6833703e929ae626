/** Several answers to one prompt (`n`, `candidateCount`) are carried between Chat and Gemini, whole and streamed. */
import * as fc from "../../../support/property.ts";
import { assert, assertEquals, assertThrows } from "../../../support/assert.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import type { ConversionMemory, ProviderStyle } from "../../../../core/wire/contract/contract.ts";
import { collectAnswer } from "../../../../core/wire/convert/collected_answer.ts";
import { createConvertingPipe } from "../../../../core/wire/convert/converting_pipe.ts";
import { createNativePipe } from "../../../../core/wire/convert/dialects.ts";
import { accepted, context, convertedAnswer, refusal } from "./converting.ts";
import { streamed } from "./streaming.ts";

const styles = ["chat", "gemini"] as const;
type SeveralStyle = (typeof styles)[number];
const directions: readonly (readonly [SeveralStyle, SeveralStyle])[] = [
  ["chat", "gemini"],
  ["gemini", "chat"],
];

/** A choice as both styles can say it. */
interface Told {
  readonly index: number;
  /** The pieces of its text. */
  readonly pieces: readonly string[];
  /** A call of the function `f` with this argument. */
  readonly call?: number;
  readonly isCut?: boolean;
  readonly logprob?: number;
}

const usage = {
  chat: { prompt_tokens: 7, completion_tokens: 40, total_tokens: 47 },
  gemini: { promptTokenCount: 7, candidatesTokenCount: 40, totalTokenCount: 47 },
} as const;

function finishOf(style: SeveralStyle, { call, isCut }: Told): string {
  if (style === "gemini") return isCut === true ? "MAX_TOKENS" : "STOP";
  return isCut === true ? "length" : call === undefined ? "stop" : "tool_calls";
}

function logprobsOf(style: SeveralStyle, token: string, logprob: number): JsonObject {
  const chosen = { token, logProbability: logprob };
  return style === "chat"
    ? { logprobs: { content: [{ token, logprob, bytes: null, top_logprobs: [] }], refusal: null } }
    : { logprobsResult: { chosenCandidates: [chosen], topCandidates: [{ candidates: [] }] } };
}

function callOf(style: SeveralStyle, { index, call }: Told, isDelta: boolean): JsonObject[] {
  if (call === undefined) return [];
  const id = `call_${index}`;
  if (style === "gemini") return [{ functionCall: { id, name: "f", args: { a: call } } }];
  const given = { name: "f", arguments: JSON.stringify({ a: call }) };
  return [{ ...(isDelta ? { index: 0 } : {}), id, type: "function", function: given }];
}

function wholeOf(style: SeveralStyle, told: readonly Told[]): JsonObject {
  const choices = told.map((one) => {
    const text = one.pieces.join("");
    const calls = callOf(style, one, false);
    const likely = one.logprob === undefined ? {} : logprobsOf(style, text, one.logprob);
    if (style === "gemini") {
      const parts = [...text === "" ? [] : [{ text }], ...calls];
      const content = { role: "model", parts };
      return { index: one.index, content, finishReason: finishOf(style, one), ...likely };
    }
    const message = {
      role: "assistant",
      content: text === "" ? null : text,
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    };
    return { index: one.index, message, finish_reason: finishOf(style, one), ...likely };
  });
  return style === "chat"
    ? { id: "c", object: "chat.completion", created: 1, model: "m", choices, usage: usage.chat }
    : { candidates: choices, usageMetadata: usage.gemini, modelVersion: "m" };
}

interface Step {
  readonly of: Told;
  /** A piece of the text; absent: the call and the end. */
  readonly piece?: string;
}

/** All pieces in turns: the first of each choice, the second of each … */
function inTurns(told: readonly Told[]): Step[] {
  const most = Math.max(...told.map(({ pieces }) => pieces.length));
  return Array.from({ length: most + 1 }, (_, turn) =>
    told.flatMap((of): Step[] => {
      const piece = of.pieces[turn];
      return piece !== undefined ? [{ of, piece }] : turn === of.pieces.length ? [{ of }] : [];
    })).flat();
}

function chunkOf(style: SeveralStyle, { of, piece }: Step): JsonObject {
  const { index } = of;
  const likely = piece === undefined || of.logprob === undefined
    ? {}
    : logprobsOf(style, piece, of.logprob);
  if (style === "gemini") {
    const parts = piece === undefined ? callOf(style, of, true) : [{ text: piece }];
    const end = piece === undefined ? { finishReason: finishOf(style, of) } : {};
    // JSON of Google's libraries omits zeros.
    const place = index === 0 ? {} : { index };
    return { candidates: [{ ...place, content: { role: "model", parts }, ...end, ...likely }] };
  }
  const calls = piece === undefined ? callOf(style, of, true) : [];
  const delta = piece !== undefined
    ? { content: piece }
    : calls.length > 0
    ? { tool_calls: calls }
    : {};
  const finish_reason = piece === undefined ? finishOf(style, of) : null;
  return { object: "chat.completion.chunk", choices: [{ index, delta, finish_reason, ...likely }] };
}

function framesOf(style: SeveralStyle, steps: readonly Step[]): string {
  const last = style === "chat"
    ? { object: "chat.completion.chunk", choices: [], usage: usage.chat }
    : { usageMetadata: usage.gemini };
  const chunks = [...steps.map((step) => chunkOf(style, step)), last];
  return chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("") +
    (style === "chat" ? "data: [DONE]\n\n" : "");
}

/** What a client of the style reads in a whole answer: for each choice its index, text, call and end. */
function readOf(style: SeveralStyle, body: JsonObject): Json[] {
  const list = style === "chat" ? body.choices : body.candidates;
  assert(Array.isArray(list), JSON.stringify(body));
  return list.filter(isJsonObject).map((choice) => {
    const index = choice.index ?? 0;
    if (style === "chat") {
      const message = objectOf(choice.message);
      const [call] = listOf(message.tool_calls).map((one) => objectOf(objectOf(one).function));
      const { content } = objectOf(choice.logprobs);
      return [
        index,
        message.content ?? "",
        call === undefined ? null : JSON.parse(String(call.arguments)),
        choice.finish_reason ?? null,
        listOf(content).map((entry) => objectOf(entry).logprob ?? null),
      ];
    }
    const parts = listOf(objectOf(choice.content).parts).map(objectOf);
    const call = parts.map(({ functionCall }) => objectOf(functionCall)).find(({ name }) => name);
    const { chosenCandidates } = objectOf(choice.logprobsResult);
    return [
      index,
      parts.map(({ text = "" }) => text).join(""),
      call?.args ?? null,
      choice.finishReason ?? null,
      listOf(chosenCandidates).map((entry) => objectOf(entry).logProbability ?? null),
    ];
  });
}

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? value : [];
}

function expected(style: SeveralStyle, told: readonly Told[]): Json[] {
  return told.map((one) => [
    one.index,
    one.pieces.join(""),
    one.call === undefined ? null : { a: one.call },
    finishOf(style, one),
    one.logprob === undefined ? [] : [one.logprob],
  ]);
}

/** A stream that a client got, as the whole answer that it makes of it. */
function gathered(style: SeveralStyle, text: string, choices: number): JsonObject {
  const bytes = new TextEncoder().encode(text);
  return collectAnswer(style, style, bytes, context, { choices }).body;
}

const three: readonly Told[] = [
  { index: 0, pieces: ["Một"], logprob: -0.25 },
  { index: 1, pieces: ["T", "wo ", "😀"], isCut: true },
  { index: 2, pieces: ["Look: "], call: 5 },
];
const memory: ConversionMemory = { choices: 3 };

const asking = {
  chat: (n: number) => ({ model: "m", messages: [{ role: "user", content: "a" }], n }),
  gemini: (candidateCount: number) => ({
    model: "m",
    contents: [{ role: "user", parts: [{ text: "a" }] }],
    generationConfig: { candidateCount },
  }),
} as const;
const fields = { chat: "n", gemini: "generationConfig.candidateCount" } as const;

Deno.test("the number of answers reaches the other style, and is refused by name where there is none", () => {
  assertEquals(accepted("chat", "gemini", asking.chat(3)).body.generationConfig, {
    candidateCount: 3,
  });
  assertEquals(accepted("gemini", "chat", asking.gemini(3)).body.n, 3);
  for (const [from, to] of directions) {
    const { dropped, memory: kept } = accepted(from, to, asking[from](3));
    assertEquals([dropped, kept.choices], [[], 3]);
    const one = accepted(from, to, asking[from](1));
    assertEquals([one.body.n, one.body.generationConfig, one.memory.choices], [
      undefined,
      undefined,
      undefined,
    ]);
    const refused: (readonly [ProviderStyle, JsonObject])[] = [
      [to, { choices: false }],
      ["messages", {}],
      ["messages", { choices: true }],
      ["responses", {}],
      ["converse", {}],
    ];
    for (const [target, capabilities] of refused) {
      const { code, param } = refusal(from, target, asking[from](2), capabilities);
      assertEquals([code, param], ["conversion_refused", fields[from]], `${from} ${target}`);
    }
    assertEquals(refusal(from, to, asking[from](17)).code, "invalid_request");
  }
  assertEquals(refusal("chat", "gemini", asking.chat(9)).param, "n");
  const best = { ...asking.chat(1), best_of: 2 };
  assertEquals(refusal("chat", "gemini", best).param, "best_of");
});

Deno.test("whole answers keep every choice, with calls, ends, log probabilities and one usage", () => {
  for (const [from, to] of directions) {
    const orders = [three, three.toReversed()];
    for (const told of orders) {
      const body = convertedAnswer(from, to, wholeOf(from, told), memory);
      assertEquals(readOf(to, body), expected(to, three), `${from} ${to}`);
      const { completion_tokens, candidatesTokenCount } = objectOf(
        to === "chat" ? body.usage : body.usageMetadata,
      );
      assertEquals(completion_tokens ?? candidatesTokenCount, 40);
    }
    // Nobody asked for the others.
    assertEquals(readOf(to, convertedAnswer(from, to, wholeOf(from, three))).length, 1);
  }
});

Deno.test("choices beyond those asked for are left out; an index that is none is a failure", () => {
  for (const [from, to] of directions) {
    const [first, second] = three;
    assert(first !== undefined && second !== undefined);
    const told = [{ ...first, index: 7 }, second, first];
    const body = convertedAnswer(from, to, wholeOf(from, told), memory);
    assertEquals(readOf(to, body), expected(to, [first, second]));
    const { text } = streamed(from, to, framesOf(from, inTurns(told)), { memory });
    assertEquals(readOf(to, gathered(to, text, 16)), expected(to, [first, second]));
    for (const index of [-1, 0.5, 2 ** 40]) {
      const odd = [second, { ...first, index }];
      assertThrows(
        () => convertedAnswer(from, to, wholeOf(from, odd), memory),
        GatewayError,
        "(index)",
      );
      const { text: told, reading } = streamed(from, to, framesOf(from, inTurns(odd)), { memory });
      assert(reading.state !== "completed" && told.includes("(index)"), told);
    }
  }
});

Deno.test("streams keep every choice in any order and any split, and equal the whole answer", () => {
  for (const [from, to] of directions) {
    const whole = convertedAnswer(from, to, wholeOf(from, three), memory);
    const one = three.flatMap((told) => inTurns([told]));
    for (const steps of [inTurns(three), inTurns(three.toReversed()), one]) {
      for (const sizes of [[1], [7, 50], [100_000]]) {
        const { text, reading } = streamed(from, to, framesOf(from, steps), { memory, sizes });
        const body = gathered(to, text, 3);
        assertEquals(readOf(to, body), readOf(to, whole), `${from} ${to}`);
        assertEquals(body.usage ?? body.usageMetadata, whole.usage ?? whole.usageMetadata);
        assertEquals([reading.state, reading.usage?.output], ["completed", 40]);
      }
    }
  }
});

Deno.test("any interleaving keeps the order of each choice", () => {
  const texts = fc.array(fc.array(fc.string({ minLength: 1, maxLength: 4 }), { maxLength: 5 }), {
    minLength: 2,
    maxLength: 8,
  }).filter((all) => all.some((pieces) => pieces.length > 0));
  fc.assert(
    fc.property(texts, fc.infiniteStream(fc.nat()), (given, turns) => {
      const told = given.map((pieces, index): Told => ({ index, pieces }));
      const queues = told.map((one) => inTurns([one]));
      const steps: Step[] = [];
      for (const turn of turns) {
        const open = queues.filter((queue) => queue.length > 0);
        if (open.length === 0) break;
        const step = open[turn % open.length]?.shift();
        if (step !== undefined) steps.push(step);
      }
      for (const [from, to] of directions) {
        const choices = told.length;
        const { text } = streamed(from, to, framesOf(from, steps), { memory: { choices } });
        assertEquals(readOf(to, gathered(to, text, choices)), expected(to, told));
      }
    }),
    { numRuns: 60 },
  );
});

Deno.test("a choice that never came is no answer, the first one neither", () => {
  const rest = three.slice(1);
  for (const [from, to] of directions) {
    const { text } = streamed(from, to, framesOf(from, inTurns(rest)), { memory });
    assertEquals(readOf(to, gathered(to, text, 3)), expected(to, rest));
    const whole = convertedAnswer(from, to, wholeOf(from, rest), memory);
    assertEquals(readOf(to, whole), expected(to, rest));
  }
});

Deno.test("an answer of which one choice was cut is not whole, converted and native", () => {
  for (const from of styles) {
    const steps = inTurns(three).filter(({ of, piece }) => of.index !== 1 || piece !== undefined);
    const frames = framesOf(from, steps).replace("data: [DONE]\n\n", "");
    const native = createNativePipe(from, { ...context, injectedUsage: false });
    const [to] = styles.filter((style) => style !== from);
    assert(to !== undefined);
    for (const pipe of [native, createConvertingPipe(from, to, context, memory)]) {
      pipe.push(new TextEncoder().encode(frames));
      const end = new TextDecoder().decode(pipe.end());
      assert(pipe.reading.state !== "completed", from);
      assert(end.includes('"error"'), end);
    }
  }
});

Deno.test("a choice that failed is told by name; only an answer of failures is an error", () => {
  const failing = (from: SeveralStyle, which: readonly number[], text: string) => {
    const words = from === "chat" ? ["stop", "error"] : ["STOP", "MALFORMED_FUNCTION_CALL"];
    const name = from === "chat" ? "finish_reason" : "finishReason";
    return which.reduce((frames, index) => {
      const told = { index, pieces: [] };
      const chunk = JSON.stringify(chunkOf(from, { of: told }));
      const changed = chunk.replace(`"${name}":"${words[0]}"`, `"${name}":"${words[1]}"`);
      assert(frames.includes(chunk));
      return frames.replace(chunk, changed);
    }, text);
  };
  const two: readonly Told[] = [{ index: 0, pieces: ["a"] }, { index: 1, pieces: ["b"] }];
  for (const [from, to] of directions) {
    for (const which of [[0], [1]]) {
      const frames = failing(from, which, framesOf(from, inTurns(two)));
      const { text } = streamed(from, to, frames, { memory: { choices: 2 } });
      const read = readOf(to, gathered(to, text, 2));
      const word = to === "chat" ? "MALFORMED_FUNCTION_CALL" : "OTHER";
      const good = to === "chat" ? "stop" : "STOP";
      const ends = [0, 1].map((index) => which.includes(index) ? word : good);
      assertEquals(read.map((choice) => listOf(choice)[3]), ends, `${from} ${to}`);
    }
    const frames = failing(from, [0, 1], framesOf(from, inTurns(two)));
    const { reading } = streamed(from, to, frames, { memory: { choices: 2 } });
    assertEquals([reading.state, reading.error?.code], ["error", "upstream_unreachable"]);
  }
});

Deno.test("an answer that is stopped for length ends every open choice so", () => {
  const length = { chat: "length", gemini: "MAX_TOKENS" } as const;
  const steps = inTurns(three).filter(({ of, piece }) => of.index === 0 || piece !== undefined);
  const billed = { input: 7, cacheRead: 0, cacheWrite: 0, output: 9, reasoning: 0 };
  for (const from of styles) {
    for (const to of styles) {
      const pipe = from === to
        ? createNativePipe(from, { ...context, injectedUsage: false })
        : createConvertingPipe(from, to, context, memory);
      const frames = steps.map((step) => `data: ${JSON.stringify(chunkOf(from, step))}\n\n`);
      const decoder = new TextDecoder();
      const early = decoder.decode(pipe.push(new TextEncoder().encode(frames.join(""))));
      const text = early + decoder.decode(pipe.stopForLength(billed));
      const ends = readOf(to, gathered(to, text, 3)).map((choice) => listOf(choice)[3]);
      const first = to === "chat" ? "stop" : "STOP";
      assertEquals(ends, [first, length[to], length[to]], `${from} ${to}`);
    }
  }
});

Deno.test("a whole answer that is collected from a native stream keeps every choice", () => {
  for (const style of styles) {
    const body = gathered(style, framesOf(style, inTurns(three)), 3);
    assertEquals(readOf(style, body), expected(style, three));
  }
});

Deno.test("a blocked prompt is one refusal, however many answers were asked for", () => {
  const blocked = { promptFeedback: { blockReason: "SAFETY" }, usageMetadata: usage.gemini };
  const body = convertedAnswer("gemini", "chat", blocked, memory);
  const { text } = streamed("gemini", "chat", `data: ${JSON.stringify(blocked)}\n\n`, { memory });
  assertEquals(readOf("chat", body).map((choice) => listOf(choice)[3]), ["content_filter"]);
  assertEquals(text.match(/"finish_reason":"\w+"/g), ['"finish_reason":"content_filter"']);
});

Deno.test("an error in the stream of several answers is the client's error", () => {
  for (const [from, to] of directions) {
    const frames = inTurns(three).slice(0, 4)
      .map((step) => `data: ${JSON.stringify(chunkOf(from, step))}\n\n`).join("");
    const { reading } = streamed(
      from,
      to,
      `${frames}data: {"error":{"message":"busy","code":503}}\n\n`,
      { memory },
    );
    assertEquals(reading.state, "error");
    assert(reading.outputBytes > 0);
    const failed = new TextEncoder().encode(`${frames}data: {"error":{"message":"busy"}}\n\n`);
    assertThrows(() => collectAnswer(from, to, failed, context, memory), GatewayError);
  }
});
