/** The features of the conversion matrix, and the proof of each cell. */
import { assert, assertEquals } from "../../support/assert.ts";
import { errorBody } from "../../../core/lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import type {
  ProviderStyle,
  RouteCapabilities,
  Style,
} from "../../../core/wire/contract/contract.ts";
import { convertAnswer, convertRequest } from "../../../core/wire/convert/convert.ts";
import { decodeProviderError } from "../../../core/wire/convert/provider_errors.ts";
import { createNativePipe } from "../../../core/wire/convert/dialects.ts";
import { validateRequest } from "../../../sandbox/vendor_validators/validators.ts";
import { chatOverload } from "../../agents/chat_script.ts";
import { geminiOverload } from "../../agents/gemini_script.ts";
import { messagesOverload } from "../../agents/messages_script.ts";
import { responsesOverload } from "../../agents/responses_script.ts";
import type { ScriptedEvent } from "../../agents/scripted_turn.ts";
import {
  wholeChat,
  wholeGemini,
  wholeMessages,
  wholeResponses,
} from "../../agents/whole_answers.ts";
import { concatBytes } from "../../support/strict_client/strict_client.ts";
import { context, list, readStream, readWhole } from "../clients.ts";
import { convertStream } from "../converted_stream.ts";
import { gistOf } from "../gist.ts";
import { type Ask, pdf, png, schema, words, writers } from "./asks.ts";
import { type Heard, readers } from "./heard.ts";
import { type Say, streams, tokens, wholeConverse } from "./says.ts";

/** What becomes of a feature between a client's style and a provider's. */
export type Fate =
  /** The styles agree: bytes pass, and say what is expected. */
  | "native"
  | "carried"
  /** Left out or approximated, with its path in a header. */
  | "named"
  /** Refused, with the name of the field. */
  | "refused"
  /** One of the styles has no such thing: the client cannot ask for it, or the provider does not report it. */
  | "absent";

/** One row of the matrix. */
export interface Feature {
  /** Unique; with the names of the styles it is the name of the cell's test. */
  readonly id: string;
  readonly title: string;
  /** Returns what becomes of it. @throws if it is lost without a name, or says something else */
  readonly fate: (client: Style, provider: ProviderStyle) => Fate;
}

/** The styles that clients speak. */
export const clientStyles = Object.keys(writers).filter((name): name is Style => name in writers);
/** The styles that providers speak. */
export const providerStyles = Object.keys(readers)
  .filter((name): name is ProviderStyle => name in readers);

const capabilities: RouteCapabilities = {
  reasoning_replay: "details",
  thinking: "adaptive",
  efforts: ["low", "medium", "high"],
  reasoning_field: "thinking",
};

function converted(client: Style, provider: ProviderStyle, body: JsonObject) {
  return convertRequest(client, provider, body, {
    capabilities,
    upstreamModel: "m",
    maxOutputTokens: 9_000,
  });
}

interface Asked {
  readonly ask: Ask;
  /** Texts that the provider must get, in whatever member. */
  readonly texts?: readonly string[];
  readonly heard?: (heard: Heard) => unknown;
  readonly expected?: unknown;
  readonly absentIn?: readonly Style[];
}

function says(
  { texts = [], heard, expected }: Asked,
  style: ProviderStyle,
  body: JsonObject,
): boolean {
  const written = JSON.stringify(body);
  if (!texts.every((text) => written.includes(text))) return false;
  return heard === undefined ||
    JSON.stringify(heard(readers[style](body))) === JSON.stringify(expected);
}

function asked(id: string, title: string, row: Asked): Feature {
  return {
    id,
    title,
    fate: (client, provider) => {
      if (row.absentIn?.includes(client) === true) return "absent";
      const body = writers[client](row.ask);
      if (client === provider) {
        assertEquals(validateRequest(client, body), undefined);
        assert(says(row, client, body), `the sample of ${client} does not say it`);
        return "native";
      }
      const conversion = converted(client, provider, body);
      if (!conversion.ok) {
        assert(conversion.error.param !== undefined, "refused without a name");
        return "refused";
      }
      const { body: sent, dropped } = conversion.request;
      assertEquals(validateRequest(provider, sent), undefined);
      if (says(row, provider, sent)) return "carried";
      assert(dropped.length > 0, `lost without a name: ${JSON.stringify(sent)}`);
      return "named";
    },
  };
}

