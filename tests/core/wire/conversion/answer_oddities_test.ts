/** Forms of answers that single vendors have: nothing of them is lost, and what a client does not get is not paid. */
import { assert, assertEquals, assertThrows } from "../../../support/assert.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";
import { convertAnswer, decodeAnswer } from "../../../../core/wire/convert/convert.ts";
import { createConvertingPipe } from "../../../../core/wire/convert/converting_pipe.ts";
import { readAnswer, shapeAnswer } from "../../../../core/wire/convert/answer_reading.ts";
import { answerFrames } from "../../../../core/wire/stream/answer_frames.ts";
import { unknownInStream } from "../../../../core/wire/stream/answer_gate.ts";
import { checkJsonDepth } from "../../../../core/lib/json/exact_json.ts";
import { pipeText } from "../native/piping.ts";
import { accepted, context, convertedAnswer } from "./converting.ts";
import { clientStyles, providerStyles, streamedAnswer, wholeAnswer } from "./provider_answers.ts";
import { chatFrames, chunk, messagesFrames, streamed } from "./streaming.ts";

const data = "BwcHBwcHBwc=";

function geminiAnswer(parts: readonly JsonObject[]): JsonObject {
  return {
    candidates: [{ content: { role: "model", parts: [...parts] }, finishReason: "STOP", index: 0 }],
    usageMetadata: { promptTokenCount: 20, candidatesTokenCount: 1_125, totalTokenCount: 1_145 },
  };
}

const sound = { inlineData: { mimeType: "audio/L16;rate=24000", data } };
const wantsSound = { wantsSound: true } as const;

Deno.test("sound reaches Chat clients that asked for it, and is refused alone to all others", () => {
  const alone = geminiAnswer([sound]);
  const spoken = JSON.stringify(convertAnswer("gemini", "chat", alone, context, wantsSound));
  assert(spoken.includes(`"data":"${data}","format":"pcm16"`), spoken);
  const stream = streamed("gemini", "chat", answerFrames("gemini", alone), { memory: wantsSound });
  assert(stream.text.includes(`"delta":{"audio":{"id":`), stream.text);
  for (const to of ["chat", "messages", "responses"] as const) {
    assertThrows(() => convertAnswer("gemini", to, alone, context, {}), GatewayError, "sound");
    const { reading } = streamed("gemini", to, answerFrames("gemini", alone));
    assertEquals([reading.state, reading.error?.code], ["error", "conversion_refused"]);
  }
});

Deno.test("sound and pictures that are left out are not charged, with or without details", () => {
  const picture = { inlineData: { mimeType: "image/png", data: "iVBORw0KGgo=" } };
  for (const [part, name] of [[sound, "audio"], [picture, "image"]] as const) {
    const body = geminiAnswer([{ text: "Here:" }, part]);
    const named: string[] = [];
    const { charged } = decodeAnswer(
      "gemini",
      "messages",
      shapeAnswer("gemini", body),
      {},
      (what) => named.push(what),
    );
    const { usage, outputBytes } = charged(readAnswer("gemini", body));
    assert(usage !== undefined && usage.output < 40 && usage.input === 20, JSON.stringify(usage));
    assert(outputBytes < 100);
    assertEquals(named, [`answer.${name}`]);
    const { reading, text } = streamed("gemini", "messages", answerFrames("gemini", body));
    assert((reading.usage?.output ?? 0) < 40 && text.includes("left out"), text);
  }
});

Deno.test("what a Chat server says reaches a Gemini client as sound, and every other as text", () => {
  const audio = { id: "a", data: "UklGRgAAAAA=", transcript: "Hello", expires_at: 1 };
  const message = { role: "assistant", content: null, audio };
  const body = {
    ...wholeAnswer("chat", { text: "" }),
    choices: [{ index: 0, message, finish_reason: "stop" }],
  };
  for (const to of ["gemini", "messages", "responses"] as const) {
    const whole = JSON.stringify(convertedAnswer("chat", to, body));
    const { text } = streamed("chat", to, answerFrames("chat", body));
    for (const told of [whole, text]) {
      assert(told.includes("Hello"), told);
      assertEquals(told.includes('"inlineData":{"mimeType":"audio/wav"'), to === "gemini", told);
    }
  }
});

