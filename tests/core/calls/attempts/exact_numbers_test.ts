/** Numbers that no double holds travel through a call as they were written. */
import { joined } from "../../../../core/lib/bytes/byte_parts.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import { attemptAnswer } from "../../../../core/calls/attempts/attempt.ts";
import type { ChatCall } from "../../../../core/calls/exchange/chat_call.ts";
import { startChatExchange } from "../../../../core/calls/exchange/chat_exchange.ts";
import { readChatRequest } from "../../../../core/calls/request/chat_request.ts";
import { exactBoundBodyBytes, inputBound } from "../../../../core/calls/bounds/chat_bounds.ts";
import { parseJsonBody } from "../../../../core/calls/body/json_body.ts";
import { buildCatalog, type Route } from "../../../../core/catalog/catalog.ts";
import { gatewayFileSchema } from "../../../../core/catalog/schema.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import type { BodyStyle } from "../../../support/body_style.ts";
import { sealProof } from "../../../../core/wire/fields/reasoning_seal.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { maxExactNumbers } from "../../../../core/lib/json/scan/limits.ts";
import { roughInputTokens } from "../../../../core/billing/tokens/rough_estimate.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { FakeExchange } from "../stream/fake_exchange.ts";

const built = buildCatalog(gatewayFileSchema.parse({
  defaultModel: "m",
  providers: { p: { kind: "http", baseUrl: "https://p.example", apiKeyEnv: "P" } },
  models: [{
    id: "m",
    kind: "chat",
    family: "f",
    maxOutputTokens: 1_000,
    price: { unit: "token", vndPerMtok: 1 },
    routes: ["messages", "chat", "responses"].map((style) => ({
      provider: "p",
      style,
      model: style,
    })),
  }],
}));
assert(built.ok);
const model = built.catalog.defaultModel;

const styles: readonly BodyStyle[] = ["messages", "chat", "responses"];
const pairs = styles.flatMap((from) =>
  styles.filter((to) => to !== from).map((to) => [from, to] as const)
);

function start(from: BodyStyle, to: BodyStyle, text: string) {
  const body = parseJsonBody(new TextEncoder().encode(text));
  const call: ChatCall = {
    request: readChatRequest(from, body.value),
    body,
    model,
    requestId: "req_1",
    nowSeconds: 0,
    clientHeader: () => undefined,
    strict: false,
  };
  const exchange = new FakeExchange();
  let sent = "";
  const handlers = startChatExchange(call, routeOf(to), {
    provider: gatewayFileSchema.shape.providers.parse({ p: { kind: "sandbox" } })["p"]!,
    secret: undefined,
    transport: {
      open(request) {
        sent = new TextDecoder().decode(joined(request.body ?? []));
        return exchange;
      },
    },
    onStatus: () => {},
    onSentAgain: () => {},
    mayRepeat: () => false,
  });
  return { sent, exchange, handlers };
}