/** What a client reads in an answer. */
interface Told {
  readonly text: string;
  readonly thinking: string;
  readonly calls: readonly string[];
  readonly stop: Json;
  readonly input: Json;
  readonly cached: Json;
  readonly output: Json;
  readonly thinkingTokens: Json;
}

const object = (value: Json | undefined): JsonObject => isJsonObject(value) ? value : {};
const sum = (...counts: readonly (Json | undefined)[]) =>
  counts.reduce<number>((all, count) => all + (typeof count === "number" ? count : 0), 0);

function toldIn(style: Style, answer: JsonObject): Told {
  const { text, reasoning, calls } = gistOf(style, answer);
  return {
    text,
    thinking: reasoning,
    // The ids differ where the client's style requires another form.
    calls: calls.map((call) => call.slice(call.indexOf(" ") + 1)),
    ...endOf[style](answer),
  };
}

const endOf: Readonly<
  Record<Style, (answer: JsonObject) => Omit<Told, "text" | "thinking" | "calls">>
> = {
  messages: (answer) => {
    const usage = object(answer["usage"]);
    const cached = usage["cache_read_input_tokens"] ?? null;
    return {
      stop: answer["stop_reason"] ?? null,
      input: sum(usage["input_tokens"], cached, usage["cache_creation_input_tokens"]),
      cached,
      output: usage["output_tokens"] ?? null,
      thinkingTokens: null,
    };
  },
  chat: (answer) => {
    const usage = object(answer["usage"]);
    return {
      stop: list(answer["choices"])[0]?.["finish_reason"] ?? null,
      input: usage["prompt_tokens"] ?? null,
      cached: object(usage["prompt_tokens_details"])["cached_tokens"] ?? null,
      output: usage["completion_tokens"] ?? null,
      thinkingTokens: object(usage["completion_tokens_details"])["reasoning_tokens"] ?? null,
    };
  },
  responses: (answer) => {
    const usage = object(answer["usage"]);
    const hasCalls = list(answer["output"]).some(({ type }) => type === "function_call");
    return {
      stop: answer["status"] === "completed" && hasCalls ? "calls" : answer["status"] ?? null,
      input: usage["input_tokens"] ?? null,
      cached: object(usage["input_tokens_details"])["cached_tokens"] ?? null,
      output: usage["output_tokens"] ?? null,
      thinkingTokens: object(usage["output_tokens_details"])["reasoning_tokens"] ?? null,
    };
  },
  gemini: (answer) => {
    const usage = object(answer["usageMetadata"]);
    const [candidate] = list(answer["candidates"]);
    const parts = list(object(candidate?.["content"])["parts"]);
    const hasCalls = parts.some(({ functionCall }) => functionCall !== undefined);
    const reason = candidate?.["finishReason"] ?? null;
    return {
      stop: reason === "STOP" && hasCalls ? "calls" : reason,
      input: usage["promptTokenCount"] ?? null,
      cached: usage["cachedContentTokenCount"] ?? null,
      output: sum(usage["candidatesTokenCount"], usage["thoughtsTokenCount"]),
      thinkingTokens: usage["thoughtsTokenCount"] ?? null,
    };
  },
};

const encoder = new TextEncoder();

function written(events: Iterable<ScriptedEvent>): Uint8Array {
  const text = [...events].map(({ name, value }) =>
    `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(value)}\n\n`
  ).join("");
  return encoder.encode(text);
}

function streamOf(provider: ProviderStyle, say: Say): Uint8Array {
  const end = provider === "chat" ? "data: [DONE]\n\n" : "";
  return concatBytes([written(streams[provider](say)), encoder.encode(end)]);
}

const wholes = {
  messages: wholeMessages,
  chat: wholeChat,
  responses: wholeResponses,
  gemini: wholeGemini,
};

