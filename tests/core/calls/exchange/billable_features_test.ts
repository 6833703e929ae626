/** What leaves for a provider, and what does not, when a request asks for more than tokens. */
import { joined } from "../../../../core/lib/bytes/byte_parts.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import type { ChatCall, ChatRouteAccess } from "../../../../core/calls/exchange/chat_call.ts";
import { startChatExchange } from "../../../../core/calls/exchange/chat_exchange.ts";
import { readChatRequest } from "../../../../core/calls/request/chat_request.ts";
import { parseJsonBody } from "../../../../core/calls/body/json_body.ts";
import { buildCatalog, type Model } from "../../../../core/catalog/catalog.ts";
import { gatewayFileSchema } from "../../../../core/catalog/schema.ts";
import type { BodyStyle } from "../../../support/body_style.ts";
import { type ErrorCode, GatewayError } from "../../../../core/lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import type { UpstreamRequest } from "../../../../core/net/transport/transport.ts";
import { FakeExchange } from "../stream/fake_exchange.ts";

const styles: readonly BodyStyle[] = ["messages", "chat", "responses"];

/** A model with the given routes, all to one provider. */
function modelWith(...routes: readonly JsonObject[]): Model {
  const built = buildCatalog(gatewayFileSchema.parse({
    defaultModel: "m",
    providers: { p: { kind: "http", baseUrl: "https://p.example", apiKeyEnv: "P" } },
    models: [{
      id: "m",
      kind: "chat",
      family: "f",
      price: { unit: "token", vndPerMtok: 1 },
      routes: routes.map((route, i) => ({ provider: "p", model: `m${i}`, ...route })),
    }],
  }));
  assert(built.ok, built.ok ? "" : built.problems.join());
  return built.catalog.defaultModel;
}

interface Asking {
  readonly style: BodyStyle;
  readonly text: string;
  readonly model: Model;
  readonly headers?: Readonly<Record<string, string>>;
  readonly strict?: boolean;
  /** Which route of the model is tried. */
  readonly route?: number;
}

/** Starts a call on a route: what was sent and left out, or the refusal. */
function start({ style, text, model, headers = {}, strict = false, route = 0 }: Asking) {
  const body = parseJsonBody(new TextEncoder().encode(text));
  const call: ChatCall = {
    request: readChatRequest(style, body.value),
    body,
    model,
    requestId: "req_1",
    nowSeconds: 0,
    clientHeader: (name) => headers[name],
    strict,
  };
  const sent: UpstreamRequest[] = [];
  const access: ChatRouteAccess = {
    provider: gatewayFileSchema.shape.providers.parse({ p: { kind: "sandbox" } })["p"]!,
    secret: undefined,
    transport: {
      open(request) {
        sent.push(request);
        return new FakeExchange();
      },
    },
    onStatus: () => {},
    mayRepeat: () => false,
    onSentAgain: () => {},
  };
  const to = model.routes[route];
  assert(to !== undefined);
  try {
    const { dropped } = startChatExchange(call, to, access);
    const [request] = sent;
    assert(request !== undefined && sent.length === 1 && request.body !== null);
    const header = (name: string) => request.headers.find(([key]) => key === name)?.[1];
    return {
      ok: true,
      dropped,
      text: new TextDecoder().decode(joined(request.body)),
      header,
    } as const;
  } catch (error) {
    assert(error instanceof GatewayError, String(error));
    assertEquals(sent.length, 0, "nothing may be sent when a call is refused");
    return { ok: false, error } as const;
  }
}

function refused(asking: Asking): [ErrorCode, number, string | undefined, string] {
  const result = start(asking);
  assert(!result.ok, "it should have been refused");
  const { code, status, param, message } = result.error;
  return [code, status, param, message];
}

/** With unusual blanks: a body that was parsed and written again would differ. */
const text = (style: BodyStyle, more: string): string =>
  `{ "model":"m0" ,  ${
    style === "responses"
      ? '"input" : "Hi", "store":  false'
      : '"max_tokens": 9.0, "messages":[ {"role":"user","content":"Hi \\u0041"} ]'
  } ,${more} }`;

const search = '"tools" : [ { "name":"f", "input_schema":{} }, {"type" : "web_search"} ]';