Deno.test("an empty `custom` beside the function of a call is none, whole and streamed", () => {
  const call = {
    index: 0,
    id: "c1",
    type: "function",
    function: { name: "f", arguments: '{"a":1}' },
    custom: {},
  };
  const message = { role: "assistant", content: null, tool_calls: [call] };
  const body = {
    ...wholeAnswer("chat", { text: "" }),
    choices: [{ index: 0, message, finish_reason: "tool_calls" }],
  };
  const whole = JSON.stringify(convertedAnswer("chat", "messages", body));
  assert(whole.includes('"name":"f","input":{"a":1}'), whole);
  const frames = chatFrames([chunk({ tool_calls: [call] }), chunk({}, "tool_calls")]);
  const { text } = streamed("chat", "messages", frames);
  assert(text.includes('"name":"f"') && text.includes('"{\\"a\\":1}"'), text);
});

Deno.test("a call of a free-text tool streams to a Gemini client with its input", () => {
  const call = { index: 0, id: "c1", type: "custom", custom: { name: "apply", input: "do it" } };
  const body = {
    ...wholeAnswer("chat", { text: "" }),
    choices: [{
      index: 0,
      message: { role: "assistant", content: null, tool_calls: [call] },
      finish_reason: "tool_calls",
    }],
  };
  const whole = convertedAnswer("chat", "gemini", body);
  const args = /"args":(\{.*?\})/.exec(JSON.stringify(whole))?.[1];
  assert(args?.includes("do it"), JSON.stringify(whole));
  const { text } = streamed("chat", "gemini", answerFrames("chat", body));
  assert(text.includes(`"args":${args}`), text);
});

Deno.test("finish reasons of Gemini may be numbers, native and converted", () => {
  const body = (finishReason: Json) => ({
    ...wholeAnswer("gemini", { text: "Hi" }),
    candidates: [{ content: { role: "model", parts: [{ text: "Hi" }] }, finishReason, index: 0 }],
  });
  assertEquals(readAnswer("gemini", body(2)).stopReason, "MAX_TOKENS");
  const { reading } = pipeText("gemini", answerFrames("gemini", body(1)));
  assertEquals([reading.state, reading.stopReason], ["completed", "STOP"]);
  for (const [number, reason] of [[1, "stop"], [2, "length"], [3, "content_filter"]] as const) {
    const whole = JSON.stringify(convertedAnswer("gemini", "chat", body(number)));
    const { text } = streamed("gemini", "chat", answerFrames("gemini", body(number)));
    for (const told of [whole, text]) assert(told.includes(`"finish_reason":"${reason}"`), told);
  }
});