function wholeOf(provider: ProviderStyle, say: Say): JsonObject {
  if (provider === "converse") return wholeConverse(say);
  const events = [...streams[provider](say)];
  const whole = wholes[provider](events);
  if (provider !== "chat" || say.thinking === undefined) return whole;
  const deltas = events.flatMap(({ value }) =>
    isJsonObject(value) ? list(value["choices"]).map(({ delta }) => object(delta)) : []
  );
  const { reasoning, reasoning_details } =
    deltas.find((delta) => delta["reasoning_details"] !== undefined) ?? {};
  const [choice] = list(whole["choices"]);
  const message = { ...object(choice?.["message"]), reasoning, reasoning_details };
  return { ...whole, choices: [{ ...choice, message }] };
}

function nativeStream(style: Style, bytes: Uint8Array): Uint8Array {
  const pipe = createNativePipe(style, { ...context, clientModel: "m", injectedUsage: false });
  return concatBytes([pipe.push(bytes), pipe.end()]);
}

interface Answered {
  readonly say: Say;
  readonly told: (told: Told) => unknown;
  readonly expected: (client: Style) => unknown;
  readonly absentIn?: readonly ProviderStyle[];
}

/** Rows of an answer, whole and as a stream. */
function answered(id: string, title: string, row: Answered): Feature[] {
  const isAbsent = (...styles: readonly ProviderStyle[]) =>
    styles.some((style) => row.absentIn?.includes(style) === true);
  const check = (client: Style, answer: JsonObject) =>
    assertEquals(row.told(toldIn(client, answer)), row.expected(client));
  return [{
    id: `${id}.whole`,
    title,
    fate: (client, provider) => {
      const whole = wholeOf(provider, row.say);
      const answer = client === provider
        ? whole
        : convertAnswer(provider, client, whole, context, {});
      if (isAbsent(client, provider)) return "absent";
      check(client, readWhole(client, answer));
      return client === provider ? "native" : "carried";
    },
  }, {
    id: `${id}.streamed`,
    title: `${title}, streamed`,
    fate: (client, provider) => {
      const bytes = streamOf(provider, row.say);
      const read = readStream(
        client,
        client === provider
          ? nativeStream(client, bytes)
          : convertStream(provider, client, [bytes]).bytes,
      );
      assert(read.kind === "answer", JSON.stringify(read));
      if (isAbsent(client, provider)) return "absent";
      check(client, read.answer);
      return client === provider ? "native" : "carried";
    },
  }];
}

const stops: Readonly<Record<Style, Readonly<Record<Say["stop"], string>>>> = {
  messages: { end: "end_turn", length: "max_tokens", calls: "tool_use" },
  chat: { end: "stop", length: "length", calls: "tool_calls" },
  responses: { end: "completed", length: "incomplete", calls: "calls" },
  gemini: { end: "STOP", length: "MAX_TOKENS", calls: "calls" },
};

const stopped = (id: string, title: string, say: Say): Feature[] =>
  answered(id, title, {
    say,
    told: ({ stop }) => stop,
    expected: (client) => stops[client][say.stop],
  });

/** Sends an answer back as history, with the result of its call, as each style's libraries do. */
const histories: Readonly<Record<Style, (answer: JsonObject) => JsonObject>> = {
  messages: (answer) => {
    const content = list(answer["content"]);
    const call = content.find(({ type }) => type === "tool_use");
    return {
      ...writers.messages({ tools: true, thinking: true }),
      messages: [
        { role: "user", content: words.text },
        { role: "assistant", content },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: call?.["id"] ?? "", content: "x" }],
        },
      ],
    };
  },
  chat: (answer) => {
    const [choice] = list(answer["choices"]);
    const { role, content, tool_calls, reasoning_details, reasoning_content } = object(
      choice?.["message"],
    );
    const [call] = list(tool_calls);
    const message = { role, content, tool_calls, reasoning_details, reasoning_content };
    return {
      ...writers.chat({ tools: true, thinking: true }),
      messages: [
        { role: "user", content: words.text },
        Object.fromEntries(Object.entries(message).filter(([, value]) => value !== undefined)),
        { role: "tool", tool_call_id: call?.["id"] ?? "", content: "x" },
      ],
    };
  },
  responses: (answer) => {
    const output = list(answer["output"]);
    const call = output.find(({ type }) => type === "function_call");
    return {
      ...writers.responses({ tools: true, thinking: true }),
      input: [
        { role: "user", content: words.text },
        ...output,
        { type: "function_call_output", call_id: call?.["call_id"] ?? "", output: "x" },
      ],
    };
  },
  gemini: (answer) => {
    const [candidate] = list(answer["candidates"]);
    const content = object(candidate?.["content"]);
    const made = list(content["parts"]).flatMap(({ functionCall }) =>
      isJsonObject(functionCall) ? [functionCall] : []
    );
    return {
      ...writers.gemini({ tools: true, thinking: true }),
      contents: [
        { role: "user", parts: [{ text: words.text }] },
        content,
        {
          role: "user",
          parts: made.map(({ id, name }) => ({
            functionResponse: {
              ...(id === undefined ? {} : { id }),
              name: name ?? "",
              response: { output: "x" },
            },
          })),
        },
      ],
    };
  },
};