for (const style of styles) {
  Deno.test(`${style}: a billable tool is refused by its place, unless the route allows it: then no byte changes`, () => {
    const asking = { style, text: text(style, search) };
    const [code, status, param, message] = refused({ ...asking, model: modelWith({ style }) });
    assertEquals([code, status, param], ["invalid_request", 400, "tools.1"]);
    assert(message.startsWith("tools.1: searching the web costs extra"), message);
    assertEquals(message.includes('web_search = "disabled"'), style === "responses");

    for (const allow of [["file_search", "service_tier"], ["mcp"]]) {
      assertEquals(refused({ ...asking, model: modelWith({ style, allow }) })[2], "tools.1");
    }
    const allowed = start({ ...asking, model: modelWith({ style, allow: ["web_search"] }) });
    assert(allowed.ok);
    assertEquals([allowed.text, allowed.dropped], [asking.text, []]);
  });

  Deno.test(`${style}: a dearer tier is refused, the usual ones pass unchanged`, () => {
    const model = modelWith({ style });
    const billable = text(style, '"service_tier":"priority"');
    assertEquals(refused({ style, text: billable, model })[2], "service_tier");
    const usual = text(style, '"service_tier":"auto"');
    const passed = start({ style, text: usual, model });
    assert(passed.ok);
    assertEquals(passed.text, usual);
  });
}

Deno.test("with several billable places the first that is not allowed is named", () => {
  const both = text("messages", `"service_tier":"priority",${search}`);
  const model = modelWith({ style: "messages", allow: ["service_tier"] });
  assertEquals(refused({ style: "messages", text: both, model })[2], "tools.1");
});

Deno.test("where another route of the model offers it, this one is out of the question but the model is not", () => {
  const model = modelWith({ style: "chat" }, { style: "chat", allow: ["web_search"] });
  const asking: Asking = { style: "chat", text: text("chat", '"web_search_options":{}'), model };
  const [code, status, param, message] = refused(asking);
  assertEquals([code, status, param], ["feature_unavailable", 503, "web_search_options"]);
  assert(message.includes("at the moment"), message);
  assert(start({ ...asking, route: 1 }).ok);
});

Deno.test("a field that matters only when the model declines is left out and named; strict mode refuses it", () => {
  const asking: Asking = {
    style: "messages",
    text: text("messages", '"fallbacks" : [ {"model":"dear"} ]'),
    model: modelWith({ style: "messages" }),
  };
  const spared = start(asking);
  assert(spared.ok);
  assertEquals(spared.text, text("messages", '"fallbacks" : null'));
  assertEquals(spared.dropped, ["fallbacks"]);
  assertEquals(refused({ ...asking, strict: true }).slice(0, 3), [
    "conversion_refused",
    400,
    "fallbacks",
  ]);
  const model = modelWith({ style: "messages", allow: ["fallbacks"] });
  const allowed = start({ ...asking, model, strict: true });
  assert(allowed.ok);
  assertEquals(allowed.text, asking.text);
});

Deno.test("a beta that makes tokens dearer does not travel, whatever style the client speaks", () => {
  const headers = { "anthropic-beta": "a-1, context-1m-2025-08-07" };
  for (const style of styles) {
    const asking: Asking = {
      style,
      text: text(style, '"temperature":1'),
      model: modelWith({ style: "messages" }),
      headers,
    };
    const result = start(asking);
    assert(result.ok);
    assertEquals(result.header("anthropic-beta"), "a-1");
    assert(result.dropped.includes("anthropic-beta.context-1m"), String(result.dropped));
    assertEquals(refused({ ...asking, strict: true })[0], "conversion_refused");

    const model = modelWith({ style: "messages", allow: ["long_context"] });
    const allowed = start({ ...asking, model });
    assert(allowed.ok);
    assertEquals(allowed.header("anthropic-beta"), headers["anthropic-beta"]);
  }
  const alone = start({
    style: "messages",
    text: text("messages", '"top_k":1'),
    model: modelWith({ style: "messages" }),
    headers: { "anthropic-beta": "context-1m-2025-08-07" },
  });
  assert(alone.ok);
  assertEquals(alone.header("anthropic-beta"), undefined);
  const none = start({
    style: "chat",
    text: text("chat", '"seed":1'),
    model: modelWith({ style: "chat" }),
    headers,
  });
  assert(none.ok);
  assertEquals([none.header("anthropic-beta"), none.dropped], [undefined, []]);
});

