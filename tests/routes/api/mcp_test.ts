/** MCP servers of requests for models without a connector: the gateway lists their tools, calls them, and tells all. */
import { assert, assertEquals } from "../../support/assert.ts";
import Anthropic from "@anthropic-ai/sdk";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import OpenAI from "openai";
import { z } from "zod";
import type { JsonObject } from "../../../core/lib/json/json.ts";
import type { Style } from "../../../core/wire/contract/contract.ts";
import { answerFrames } from "../../../core/wire/stream/answer_frames.ts";
import { setCallSettings } from "../../../kv/people/organisations/call_settings.ts";
import { verifyStore } from "../../../kv/services/verify/verify_books.ts";
import * as fc from "../../support/property.ts";
import { answerOf, calling, streamOf, styleOf } from "../../support/hosted_answers.ts";
import { until } from "../../support/until.ts";
import { mockProvider, openMediaWorld, type SeenRequest } from "./gateway/media_world.ts";

const host = "mcp.example";
const url = `https://${host}/mcp`;
const token = "token-of-the-client-1234567890";
const styles = ["messages", "chat", "responses", "gemini"] as const;

/** The official server, with a session for each client. */
function officialServer(ran: string[]) {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const seen: Request[] = [];
  const connect = async () => {
    const server = new McpServer({ name: "weather", version: "1.0.0" });
    server.registerTool("weather", {
      description: "The weather of a city.",
      inputSchema: { city: z.string() },
      annotations: { readOnlyHint: true },
    }, ({ city }: { city: string }) => {
      ran.push(`weather ${city}`);
      return { content: [{ type: "text", text: `It rains in ${city}.` }] };
    });
    server.registerTool("plant", {
      description: "Plants trees.",
      inputSchema: { trees: z.number() },
    }, ({ trees }: { trees: number }) => {
      ran.push(`plant ${trees}`);
      if (trees > 100) throw new Error("There is no room for so many.");
      return { content: [{ type: "text", text: `Planted ${trees}.` }] };
    });
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => crypto.randomUUID(),
      onsessioninitialized: (id: string) => void sessions.set(id, transport),
      onsessionclosed: (id: string) => void sessions.delete(id),
    });
    await server.connect(transport);
    return transport;
  };
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    seen.push(request);
    const id = request.headers.get("mcp-session-id");
    const transport = id === null ? await connect() : sessions.get(id);
    if (transport === undefined) return new Response(null, { status: 404 });
    return await transport.handleRequest(request);
  });
  return { port: server.addr.port, seen, sessions, [Symbol.asyncDispose]: () => server.shutdown() };
}

type Plan = (style: Style, request: SeenRequest) => JsonObject | "fails" | undefined;

