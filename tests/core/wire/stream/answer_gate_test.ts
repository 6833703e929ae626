/** What is an answer: a part that its client can read, or an ending that says why there is none. */
import { assert, assertEquals, assertThrows } from "../../../support/assert.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";
import { convertAnswer } from "../../../../core/wire/convert/convert.ts";
import { readAnswer } from "../../../../core/wire/convert/answer_reading.ts";
import { createConvertingPipe } from "../../../../core/wire/convert/converting_pipe.ts";
import type { ProviderStyle, Style } from "../../../../core/wire/contract/contract.ts";
import { answerFrames } from "../../../../core/wire/stream/answer_frames.ts";
import { streamFailure } from "../../../../core/wire/stream/answer_gate.ts";
import { context } from "../conversion/converting.ts";
import { clientStyles, providerStyles, wholeAnswer } from "../conversion/provider_answers.ts";
import { streamed } from "../conversion/streaming.ts";

/** The answer of a style with other content, at the place where it has its content. */
function withContent(style: ProviderStyle, content: Json, reason?: string): JsonObject {
  const answer = wholeAnswer(style, { text: "", ...(reason === undefined ? {} : { reason }) });
  switch (style) {
    case "chat": {
      const finish_reason = reason ?? "stop";
      const message = { role: "assistant", content };
      return { ...answer, choices: [{ index: 0, message, finish_reason }] };
    }
    case "messages":
      return { ...answer, content };
    case "responses":
      return { ...answer, output: content };
    case "gemini": {
      const candidate = {
        content: { role: "model", parts: content },
        finishReason: reason ?? "STOP",
      };
      return { ...answer, candidates: [candidate] };
    }
    case "converse":
      return { ...answer, output: { message: { role: "assistant", content } } };
  }
}

/** A part with a text of a wrong type, as each style writes parts. */
function partOf(style: ProviderStyle, text: Json): Json {
  if (style === "gemini" || style === "converse") return { text };
  if (style !== "responses") return { type: "text", text };
  return { type: "message", role: "assistant", content: [{ type: "output_text", text }] };
}

function others(style: ProviderStyle): Style[] {
  return clientStyles.filter((other) => other !== style);
}

/** Whether the stream of an answer fails before its client gets any of it. */
function failureOf(style: ProviderStyle, to: Style, body: JsonObject): boolean {
  try {
    const { reading } = streamed(style, to, answerFrames(style, body));
    return reading.state !== "completed" && !reading.sawOutput;
  } catch (error) {
    return error instanceof GatewayError;
  }
}

const failing: Readonly<Record<string, (style: ProviderStyle) => Json>> = {
  "a number": (style) => [partOf(style, 7)],
  "an object": (style) => [partOf(style, { value: "Hi" })],
  "a list of numbers": () => [7],
  "a number as content": () => 7,
};

Deno.test("text that is no text is no answer, native and converted, whole and streamed", () => {
  for (const style of providerStyles) {
    for (const [name, content] of Object.entries(failing)) {
      const body = withContent(style, content(style));
      assert(readAnswer(style, body).error !== undefined, `${style}: ${name}`);
      for (const to of others(style)) {
        assertThrows(() => convertAnswer(style, to, body, context, {}), GatewayError);
        assertEquals(failureOf(style, to, body), true, `${style}: ${name}`);
      }
    }
  }
});

Deno.test("a message that is missing, empty or a text in another place is no answer of Chat", () => {
  for (const message of [null, {}, "Hi", 7, [], undefined]) {
    const choice = {
      index: 0,
      finish_reason: "stop",
      ...(message === undefined ? {} : { message }),
    };
    const body = { ...wholeAnswer("chat", { text: "" }), choices: [choice] };
    assert(readAnswer("chat", body).error !== undefined, JSON.stringify(message));
    const older = { ...body, choices: [{ index: 0, text: "Hi", finish_reason: "stop" }] };
    const lone = { type: "text", text: "Hi" };
    for (const native of [older, withContent("chat", lone)]) {
      assert(readAnswer("chat", native).error !== undefined, JSON.stringify(native));
    }
    for (const to of others("chat")) {
      assertThrows(() => convertAnswer("chat", to, body, context, {}), GatewayError);
      assertThrows(() => convertAnswer("chat", to, older, context, {}), GatewayError, "text");
    }
  }
});

Deno.test("content that plainly is there is read, whatever is missing around it", () => {
  const cases: readonly (readonly [ProviderStyle, Json])[] = [
    ["messages", { type: "text", text: "Hello" }],
    ["messages", "Hello"],
    ["messages", ["Hello"]],
    ["messages", [{ text: "Hello" }]],
    ["messages", [{ type: null, text: "Hello" }]],
    ["chat", { type: "text", text: "Hello" }],
    ["chat", [{ text: "Hello" }]],
    ["chat", ["Hello"]],
    ["responses", { type: "message", content: [{ type: "output_text", text: "Hello" }] }],
    ["responses", [{ content: "Hello" }]],
    ["responses", [{ type: "message", content: { text: "Hello" } }]],
    ["gemini", { text: "Hello" }],
    ["gemini", "Hello"],
    ["converse", { text: "Hello" }],
  ];
  for (const [style, content] of cases) {
    const body = withContent(style, content);
    for (const to of others(style)) {
      const named: string[] = [];
      const text = JSON.stringify(
        convertAnswer(style, to, body, context, {}, (what) => named.push(what)),
      );
      assert(text.includes('"Hello"') && named.length === 0, `${style} ${to}: ${text}`);
    }
  }
});