Deno.test("converted calls drop billable tools as before; a field that the route carries needs its permission too", () => {
  const asking = { style: "messages", text: text("messages", search) } as const;
  const converted = start({ ...asking, model: modelWith({ style: "chat" }) });
  assert(converted.ok);
  assert(converted.dropped.includes("tools.1"), String(converted.dropped));

  const facts = { extra_fields: ["web_search_options", "service_tier"] };
  assertEquals(
    refused({ ...asking, model: modelWith({ style: "chat", facts }) }).slice(0, 3),
    [
      "invalid_request",
      400,
      "tools.1", // the client's own words, not those of the other style
    ],
  );
  const model = modelWith({ style: "chat", facts, allow: ["web_search"] });
  const allowed = start({ ...asking, model });
  assert(allowed.ok);
  const body: Json = JSON.parse(allowed.text);
  assert(isJsonObject(body));
  assertEquals(body["web_search_options"], {});

  const tier = text("responses", '"service_tier":"priority"');
  assertEquals(refused({ style: "responses", text: tier, model })[2], "service_tier");
  // Between Chat and Responses it is carried without a word of the route, and judged all the same.
  const plainRoute = modelWith({ style: "chat" });
  assertEquals(refused({ style: "responses", text: tier, model: plainRoute })[2], "service_tier");
  const willing = modelWith({ style: "chat", allow: ["service_tier"] });
  const carried = start({ style: "responses", text: tier, model: willing });
  assert(carried.ok);
  assert(carried.text.includes('"service_tier":"priority"'), carried.text);
});

Deno.test("what the model's own routes refuse is not lost by conversion to another style instead", () => {
  const model = modelWith({ style: "messages" }, { style: "chat" });
  const asking: Asking = { style: "messages", text: text("messages", search), model, route: 1 };
  assertEquals(refused(asking).slice(0, 3), ["invalid_request", 400, "tools.1"]);
  const plainCall = start({ ...asking, text: text("messages", '"service_tier":"auto"') });
  assert(plainCall.ok);
});

Deno.test("a model that is no chat model has nothing to allow", () => {
  const built = buildCatalog(gatewayFileSchema.parse({
    defaultModel: "i",
    providers: { p: { kind: "sandbox" } },
    models: [{
      id: "i",
      kind: "image",
      family: "f",
      price: { unit: "image", vnd: 1 },
      routes: [{ provider: "p", allow: ["web_search"] }],
    }],
  }));
  assert(!built.ok && built.problems.some((problem) => problem.includes('"allow"')));
  const route = { provider: "p", allow: ["websearch"] };
  assert(!gatewayFileSchema.shape.models.element.shape.routes.safeParse([route]).success);
});

Deno.test("a hosted tool goes to a route of another style that allows it, in that style's words", () => {
  const asked = text("responses", '"tools":[{"type":"web_search"}]');
  const model = modelWith({ style: "messages", allow: ["web_search"] });
  const result = start({ style: "responses", text: asked, model });
  assert(result.ok);
  assertEquals(result.dropped, []);
  const sent: JsonObject = JSON.parse(result.text);
  assertEquals(sent["tools"], [{ type: "web_search_20250305", name: "web_search" }]);
});

Deno.test("beside functions a hosted tool is left out of a route that does not allow it, unless another does", () => {
  const own = '{"type":"function","name":"f","parameters":{"type":"object","properties":{}}}';
  const asked = { text: text("responses", `"tools":[${own},{"type":"web_search"}]`) };
  const only = start({ ...asked, style: "responses", model: modelWith({ style: "messages" }) });
  assert(only.ok);
  assertEquals(only.dropped, ["tools.1"]);
  const model = modelWith({ style: "messages" }, { style: "messages", allow: ["web_search"] });
  const [code, , param] = refused({ ...asked, style: "responses", model });
  assertEquals([code, param], ["feature_unavailable", "tools.1"]);
  const other = start({ ...asked, style: "responses", model, route: 1 });
  assert(other.ok && other.dropped.length === 0 && other.text.includes("web_search_20250305"));
});

Deno.test("MCP servers of a converted request come with the beta that their vendor asks for", () => {
  const server =
    '{"type":"mcp","server_label":"s","server_url":"https://mcp.example","require_approval":"never"}';
  const result = start({
    style: "responses",
    text: text("responses", `"tools":[${server}]`),
    model: modelWith({ style: "messages", allow: ["mcp"] }),
    headers: { "anthropic-beta": "a-1" },
  });
  assert(result.ok);
  assertEquals(result.header("anthropic-beta"), "a-1,mcp-client-2025-11-20");
});