/** A gateway with a model for each style of providers, which says what the plan wants. */
async function openWorld(
  mcpPort: number,
  { mcpTools = "on", vision = false, ...facts }: {
    readonly allow?: string[];
    readonly mcpTools?: "on" | "off";
    readonly vision?: boolean;
    readonly capabilities?: JsonObject;
  } = {},
  routes = 1,
) {
  let plan: Plan = () => undefined;
  const provider = mockProvider((request) => {
    const style = styleOf(request.path);
    const isStream = /streamGenerate/.test(request.path) || request.json()["stream"] === true;
    const planned = plan(style, request);
    if (planned === "fails") return Response.json({ error: { message: "no" } }, { status: 500 });
    if (!isStream) return Response.json(planned ?? answerOf(style, {}));
    const frames = planned === undefined ? streamOf(style, {}) : answerFrames(style, planned);
    return new Response(frames, { headers: { "content-type": "text/event-stream" } });
  });
  const world = await openMediaWorld({
    providers: { p: provider.port },
    names: { [host]: mcpPort },
    more: { mcpTools, webSearchModel: "searcher" },
    models: [
      {
        id: "searcher",
        kind: "chat",
        family: "test",
        price: { unit: "token", vndPerMtok: 1_000 },
        aliases: [],
        routes: [{ provider: "p", style: "messages", model: "searcher", allow: ["web_search"] }],
      },
      ...styles.map((style) => ({
        id: `plain-${style}`,
        kind: "chat",
        family: "test",
        price: { unit: "token", vndPerMtok: 1_000 },
        aliases: [],
        vision,
        routes: Array.from({ length: routes }, (_, i) => (
          { provider: "p", style, model: i === 0 ? "vendor" : `vendor-${i}`, ...facts }
        )),
      })),
    ],
  });
  const fetch = (input: string | URL | Request, init: RequestInit = {}) =>
    world.send(new URL(input instanceof Request ? input.url : input).pathname, init);
  return {
    world,
    provider,
    plan(next: Plan) {
      plan = next;
    },
    openai: new OpenAI({ apiKey: world.key, baseURL: "http://gateway/v1", fetch, maxRetries: 0 }),
    anthropic: new Anthropic({
      apiKey: world.key,
      baseURL: "http://gateway",
      fetch,
      maxRetries: 0,
    }),
    async [Symbol.asyncDispose]() {
      const verified = await verifyStore(world.gateway.kv);
      assert(verified.ok, JSON.stringify(verified.problems));
      await world[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

/** Has the model call these functions first, and answer then. */
function callsOnce(world: { plan: (plan: Plan) => void }, calls: readonly [string, JsonObject][]) {
  let rounds = 0;
  world.plan((style) => rounds++ === 0 ? calling(style, calls) : undefined);
}

const never = {
  type: "mcp",
  server_label: "weather",
  server_url: url,
  authorization: token,
  require_approval: "never",
} as const;

Deno.test("OpenAI's client: tools of a server are listed, called and shown, whole and streamed, on every style", async () => {
  const ran: string[] = [];
  await using mcp = officialServer(ran);
  await using world = await openWorld(mcp.port);
  for (const target of styles) {
    for (const stream of [false, true]) {
      const name = `${target} ${stream}`;
      ran.length = 0;
      callsOnce(world, [["weather", { city: "Hanoi" }]]);
      const body = { model: `plain-${target}`, input: "Does it rain?", tools: [never] };
      const types: string[] = [];
      let response: OpenAI.Responses.Response;
      if (stream) {
        const events = world.openai.responses.stream(body);
        for await (const { type } of events) types.push(type);
        response = await events.finalResponse();
      } else response = await world.openai.responses.create(body);
      assertEquals(ran, ["weather Hanoi"], name);
      const kinds = response.output.map(({ type }) => type);
      assertEquals(kinds, ["mcp_list_tools", "message", "mcp_call", "message"], name);
      const [list, , call] = response.output;
      assert(list?.type === "mcp_list_tools" && call?.type === "mcp_call");
      assertEquals(list.tools.map((tool) => tool.name), ["weather", "plant"]);
      assertEquals(
        [call.name, call.arguments, call.output, call.error, call.server_label],
        ["weather", '{"city":"Hanoi"}', "It rains in Hanoi.", null, "weather"],
        name,
      );
      assert(response.output_text.endsWith("Hanoi is the capital."), name);
      assert(!JSON.stringify(response).includes(token), name);
      if (stream) {
        for (
          const type of [
            "response.mcp_list_tools.completed",
            "response.mcp_call.in_progress",
            "response.mcp_call_arguments.done",
            "response.mcp_call.completed",
          ]
        ) assert(types.includes(type), `${name}: no ${type}`);
      }
    }
  }
  assert(mcp.seen.every(({ headers }) => headers.get("authorization") === `Bearer ${token}`));
  for (const { body } of world.provider.seen) {
    assert(!new TextDecoder().decode(body).includes(token));
  }
});

Deno.test("Anthropic's client: mcp_servers and their toolset, whole and streamed, on every style", async () => {
  const ran: string[] = [];
  await using mcp = officialServer(ran);
  await using world = await openWorld(mcp.port);
  for (const target of styles) {
    for (const stream of [false, true]) {
      const name = `${target} ${stream}`;
      ran.length = 0;
      callsOnce(world, [["plant", { trees: 3 }], ["plant", { trees: 300 }]]);
      const body: Anthropic.Beta.MessageCreateParamsNonStreaming = {
        model: `plain-${target}`,
        max_tokens: 1_000,
        messages: [{ role: "user", content: "Plant three trees." }],
        mcp_servers: [{ type: "url", url, name: "weather", authorization_token: token }],
        tools: [{
          type: "mcp_toolset",
          mcp_server_name: "weather",
          default_config: { enabled: false },
          configs: { plant: { enabled: true } },
        }],
        betas: ["mcp-client-2025-11-20"],
      };
      const message = stream
        ? await world.anthropic.beta.messages.stream(body).finalMessage()
        : await world.anthropic.beta.messages.create(body);
      assertEquals(ran, ["plant 3", "plant 300"], name);
      assertEquals(message.content.map(({ type }) => type), [
        "text",
        "mcp_tool_use",
        "mcp_tool_result",
        "mcp_tool_use",
        "mcp_tool_result",
        "text",
      ], name);
      const [, use, result, , failed] = message.content;
      assert(use?.type === "mcp_tool_use" && result?.type === "mcp_tool_result", name);
      assert(failed?.type === "mcp_tool_result", name);
      assertEquals([use.name, use.server_name, use.input], ["plant", "weather", { trees: 3 }]);
      assertEquals([result.tool_use_id, result.is_error, failed.is_error], [use.id, false, true]);
      assert(JSON.stringify(failed.content).includes("no room"), name);
      assertEquals(message.stop_reason, "end_turn", name);
      assertEquals(message.usage.server_tool_use ?? null, null, name);
      // The next turn has the calls as those of a function.
      let history = "";
      world.plan((_, request) => {
        history = new TextDecoder().decode(request.body);
        return undefined;
      });
      await world.anthropic.beta.messages.create({
        ...body,
        messages: [
          ...body.messages,
          { role: "assistant", content: message.content },
          { role: "user", content: "And now?" },
        ],
      });
      assert(history.includes("Planted 3.") && history.includes('"plant"'), `${name}: ${history}`);
      assert(!/mcp_|weather__|"weather"/.test(history), `${name}: ${history}`);
    }
  }
});

Deno.test("a call that needs approval ends the turn, runs once when it is approved, and never when it is not", async () => {
  const ran: string[] = [];
  await using mcp = officialServer(ran);
  await using world = await openWorld(mcp.port);
  for (const target of styles) {
    for (const stream of [false, true]) {
      for (const approve of [true, false]) {
        const name = `${target} ${stream} ${approve}`;
        ran.length = 0;
        const body = {
          model: `plain-${target}`,
          tools: [{ ...never, require_approval: { never: { read_only: true } } }],
        };
        const ask = async (input: OpenAI.Responses.ResponseInput) =>
          stream
            ? await world.openai.responses.stream({ ...body, input }).finalResponse()
            : await world.openai.responses.create({ ...body, input });
        const question = { role: "user" as const, content: "Plant, if it rains." };
        callsOnce(world, [["weather", { city: "Hue" }], ["plant", { trees: 2 }]]);
        const first = await ask([question]);
        assertEquals(ran, ["weather Hue"], name);
        const kinds = first.output.map(({ type }) => type);
        assertEquals(
          kinds,
          ["mcp_list_tools", "message", "mcp_call", "mcp_approval_request"],
          name,
        );
        assertEquals(first.status, "completed", name);
        const asked = first.output.at(-1);
        assert(asked?.type === "mcp_approval_request");
        assertEquals([asked.name, asked.arguments], ["plant", '{"trees":2}'], name);
        let history = "";
        world.plan((_, request) => {
          history = new TextDecoder().decode(request.body);
          return undefined;
        });
        const posts = () => mcp.seen.filter(({ method }) => method === "POST").length;
        const listed = posts();
        const input = [
          question,
          ...first.output,
          { type: "mcp_approval_response" as const, approval_request_id: asked.id, approve },
        ] as OpenAI.Responses.ResponseInput;
        const second = await ask(input);
        assertEquals(ran, ["weather Hue", ...(approve ? ["plant 2"] : [])], name);
        assertEquals(
          second.output.map(({ type }) => type),
          approve ? ["mcp_call", "message"] : ["message"],
          name,
        );
        assert(history.includes(approve ? "Planted 2." : "does not allow"), `${name}: ${history}`);
        if (!approve) assertEquals(posts(), listed, "the listing of the input is used");
        else {
          const [call] = second.output;
          assert(call?.type === "mcp_call" && call.approval_request_id === asked.id, name);
        }
        await ask([...input, ...second.output as OpenAI.Responses.ResponseInput, question]);
        assertEquals(ran.length, approve ? 2 : 1, `${name}: a call ran again`);
      }
    }
  }
});

/** Faults of a server while it lists, after which the call ends, and in a call of a tool, which the model is told. */
const listFaults = [
  "status",
  "garbage",
  "redirect",
  "no list",
  "breaks",
  "too long",
  "too many",
] as const;
const callFaults = [
  "status",
  "garbage",
  "redirect",
  "refuses",
  "fails",
  "breaks",
  "too long",
] as const;

interface ServerPlan {
  readonly tools: readonly string[];
  readonly asEvents: boolean;
  readonly onList: typeof listFaults[number] | undefined;
  /** Of the tools by their place. */
  readonly onCall: readonly (typeof callFaults[number] | undefined)[];
  /** Before which call the session is lost. */
  readonly losesAt: number;
}

/** A server that does what its plan says. */
function plannedServer() {
  const ran: string[] = [];
  let plan: ServerPlan = { tools: [], asEvents: false, onList: undefined, onCall: [], losesAt: -1 };
  let session = 0;
  let isLost = false;
  const faulty = (fault: string | undefined): Response | undefined => {
    const headers = { "content-type": "application/json" };
    switch (fault) {
      case "status":
        return new Response("no", { status: 500 });
      case "garbage":
        return new Response("{]", { headers });
      case "redirect":
        return new Response(null, {
          status: 307,
          headers: { location: "http://127.0.0.1/inside" },
        });
      case "breaks":
        return new Response(
          new ReadableStream({
            pull(controller) {
              controller.enqueue(new TextEncoder().encode('{"jsonrpc":"2.0",'));
              controller.error(new Error("broken on purpose"));
            },
          }),
          { headers },
        );
      default:
        return undefined;
    }
  };
  const resultOf = (name: string, fault: string | undefined): JsonObject => ({
    content: [{ type: "text", text: fault === "too long" ? "x".repeat(200_000) : `${name} ran.` }],
    isError: fault === "fails",
  });
  const listOf = (fault: string | undefined): JsonObject => {
    const names = fault === "too many"
      ? Array.from({ length: 129 }, (_, i) => `tool${i}`)
      : plan.tools;
    const description = fault === "too long" ? "x".repeat(2 ** 20) : "A tool.";
    return fault === "no list" ? {} : {
      tools: names.map((name): JsonObject => ({
        name,
        description,
        inputSchema: { type: "object" },
      })),
    };
  };
  const server = mockProvider((request) => {
    if (request.method === "DELETE") return new Response(null, { status: 200 });
    const { id, method, params } = request.json() as {
      id?: number;
      method: string;
      params: { name: string };
    };
    const given = request.headers.get("mcp-session-id");
    if (method === "initialize") session++;
    else if (given !== `s${session}`) return new Response(null, { status: 404 });
    if (id === undefined) return new Response(null, { status: 202 });
    let result: JsonObject;
    let fault: string | undefined;
    if (method === "initialize") {
      result = { protocolVersion: "2025-06-18", capabilities: {}, serverInfo: {} };
    } else if (method === "tools/list") {
      fault = plan.onList;
      result = listOf(fault);
    } else {
      if (ran.length === plan.losesAt && !isLost) {
        isLost = true;
        session++;
        return new Response(null, { status: 404 });
      }
      ran.push(params.name);
      fault = plan.onCall[plan.tools.indexOf(params.name)];
      result = resultOf(params.name, fault);
    }
    const answered = faulty(fault);
    if (answered !== undefined) return answered;
    const message = fault === "refuses"
      ? { jsonrpc: "2.0", id, error: { code: -32602, message: "Not with these arguments." } }
      : { jsonrpc: "2.0", id, result };
    const headers = { "mcp-session-id": `s${session}` };
    if (!plan.asEvents) return Response.json(message, { headers });
    const progress = { jsonrpc: "2.0", method: "notifications/progress", params: {} };
    return new Response(
      `: hi\n\ndata: ${JSON.stringify(progress)}\n\nevent: message\ndata: ${
        JSON.stringify(message)
      }\n\n`,
      { headers: { ...headers, "content-type": "text/event-stream" } },
    );
  });
  return {
    ran,
    server,
    plan(next: ServerPlan) {
      plan = next;
      ran.length = 0;
      isLost = false;
    },
  };
}

const toolNames = ["read", "write.file", "send-mail"] as const;

const anyCase = fc.record({
  asEvents: fc.boolean(),
  onList: fc.oneof(
    { weight: 4, arbitrary: fc.constant(undefined) },
    fc.constantFrom(...listFaults),
  ),
  onCall: fc.array(fc.option(fc.constantFrom(...callFaults), { nil: undefined }), {
    minLength: 3,
    maxLength: 3,
  }),
  losesAt: fc.integer({ min: -1, max: 3 }),
  calls: fc.array(fc.constantFrom(...toolNames), { minLength: 1, maxLength: 4 }),
  approval: fc.constantFrom("always", "never", "some"),
  isMessages: fc.boolean(),
  maxCalls: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
  target: fc.constantFrom(...styles),
  stream: fc.boolean(),
});

Deno.test("random tools, approvals and faults: what runs, what is shown, what is charged and recorded", async () => {
  const mcp = plannedServer();
  await using world = await openWorld(mcp.server.port);
  const roundMicroVnd = 30_000;
  let spentMicroVnd = 0;
  await fc.assert(
    fc.asyncProperty(anyCase, async (drawn) => {
      const { calls, approval, isMessages, target, stream, onList, onCall } = drawn;
      mcp.plan({ ...drawn, tools: toolNames });
      callsOnce(world, calls.map((name) => [name, {}]));
      const asked = world.provider.seen.length;
      const maxCalls = isMessages ? 10 : drawn.maxCalls ?? 10;
      const waits = (name: string) =>
        !isMessages && (approval === "always" || (approval === "some" && name !== "read"));
      const shown = calls.slice(0, maxCalls);
      const ran = shown.filter((name) => !waits(name));
      const model = `plain-${target}`;
      const body = isMessages
        ? {
          model,
          stream,
          max_tokens: 1_000,
          messages: [{ role: "user", content: "Go." }],
          mcp_servers: [{ type: "url", url, name: "weather", authorization_token: token }],
          tools: [{ type: "mcp_toolset", mcp_server_name: "weather" }],
        }
        : {
          model,
          stream,
          input: "Go.",
          ...(drawn.maxCalls !== undefined && { max_tool_calls: drawn.maxCalls }),
          tools: [{
            ...never,
            require_approval: approval === "some" ? { never: { tool_names: ["read"] } } : approval,
          }],
        };
      const response = await world.world.post(isMessages ? "/v1/messages" : "/v1/responses", body);
      const text = await response.text();
      const receipt = await world.world.receiptOf(response);
      assert(!text.includes(token), "the token is told");
      if (onList !== undefined) {
        assertEquals(response.status, 424, text);
        assert(text.includes("the MCP server"), text);
        assertEquals([mcp.ran.length, world.provider.seen.length - asked], [0, 0]);
        assertEquals(receipt?.costMicroVnd ?? 0n, 0n);
      } else {
        assertEquals(response.status, 200, text);
        assertEquals(mcp.ran, ran);
        const isWaiting = shown.length > ran.length;
        const rounds = isWaiting ? 1 : 2;
        assertEquals(world.provider.seen.length - asked, rounds, text);
        spentMicroVnd += rounds * roundMicroVnd;
        assertEquals(receipt?.costMicroVnd, BigInt(rounds * roundMicroVnd));
        assertEquals(
          receipt?.mcpCalls?.map(({ server, tool, failed }) => [server, tool, failed]) ?? [],
          ran.map((name) => [host, name, onCall[toolNames.indexOf(name)] !== undefined]),
        );
        const waiting = text.split('"type":"mcp_approval_request"').length - 1;
        // A stream has an item three times: begun, done, and in the whole answer.
        assertEquals(waiting, (stream ? 3 : 1) * (shown.length - ran.length), text);
        assert(isWaiting === !text.includes("is the capital."), text);
      }
      assertEquals(await world.world.balanceVnd(), 1_000_000 - spentMicroVnd / 1e6);
    }),
    { numRuns: 90 },
  );
  await mcp.server[Symbol.asyncDispose]();
});

const asks = (tool: object = never) => ({ model: "plain-chat", input: "Go.", tools: [tool] });

Deno.test("addresses inside the network, plain HTTP and foreign connectors are refused, and cost nothing", async () => {
  const mcp = plannedServer();
  await using world = await openWorld(mcp.server.port);
  const cases: [tool: object, status: number, words: string][] = [
    [{ ...never, server_url: "https://127.0.0.1/mcp" }, 400, "public address"],
    [{ ...never, server_url: "https://inside.example/mcp" }, 400, "public address"],
    [{ ...never, server_url: `http://${host}/mcp` }, 400, "https://"],
    [{ ...never, server_url: `https://u:p@${host}/mcp` }, 400, "user name"],
    [
      { ...never, server_url: undefined, connector_id: "connector_gmail" },
      400,
      "tools.0.connector_id",
    ],
    [{ ...never, headers: { Host: "other.example" } }, 400, "tools.0.headers"],
    [{ ...never, headers: { "X-A": "a\r\nX-B: b" } }, 400, "tools.0.headers"],
    [{ ...never, require_approval: "sometimes" }, 400, "tools.0.require_approval"],
  ];
  for (const [tool, status, words] of cases) {
    const response = await world.world.post("/v1/responses", asks(tool));
    const text = await response.text();
    assertEquals(response.status, status, text);
    assert(text.includes(words), text);
  }
  const response = await world.world.post("/v1/responses", {
    ...asks(),
    input: [{ type: "mcp_approval_response", approval_request_id: "mcpr_x", approve: true }],
  });
  assertEquals(response.status, 400, await response.text());
  assertEquals([mcp.server.seen.length, world.provider.seen.length], [0, 0]);
  assertEquals(await world.world.balanceVnd(), 1_000_000);
  await mcp.server[Symbol.asyncDispose]();
});

Deno.test("a provider with a connector gets the bytes as they are; the operator and the organisation may forbid it", async () => {
  const mcp = plannedServer();
  {
    await using world = await openWorld(mcp.server.port, { allow: ["mcp"] });
    const body = { ...asks(), model: "plain-responses" };
    const response = await world.world.post("/v1/responses", body);
    assertEquals(response.status, 200, await response.text());
    assertEquals(world.provider.seen.at(-1)?.json(), { ...body, model: "vendor", store: false });
  }
  {
    await using world = await openWorld(mcp.server.port, { mcpTools: "off" });
    const response = await world.world.post("/v1/responses", {
      ...asks(),
      model: "plain-responses",
    });
    const text = await response.text();
    assertEquals(response.status, 400, text);
    assert(text.includes("does not offer it"), text);
  }
  {
    await using world = await openWorld(mcp.server.port);
    const { gateway, accountId } = world.world;
    for (
      const [mcpServers, status] of [[["other.example"], 403], [[], 403], [[host], 200]] as const
    ) {
      const change = { calls: { mcpServers }, nowMs: gateway.clock.nowMs() };
      await setCallSettings(gateway.kv, accountId, { teamId: undefined, ...change });
      await gateway.control.refresh();
      const response = await world.world.post("/v1/responses", asks());
      const text = await response.text();
      assertEquals(response.status, status, text);
      if (status === 403) assert(text.includes(host), text);
    }
  }
  await mcp.server[Symbol.asyncDispose]();
});

Deno.test("a model that fails after tools have run is not asked on another route, which would run them again", async () => {
  const mcp = plannedServer();
  mcp.plan({ tools: ["read"], asEvents: false, onList: undefined, onCall: [], losesAt: -1 });
  await using world = await openWorld(mcp.server.port, {}, 2);
  for (const stream of [false, true]) {
    const asked = world.provider.seen.length;
    mcp.ran.length = 0;
    let rounds = 0;
    world.plan((style) => rounds++ === 0 ? calling(style, [["read", {}]]) : "fails");
    const response = await world.world.post("/v1/responses", { ...asks(), stream });
    const text = await response.text();
    assertEquals(mcp.ran, ["read"], text);
    assertEquals(response.status, stream ? 200 : 424, text);
    assertEquals(world.provider.seen.length - asked, 2, text);
    const receipt = await world.world.receiptOf(response);
    assertEquals(receipt?.mcpCalls?.length, 1);
    assertEquals(receipt?.outcome, stream ? "broken" : "failed");
    if (!stream) assertEquals(receipt?.costMicroVnd, 0n);
    else assert(text.includes("response.failed"), text);
  }
  await mcp.server[Symbol.asyncDispose]();
});

Deno.test("a client that leaves during a call ends it; the tokens so far are charged", async () => {
  const ended = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const mcp = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    if (request.method === "DELETE") return new Response();
    const { id, method } = await request.json();
    if (id === undefined) return new Response(null, { status: 202 });
    if (method === "tools/call") {
      begun.resolve();
      return new Response(new ReadableStream({ cancel: () => ended.resolve() }));
    }
    const result = method === "initialize"
      ? { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: {} }
      : { tools: [{ name: "read", inputSchema: { type: "object" } }] };
    return Response.json({ jsonrpc: "2.0", id, result });
  });
  await using world = await openWorld(mcp.addr.port);
  callsOnce(world, [["read", {}]]);
  const leaving = new AbortController();
  const response = await world.world.send("/v1/responses", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ ...asks(), stream: true }),
    signal: leaving.signal,
  });
  const reader = response.body!.getReader();
  await reader.read();
  await begun.promise;
  leaving.abort();
  await reader.cancel().catch(() => {});
  await ended.promise;
  await until(async () => (await world.world.receiptOf(response)) !== null, "receipt");
  const receipt = await world.world.receiptOf(response);
  assertEquals(receipt?.outcome, "client_gone");
  assert((receipt?.costMicroVnd ?? 0n) > 0n);
  await mcp.shutdown();
});