/** A part of a type that nobody knows. */
const unknown: Readonly<Record<ProviderStyle, JsonObject>> = {
  chat: { type: "new_kind", new_kind: { data: "a" } },
  messages: { type: "new_kind", data: "a" },
  responses: { type: "new_kind", data: "a" },
  gemini: { new_kind: { data: "a" } },
  converse: { new_kind: { data: "a" } },
};

Deno.test("a part of an unknown type counts natively, is named beside others, and fails alone", () => {
  for (const style of providerStyles) {
    const alone = withContent(style, [unknown[style]]);
    assertEquals(readAnswer(style, alone).error, undefined, style);
    const beside = withContent(style, [partOf(style, "Hello"), unknown[style]]);
    for (const to of others(style)) {
      assertThrows(() => convertAnswer(style, to, alone, context, {}), GatewayError, "new_kind");
      assertEquals(failureOf(style, to, alone), true, style);
      const named: string[] = [];
      const onLost = (what: string) => void named.push(what);
      const whole = JSON.stringify(convertAnswer(style, to, beside, context, {}, onLost));
      const stream = streamed(style, to, answerFrames(style, beside));
      for (const text of [whole, stream.text]) {
        assert(text.includes("Hello") && text.includes("[new_kind left out"), text);
      }
      assertEquals([named, stream.reading.state], [["answer.new_kind"], "completed"], style);
    }
  }
});

Deno.test("a stream that may lose nothing ends as an error where it would", () => {
  const body = withContent("messages", [partOf("messages", "Hello"), unknown.messages]);
  const pipe = createConvertingPipe("messages", "chat", context, {}, (what) => {
    throw new GatewayError("conversion_refused", `This model cannot carry: ${what}`);
  });
  const out = new TextDecoder().decode(
    pipe.push(new TextEncoder().encode(answerFrames("messages", body))),
  );
  const end = new TextDecoder().decode(pipe.end());
  assert(out.includes("Hello") && end.includes("answer.new_kind"), end);
  assert(!end.includes("[DONE]"), end);
});

Deno.test("members beside those of the style are named, in a stream with its end", () => {
  const message = { role: "assistant", content: "Hello", monologue: "Hm." };
  const body = {
    ...wholeAnswer("chat", { text: "" }),
    choices: [{ index: 0, message, finish_reason: "stop" }],
  };
  for (const to of others("chat")) {
    const named: string[] = [];
    convertAnswer("chat", to, body, context, {}, (what) => named.push(what));
    assertEquals(named, ["answer.monologue"]);
    const { text } = streamed("chat", to, answerFrames("chat", body));
    const told = to === "gemini"
      ? '"finishMessage":"Left out: answer.monologue"'
      : ": x-gateway-conversion: dropped=answer.monologue\n\n";
    assert(text.includes(told), text);
  }
});

const plainEnds: Readonly<Record<ProviderStyle, string>> = {
  chat: "stop",
  messages: "end_turn",
  responses: "completed",
  gemini: "STOP",
  converse: "end_turn",
};

Deno.test("an end with nothing before it is an answer if it explains that, or if little was counted", () => {
  const explained = {
    chat: ["length", "content_filter"],
    messages: ["max_tokens", "stop_sequence", "refusal", "pause_turn"],
    responses: ["max_output_tokens", "content_filter"],
    gemini: ["MAX_TOKENS", "SAFETY"],
    converse: ["max_tokens", "stop_sequence", "content_filtered"],
  } as const satisfies Record<ProviderStyle, readonly string[]>;
  for (const style of providerStyles) {
    const empty = (reason: string, output: number) =>
      wholeAnswer(style, { text: "", reason, usage: { prompt: 9, output } });
    for (const reason of explained[style]) {
      assertEquals(readAnswer(style, empty(reason, 0)).error, undefined, `${style} ${reason}`);
    }
    const isAnswer = [0, 3, 4, 500].map((output) =>
      readAnswer(style, empty(plainEnds[style], output)).error === undefined
    );
    assertEquals(isAnswer, [false, true, false, false], style);
    for (const to of others(style)) {
      const states = [0, 3, 500].map((output) => {
        const frames = answerFrames(style, empty(plainEnds[style], output));
        return streamed(style, to, frames).reading.state;
      });
      assertEquals(states, ["error", "completed", "error"], `${style} to ${to}`);
    }
  }
});

Deno.test("a failure for having nothing in it says nothing of the route", () => {
  const reading = { stopReason: "stop", usage: undefined };
  const base = { usageRejected: false, toolUses: undefined, serviceTier: undefined };
  const failure = streamFailure({
    ...base,
    ...reading,
    sawOutput: false,
    outputBytes: 0,
    answerBytes: 0,
    state: "completed",
    error: undefined,
  });
  assertEquals([failure?.code, failure?.marks], ["upstream_unreachable", "nothing"]);
});