const signature = btoa("the provider's own signature");

const signatures: Feature = {
  id: "thinking.signature",
  title: "signatures of thinking, back at their provider in the next turn",
  fate: (client, provider) => {
    const say: Say = { thinking: "Hm", signature, calls: ["f"], stop: "calls" };
    const whole = wholeOf(provider, say);
    const answer = client === provider
      ? whole
      : convertAnswer(provider, client, whole, context, {});
    const history = histories[client](answer);
    if (client === provider) {
      assert(JSON.stringify(history).includes(signature));
      return "native";
    }
    const conversion = converted(client, provider, history);
    assert(conversion.ok, conversion.ok ? "" : conversion.error.message);
    const sent = JSON.stringify(conversion.request.body);
    assert(sent.includes(signature), `the signature is lost: ${sent}`);
    return "carried";
  },
};

/** Bodies of the vendors for a limit of their rate. */
const limits: Readonly<Record<ProviderStyle, Json>> = {
  messages: { type: "error", error: { type: "rate_limit_error", message: "Slow down" } },
  chat: { error: { message: "Slow down", type: "rate_limit_error", param: null, code: null } },
  responses: {
    error: { message: "Slow down", type: "rate_limit_error", param: null, code: "rate_limit" },
  },
  gemini: { error: { code: 429, message: "Slow down", status: "RESOURCE_EXHAUSTED" } },
  converse: { message: "Slow down" },
};

/** What each client calls a limit of a rate. */
const limitWords: Readonly<Record<Style, string>> = {
  messages: "rate_limit_error",
  chat: "rate_limit",
  responses: "rate_limit",
  gemini: "RESOURCE_EXHAUSTED",
};

const refusedCalls: Feature = {
  id: "error.before",
  title: "a provider's error instead of an answer",
  fate: (client, provider) => {
    const error = decodeProviderError(provider, 429, JSON.stringify(limits[provider]));
    assertEquals(error.code, "rate_limit_exceeded");
    const body = JSON.stringify(
      errorBody(error, client === "responses" ? "chat" : client, "req_1"),
    );
    assert(body.includes(limitWords[client]), body);
    return client === provider ? "native" : "carried";
  },
};

const overloads: Readonly<Record<ProviderStyle, Uint8Array>> = {
  messages: written([messagesOverload]),
  chat: written([chatOverload]),
  responses: written([responsesOverload]),
  gemini: encoder.encode(`${JSON.stringify(geminiOverload)}\n\n`),
  converse: written([{ name: "error", value: { type: "overloaded_error", message: "Busy" } }]),
};

const brokenStreams: Feature = {
  id: "error.within",
  title: "a provider's error within a stream",
  fate: (client, provider) => {
    const events = [...streams[provider]({ text: "Cha", stop: "end" })];
    const begun = events.slice(
      0,
      events.findIndex((one) => JSON.stringify(one).includes("Cha")) + 1,
    );
    const bytes = concatBytes([written(begun), overloads[provider]]);
    const read = readStream(
      client,
      client === provider
        ? nativeStream(client, bytes)
        : convertStream(provider, client, [bytes]).bytes,
    );
    assertEquals(read.kind, "error");
    return client === provider ? "native" : "carried";
  },
};