/** The events of a Responses stream of one text, in pieces. */
function responsesEvents(
  pieces: readonly string[],
  told: readonly string[] = pieces,
) {
  const content = [{ type: "output_text", text: pieces.join(""), annotations: [] }];
  const item = { type: "message", id: "m", role: "assistant", status: "completed", content };
  const place = { output_index: 0, content_index: 0, item_id: "m" };
  const usage = { input_tokens: 1, output_tokens: 9 };
  return [
    { type: "response.created", response: { id: "r", output: [] } },
    { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
    ...told.map((delta) => ({ type: "response.output_text.delta", ...place, delta })),
    { type: "response.output_item.done", output_index: 0, item },
    { type: "response.completed", response: { status: "completed", output: [item], usage } },
  ];
}

Deno.test("a Responses stream is completed by its own events, or is an error", () => {
  const pieces = ["Hanoi ", "is ", "large."];
  const run = (told: readonly string[]) =>
    streamed("responses", "chat", messagesFrames(responsesEvents(pieces, told)));
  for (const told of [pieces, pieces.slice(0, 2), pieces.slice(0, 1), []]) {
    const { text, reading } = run(told);
    const said = [...text.matchAll(/"content":"([^"]*)"/gu)].map(([, piece]) => piece).join("");
    assertEquals([said, reading.state], ["Hanoi is large.", "completed"]);
  }
  for (const told of [["is ", "large."], ["Hanoi ", "large."], ["is ", "Hanoi ", "large."]]) {
    assert(run(told).text.includes('"error"'), told.join());
  }
  // A server may shorten white space in what it repeats.
  const spaced = streamed(
    "responses",
    "chat",
    messagesFrames(responsesEvents(["a b"], ["a  b ", "\n"])),
  );
  assertEquals(spaced.reading.state, "completed");
});

Deno.test("answers that are nested too deeply are failures before they are parsed", () => {
  const deep = `{"a":${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}}`;
  assertThrows(() => checkJsonDepth(deep), SyntaxError);
  for (const style of providerStyles) {
    const [first = ""] = streamedAnswer(style, { text: "Hi" });
    const event = /^event: .*\n/.exec(first)?.[0] ?? "";
    for (const to of clientStyles) {
      if (style === to) continue;
      assertThrows(() => streamed(style, to, `${event}data: ${deep}\n\n`), GatewayError);
    }
  }
  assert(unknownInStream("chat", new TextEncoder().encode("data: [DONE]\n\n")) === undefined);
});

Deno.test("ids of calls come back to the model as it wrote them, through every client", () => {
  const ids = ["functions.Bash:0", "call_abc", "chatcmpl-tool-9f", "a b/ü", "tool_0_get_weather"];
  for (const id of ids) {
    const tool_calls = [{ id, type: "function", function: { name: "f", arguments: "{}" } }];
    const answer = {
      ...wholeAnswer("chat", { text: "" }),
      choices: [{
        index: 0,
        message: { role: "assistant", content: null, tool_calls },
        finish_reason: "tool_calls",
      }],
    };
    const { content } = convertedAnswer("chat", "messages", answer);
    const given = /"id":"([^"]+)"/.exec(JSON.stringify(content))?.[1] ?? "";
    assert(/^[a-zA-Z0-9_-]+$/.test(given), given);
    const { text } = streamed("chat", "messages", answerFrames("chat", answer));
    assert(text.includes(`"id":"${given}"`), text);
    const { body } = accepted("messages", "chat", {
      model: "m",
      max_tokens: 10,
      tools: [{ name: "f", input_schema: { type: "object" } }],
      messages: [
        { role: "user", content: "a" },
        { role: "assistant", content: [{ type: "tool_use", id: given, name: "f", input: {} }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: given, content: "b" }] },
      ],
    });
    const sent = JSON.stringify(body.messages);
    assert(sent.includes(`"id":${JSON.stringify(id)}`), sent);
    assert(sent.includes(`"tool_call_id":${JSON.stringify(id)}`), sent);
    for (const to of ["responses", "gemini"] as const) {
      assert(JSON.stringify(convertedAnswer("chat", to, answer)).includes(JSON.stringify(id)));
    }
  }
});

Deno.test("log probabilities of Chat and Responses answers reach Gemini clients", () => {
  const entry = { token: "Hi", logprob: -0.5, bytes: [72, 105], top_logprobs: [] };
  const told = '"chosenCandidates":[{"token":"Hi","logProbability":-0.5}]';
  const chat = {
    ...wholeAnswer("chat", { text: "Hi" }),
    choices: [{
      index: 0,
      message: { role: "assistant", content: "Hi" },
      logprobs: { content: [entry] },
      finish_reason: "stop",
    }],
  };
  const content = [{ type: "output_text", text: "Hi", annotations: [], logprobs: [entry] }];
  const responses = {
    ...wholeAnswer("responses", { text: "Hi" }),
    output: [{ type: "message", id: "m", role: "assistant", status: "completed", content }],
  };
  for (const [style, body] of [["chat", chat], ["responses", responses]] as const) {
    const whole = JSON.stringify(convertedAnswer(style, "gemini", body));
    assert(whole.includes(told), whole);
  }
  const { text } = streamed("chat", "gemini", answerFrames("chat", chat));
  assert(text.includes(told), text);
});

Deno.test("Gemini clients get the gateway's own count where the provider reports none", () => {
  const counted = { ...context, countedInput: 12 };
  for (const style of ["chat", "messages", "responses"] as const) {
    const body = wholeAnswer(style, { text: "Hello there", usage: {} });
    const told =
      '"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":3,"totalTokenCount":15}';
    const whole = JSON.stringify(convertAnswer(style, "gemini", body, counted, {}));
    assert(whole.includes(told), whole);
    const pipe = createConvertingPipe(style, "gemini", counted, {});
    const frames = new TextEncoder().encode(answerFrames(style, body));
    const text = new TextDecoder().decode(pipe.push(frames)) + new TextDecoder().decode(pipe.end());
    assert(text.includes(told), text);
    assertEquals(pipe.reading.usage, undefined);
  }
});