Deno.test("an approval by previous_response_id runs the call, whose request the gateway kept", async () => {
  const ran: string[] = [];
  await using mcp = officialServer(ran);
  await using world = await openWorld(mcp.port);
  callsOnce(world, [["plant", { trees: 4 }]]);
  const body = { model: "plain-chat", tools: [{ ...never, require_approval: "always" as const }] };
  const first = await world.openai.responses.create({ ...body, input: "Plant four." });
  const asked = first.output.at(-1);
  assert(asked?.type === "mcp_approval_request");
  const second = await world.openai.responses.create({
    ...body,
    previous_response_id: first.id,
    input: [{ type: "mcp_approval_response", approval_request_id: asked.id, approve: true }],
  });
  assertEquals(ran, ["plant 4"]);
  assertEquals(second.output.map(({ type }) => type), ["mcp_call", "message"]);
});

Deno.test("a model searches the web and calls a server in one answer", async () => {
  const ran: string[] = [];
  await using mcp = officialServer(ran);
  await using world = await openWorld(mcp.port);
  for (const target of styles) {
    let rounds = 0;
    world.plan((style, { json }) => {
      if (json()["model"] === "searcher") return answerOf(style, { searches: 1 });
      const calls: [string, JsonObject][] = [["weather", { city: "Hue" }], ["web_search", {
        query: "q",
      }]];
      return rounds++ === 0 ? calling(style, calls) : undefined;
    });
    const { output } = await world.openai.responses.create({
      model: `plain-${target}`,
      input: "Go.",
      tools: [never, { type: "web_search" }],
    });
    assertEquals(output.map(({ type }) => type), [
      "mcp_list_tools",
      "message",
      "mcp_call",
      "web_search_call",
      "message",
    ], target);
  }
  assertEquals(ran.length, styles.length);
});