/** All rows, in the order of the page. */
export const features: readonly Feature[] = [
  asked("ask.text", "text", { ask: {}, texts: [words.text] }),
  asked("ask.system", "instructions", {
    ask: { system: true },
    texts: [words.system, words.text],
  }),
  asked("ask.bounds", "output limit, temperature, stop sequence", {
    ask: { bounds: true },
    heard: ({ bounds }) => bounds,
    expected: [77, ["END"], 0.5],
    absentIn: ["responses"],
  }),
  asked("ask.image", "images", { ask: { image: true }, texts: [png, words.text] }),
  asked("ask.pdf", "PDFs", { ask: { pdf: true }, texts: [pdf, words.text] }),
  asked("ask.tools", "tools", {
    ask: { tools: true },
    heard: ({ tools, choice }) => [tools, choice ?? null],
    expected: [["f", "g"], null],
  }),
  asked("ask.choice.any", "tool choice: any", {
    ask: { tools: true, choice: "any" },
    heard: ({ choice }) => choice,
    expected: "any",
  }),
  asked("ask.choice.one", "tool choice: one tool", {
    ask: { tools: true, choice: "f" },
    heard: ({ choice }) => choice,
    expected: "f",
  }),
  asked("ask.choice.none", "tool choice: none", {
    ask: { tools: true, choice: "none" },
    heard: ({ choice }) => choice,
    expected: "none",
  }),
  asked("ask.one_at_a_time", "no parallel calls", {
    ask: { tools: true, oneAtATime: true },
    heard: ({ oneAtATime }) => oneAtATime,
    expected: true,
    absentIn: ["gemini"],
  }),
  asked("ask.history", "a call with its result", {
    ask: { tools: true, called: ["f"] },
    texts: [`${words.result} f`],
    heard: ({ calls }) => calls,
    expected: ['f {"a":0}'],
  }),
  asked("ask.history.parallel", "parallel calls with their results", {
    ask: { tools: true, called: ["f", "g"] },
    texts: [`${words.result} f`, `${words.result} g`],
    heard: ({ calls }) => calls,
    expected: ['f {"a":0}', 'g {"a":1}'],
  }),
  asked("ask.schema", "an answer by JSON schema", {
    ask: { schema: true },
    heard: (heard) => isJsonObject(heard.schema) ? heard.schema["required"] : null,
    expected: schema["required"],
  }),
  asked("ask.thinking", "thinking, with an effort", {
    ask: { thinking: true },
    heard: ({ thinks }) => thinks,
    expected: true,
  }),
  ...answered("answer.text", "text", {
    say: { text: "Xin chào", stop: "end" },
    told: ({ text }) => text,
    expected: () => "Xin chào",
  }),
  ...answered("answer.thinking", "thinking", {
    say: { thinking: "Hm", text: "Xin chào", stop: "end" },
    told: ({ text, thinking }) => [thinking, text],
    expected: () => ["Hm", "Xin chào"],
  }),
  signatures,
  ...answered("answer.call", "a call", {
    say: { text: "I look.", calls: ["f"], stop: "calls" },
    told: ({ text, calls }) => [text, calls],
    expected: () => ["I look.", ['f {"a":0}']],
  }),
  ...answered("answer.calls", "parallel calls", {
    say: { calls: ["f", "g"], stop: "calls" },
    told: ({ calls }) => calls,
    expected: () => ['f {"a":0}', 'g {"a":1}'],
  }),
  ...stopped("stop.end", "stop: the end", { text: "Xin chào", stop: "end" }),
  ...stopped("stop.length", "stop: the limit", { text: "Xin", stop: "length" }),
  ...stopped("stop.calls", "stop: calls", { calls: ["f"], stop: "calls" }),
  ...answered("usage", "tokens of prompt, cache and output", {
    say: { text: "Xin chào", stop: "end" },
    told: ({ input, cached, output }) => ({ input, cached, output }),
    expected: () => ({ input: tokens.input, cached: tokens.cached, output: tokens.output }),
  }),
  ...answered("usage.thinking", "tokens of thinking", {
    say: { thinking: "Hm", text: "Xin chào", stop: "end" },
    told: ({ thinkingTokens }) => thinkingTokens,
    expected: () => tokens.thinking,
    absentIn: ["messages", "converse"],
  }),
  refusedCalls,
  brokenStreams,
];