function refusalOf(run: () => unknown): GatewayError {
  try {
    run();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("It should have been refused");
}

function routeOf(style: BodyStyle): Route {
  const route = model.routes.find((one) => one.style === style);
  assert(route !== undefined);
  return route;
}

const long = "1234567890123456789";
/** As a tool gets it: an id, a number beyond any double, and neighbours that must not change. */
const input = `{"user":${long},"most":-1e400,"list":[18446744073709551615,1.5,"${long}"],"n":7}`;
const schema =
  `{"type":"object","properties":{"user":{"type":"integer","maximum":9223372036854775807}}}`;
const asText = JSON.stringify(input);

/** A tool, a call of it and its result. */
const requests: Record<BodyStyle, string> = {
  messages:
    `{"model":"m","max_tokens":100,"tools":[{"name":"f","input_schema":${schema}}],"messages":[
    {"role":"user","content":"q"},
    {"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"f","input":${input}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"r"}]}]}`,
  chat: `{"model":"m","tools":[{"type":"function","function":{"name":"f","parameters":${schema}}}],
    "messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[
      {"id":"t1","type":"function","function":{"name":"f","arguments":${asText}}}]},
      {"role":"tool","tool_call_id":"t1","content":"r"}]}`,
  responses: `{"model":"m","tools":[{"type":"function","name":"f","parameters":${schema}}],"input":[
    {"role":"user","content":"q"},
    {"type":"function_call","call_id":"t1","name":"f","arguments":${asText}},
    {"type":"function_call_output","call_id":"t1","output":"r"}]}`,
};

const answers: Record<BodyStyle, string> = {
  messages: `{"id":"1","type":"message","role":"assistant","model":"m","stop_reason":"tool_use",
    "content":[{"type":"tool_use","id":"t1","name":"f","input":${input}}],
    "usage":{"input_tokens":1,"output_tokens":1}}`,
  chat: `{"id":"1","object":"chat.completion","choices":[{"index":0,"finish_reason":"tool_calls",
    "message":{"role":"assistant","content":null,"tool_calls":[
      {"id":"t1","type":"function","function":{"name":"f","arguments":${asText}}}]}}],
    "usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`,
  responses: `{"id":"1","object":"response","status":"completed","output":[
    {"type":"function_call","id":"fc1","call_id":"t1","name":"f","arguments":${asText}}],
    "usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}`,
};

/** Where the arguments stand, in the way a style writes them. */
const written = (style: BodyStyle) =>
  style === "messages" ? `"input":${input}` : `"arguments":${asText}`;

for (const [from, to] of pairs) {
  Deno.test(`${from} to ${to}: arguments and schemas of a request keep their numbers`, () => {
    const { sent } = start(from, to, requests[from]);
    assert(sent.includes(written(to)), sent);
    assert(sent.includes('"maximum":9223372036854775807}'), sent);
  });

  Deno.test(`${to} to ${from}: the arguments of a whole answer keep their numbers`, async () => {
    const { exchange, handlers } = start(from, to, requests[from]);
    exchange.head(200, { "content-type": "application/json" }).send(answers[to]).end();
    const time = new ManualTime();
    const deadlines = new Deadlines({ clock: time, timer: time, tickMs: 10 });
    const { clientBytes, reading } = await attemptAnswer(handlers, { clock: time, deadlines });
    const text = new TextDecoder().decode(clientBytes);
    assert(text.includes(written(from)), text);
    assertEquals(reading.usage?.output, 1);
  });
}

Deno.test("a stream that brings the arguments as one object keeps their numbers", () => {
  const streams: readonly [BodyStyle, BodyStyle, string][] = [
    [
      "chat",
      "messages",
      `data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"f","input":${input}}}\n\ndata: {"type":"content_block_stop","index":0}\n\n`,
    ],
    [
      "messages",
      "chat",
      `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t1","function":{"name":"f","arguments":${input}}}]}}]}\n\n`,
    ],
  ];
  for (const [from, to, frames] of streams) {
    const { handlers } = start(from, to, requests[from]);
    const text = new TextDecoder().decode(
      handlers.createPipe().push(
        new TextEncoder().encode(frames),
      ),
    );
    assert(text.includes(asText.slice(1, -1)), text);
  }
});

Deno.test("a native body that loses sealed reasoning keeps the numbers of its tool calls", () => {
  const thinking = `{"type":"thinking","thinking":"t","signature":"${sealProof(undefined)}"},`;
  const text = requests.messages.replace('{"type":"tool_use"', `${thinking}{"type":"tool_use"`);
  const { sent } = start("messages", "messages", text);
  assert(!sent.includes("thinking") && sent.includes(written("messages")), sent);
});

Deno.test("where the gateway itself counts, such a number is refused by the field's name", () => {
  const cases: readonly [BodyStyle, string, string][] = [
    ["messages", '"max_tokens":100', `"max_tokens":${long}`],
    ["messages", '"max_tokens":100', `"max_tokens":100,"temperature":1e400`],
    ["messages", '"max_tokens":100', `"max_tokens":100,"top_k":${long}`],
    ["chat", '"model":"m"', `"model":"m","n":${long}`],
    ["chat", '"model":"m"', `"model":"m","max_completion_tokens":1e400`],
  ];
  for (const [style, old, changed] of cases) {
    const to = style === "messages" ? "chat" : "messages";
    const text = requests[style].replace(old, changed);
    const error = refusalOf(() => start(style, to, text));
    assertEquals([error.code, error.status], ["invalid_request", 400]);
    assert(changed.includes(`"${error.param}":`), error.message);
    assert(/must be from|is too large/.test(error.message), error.message);
  }
});

Deno.test("a count of tokens that no double holds is an absurd report", async () => {
  for (const [from, to] of [["messages", "chat"], ["chat", "chat"]] as const) {
    const { exchange, handlers } = start(from, to, requests[from]);
    const answer = answers.chat.replace('"completion_tokens":1', `"completion_tokens":${long}`);
    exchange.head(200, { "content-type": "application/json" }).send(answer).end();
    const time = new ManualTime();
    const deadlines = new Deadlines({ clock: time, timer: time, tickMs: 10 });
    const { reading } = await attemptAnswer(handlers, { clock: time, deadlines });
    assertEquals([reading.usage, reading.usageRejected], [undefined, true]);
  }
});

Deno.test("such numbers count by their digits, and more of them than the bound are refused", () => {
  const digits = "9".repeat(exactBoundBodyBytes);
  const body = parseJsonBody(new TextEncoder().encode(`{"messages":[{"a":${digits}}]}`));
  const prompt = { body: body.value, bodyBytes: body.bytes.length, hostedTools: 0 };
  assert(inputBound({ ...prompt, contextWindow: Infinity }).tokens > digits.length);
  assert(roughInputTokens(body.value) >= digits.length / 4);

  const many = `{"a":[${`${long},`.repeat(maxExactNumbers)}${long}]}`;
  const error = refusalOf(() => parseJsonBody(new TextEncoder().encode(many)));
  assertEquals(error.code, "invalid_json");
});

Deno.test("a call that a server numbers beyond 2^53 keeps its number as its id", () => {
  const { handlers } = start("messages", "chat", requests.messages);
  const call = `{"index":0,"id":${long},"function":{"name":"f","arguments":"{}"}}`;
  const text = new TextDecoder().decode(
    handlers.createPipe().push(
      new TextEncoder().encode(`data: {"choices":[{"delta":{"tool_calls":[${call}]}}]}\n\n`),
    ),
  );
  assert(text.includes(`"id":"${long}"`), text);
});