/** Parts of a result: what the server sends, what a text says of it, and whether a model with eyes sees it. */
const media = {
  text: { part: { type: "text", text: "Read this." }, said: "Read this." },
  image: {
    part: { type: "image", mimeType: "image/PNG", data: "aW1hZ2U=" },
    said: "[image image/PNG]",
    seen: "aW1hZ2U=",
  },
  imageFile: {
    part: {
      type: "resource",
      resource: { uri: "file:///a", mimeType: "image/gif", blob: "ZmlsZQ==" },
    },
    said: "[resource file:///a image/gif]",
    seen: "ZmlsZQ==",
  },
  broken: {
    part: { type: "image", mimeType: "image/png", data: "no base64!" },
    said: "[image image/png]",
  },
  sound: {
    part: { type: "audio", mimeType: "audio/wav", data: "c291bmQ=" },
    said: "[audio audio/wav]",
  },
  file: {
    part: {
      type: "resource",
      resource: { uri: "file:///b", mimeType: "application/pdf", blob: "cGRm" },
    },
    said: "[resource file:///b application/pdf]",
  },
  textFile: {
    part: { type: "resource", resource: { uri: "file:///c", text: "A file." } },
    said: "A file.",
  },
} as const;

Deno.test("images of results reach the models that see, and of all other media model and client are told", async () => {
  let content: readonly JsonObject[] = [];
  const server = mockProvider((request) => {
    if (request.method === "DELETE") return new Response();
    const { id, method } = request.json();
    if (id === undefined) return new Response(null, { status: 202 });
    const result = method === "initialize"
      ? { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: {} }
      : method === "tools/list"
      ? { tools: [{ name: "look", inputSchema: { type: "object" } }] }
      : { content };
    return Response.json({ jsonrpc: "2.0", id, result });
  });
  {
    await using world = await openWorld(server.port, { vision: true });
    const large = "A".repeat(900_000);
    content = [{ type: "image", mimeType: "image/png", data: large }];
    callsOnce(world, Array.from({ length: 7 }, () => ["look", {}]));
    const response = await world.world.post("/v1/responses", {
      ...asks(),
      model: "plain-messages",
    });
    const text = await response.text();
    const sent = JSON.stringify(world.provider.seen.at(-1)?.json());
    assertEquals([sent.split(large).length - 1, text.split("The model gets no").length - 1], [
      5,
      2,
    ]);
  }
  const kinds = Object.keys(media) as (keyof typeof media)[];
  for (const [vision, images] of [[true, "base64"], [true, "none"], [false, "base64"]] as const) {
    await using world = await openWorld(server.port, { vision, capabilities: { images } });
    const { gateway, accountId } = world.world;
    for (const noImages of [false, true]) {
      const change = { calls: noImages ? { noImages } : {}, nowMs: gateway.clock.nowMs() };
      await setCallSettings(gateway.kv, accountId, { teamId: undefined, ...change });
      await gateway.control.refresh();
      const sees = vision && images !== "none" && !noImages;
      await fc.assert(
        fc.asyncProperty(
          fc.record({
            parts: fc.array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 4 }),
            target: fc.constantFrom(...styles),
            stream: fc.boolean(),
            form: fc.constantFrom("messages", "responses", "approved"),
          }),
          async ({ parts, target, stream, form }) => {
            const drawn = parts.map((kind) => media[kind]);
            content = drawn.map(({ part }) => part);
            callsOnce(world, [["look", {}]]);
            const model = `plain-${target}`;
            const tool = { ...never, require_approval: form === "approved" ? "always" : "never" };
            let input: JsonObject[] = [{ role: "user", content: "Go." }];
            const ask = () =>
              form === "messages"
                ? world.world.post("/v1/messages", {
                  model,
                  stream,
                  max_tokens: 1_000,
                  messages: input,
                  mcp_servers: [{ type: "url", url, name: "weather" }],
                })
                : world.world.post("/v1/responses", { model, stream, input, tools: [tool] });
            if (form === "approved") {
              const { output } = await (await world.world.post("/v1/responses", {
                model,
                input,
                tools: [tool],
              })).json();
              const { id } = output.at(-1);
              input = [
                ...input,
                ...output,
                { type: "mcp_approval_response", approval_request_id: id, approve: true },
              ];
            }
            const response = await ask();
            const text = await response.text();
            assertEquals(response.status, 200, text);
            const sent = JSON.stringify(world.provider.seen.at(-1)?.json());
            let isLost = false;
            for (const one of drawn) {
              const isSeen = sees && "seen" in one;
              isLost ||= "seen" in one ? !sees : /^\[/.test(one.said);
              for (const where of [sent, text]) assert(where.includes(one.said), where);
              if ("seen" in one) assertEquals(sent.includes(one.seen), isSeen, sent);
            }
            assertEquals(sent.includes("[The model gets no "), isLost, sent);
            for (const data of ["aW1hZ2U=", "ZmlsZQ==", "c291bmQ=", "cGRm", "no base64!"]) {
              assert(!text.includes(data), text);
            }
            for (const data of ["c291bmQ=", "cGRm", "no base64!"]) {
              assert(!sent.includes(data), sent);
            }
            const named = (response.headers.get("x-gateway-conversion") ?? "").includes(".result");
            // The headers of a stream are sent before its calls run: its text tells it.
            const isTold = form !== "approved" && stream
              ? text.includes("[The model gets no ")
              : named;
            assertEquals(isTold, isLost, text);
          },
        ),
        { numRuns: 60 },
      );
    }
  }
  await server[Symbol.asyncDispose]();
});
