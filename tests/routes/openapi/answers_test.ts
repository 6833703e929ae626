/** What the gateway answers is what the document says: each member is described, and each required one is sent. */
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { customerOperations, openApiDocument } from "../../../routes/openapi/document.ts";
import { exampleModels } from "../../../routes/openapi/example_models.ts";
import { openCustomerApp } from "../../../routes/server/assembly/customer_app.ts";
import { createApp } from "../../../routes/server/listen/app.ts";
import { gatewayFileOfAllKinds } from "../../openapi/sandbox_models.ts";
import { ref } from "../../../core/lib/json/schemas.ts";
import type { Receipt } from "../../../core/billing/usage/receipt.ts";
import { receiptJson } from "../../../routes/usage_api/receipt_json.ts";
import { newAccount, receiptOf } from "../../support/worlds/money_world.ts";
import { parseId } from "../../../core/lib/ids/ids.ts";
import { refuse } from "../../support/worlds/refused_calls.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { openTestGateway } from "../../support/gateways/gateway_in_process.ts";
import { answerProblems, referredTo } from "./described.ts";

const styles = ["messages", "chat", "responses", "gemini"] as const;

/** Operations whose example needs a file, another server, or whose answer is no JSON. */
const notRun: ReadonlySet<string> = new Set([
  "createTranscription",
  "createTranslation",
  "editImage",
  "createSpeech",
  "streamGenerateContent",
]);

/** The models of all kinds, with one of each style of providers. */
const file = JSON.parse(await gatewayFileOfAllKinds());
for (const style of styles) {
  file.models.push({
    ...file.models[0],
    id: `only-${style}`,
    aliases: [],
    routes: [{ provider: "sandbox", style: [style] }],
  });
}

interface Sent {
  /** Absent: the path of the operation, whose parameters are the examples. */
  readonly path?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The schema of an answer of an operation. */
function schemaOf(document: JsonObject, steps: readonly string[]): JsonObject | undefined {
  let found: JsonObject = document;
  for (const step of steps) {
    const next = referredTo(found, document)[step];
    if (!isJsonObject(next)) return undefined;
    found = next;
  }
  return found;
}

file.models.push({
  ...file.models[0],
  id: "every-price",
  aliases: ["every"],
  price: {
    ...file.models[0].price,
    inputAudioVndPerMtok: 9_000,
    longPrompt: { aboveTokens: 1_000, vndPerMtok: 20_000 },
    serviceTiers: { priority: 2 },
    hostedTools: { web_search: { vndPerUse: 300 }, file_search: { vndPerCall: 60 } },
  },
});

async function openWorld() {
  const gateway = await openTestGateway({ file: () => file });
  const { assembled: { gateway: parts }, masterKeys } = gateway;
  const customerApp = openCustomerApp(parts, {
    masterKeys,
    baseUrl: "http://localhost",
    write: () => {},
  });
  const app = createApp(parts, { stopping: () => false, customerApp });
  const { key, accountId } = await gateway.customer(1_000_000);
  const models = exampleModels(parts.config.catalog);
  const document = openApiDocument({ server: "/", models });
  const operations = customerOperations(models);
  return {
    operations,
    models,
    /** Sends a request to an operation, and returns its answer with what that has against the document. */
    async ask(id: string, { path, body, headers = {} }: Sent = {}) {
      const operation = operations.find((one) => one.id === id);
      assert(operation !== undefined, id);
      const response = await app.fetch(
        new Request(`http://localhost${path ?? operation.path}`, {
          method: operation.method.toUpperCase(),
          headers: { "x-api-key": key, "content-type": "application/json", ...headers },
          body: body === undefined ? null : JSON.stringify(body),
        }),
        { clientAddress: "127.0.0.1" },
      );
      const { status } = response;
      const answer: Json = await response.json();
      const steps = ["paths", operation.path, operation.method, "responses", String(status)];
      const schema = schemaOf(document, [...steps, "content", "application/json", "schema"]);
      const problems = schema === undefined
        ? [`${status} is not described`]
        : answerProblems(answer, schema, document);
      return { status, answer, problems: problems.map((problem) => `${id}: ${problem}`) };
    },
    /** What an object has against a schema of the document. */
    problemsOf: (answer: Json, schema: string) => answerProblems(answer, ref(schema), document),
    /** Writes that a call of a key of the customer was refused. */
    async refuse(key: string) {
      const keyId = parseId("apiKey", key);
      assert(keyId !== undefined);
      await refuse(gateway.kv, { accountId, keyId, atMs: gateway.time.nowMs() + 1 });
    },
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

Deno.test("lists of models, the status and errors are as the document says", async () => {
  await using w = await openWorld();
  const problems: string[] = [];
  const shapes = [{}, { "anthropic-version": "2023-06-01" }, { "x-goog-api-client": "test" }];
  const { chat, ...others } = w.models;
  for (const headers of shapes) {
    const list = await w.ask("listModels", { headers });
    assertEquals(list.status, 200);
    problems.push(...list.problems);
    const chats = [chat, "every-price"];
    const names = "x-goog-api-client" in headers ? chats : [...chats, ...Object.values(others)];
    for (const name of names) {
      const one = await w.ask("getModel", { path: `/v1/models/${name}`, headers });
      assertEquals(one.status, 200, name);
      problems.push(...one.problems);
    }
    const missing = await w.ask("getModel", { path: "/v1/models/no-such-model", headers });
    assertEquals(missing.status, 404);
    problems.push(...missing.problems);
  }
  problems.push(...(await w.ask("getStatus")).problems);
  assertEquals(problems, []);
});

function rowsOf(list: Json): readonly JsonObject[] {
  const rows = isJsonObject(list) ? list["data"] : undefined;
  return Array.isArray(rows) ? rows.filter(isJsonObject) : [];
}

Deno.test("usage, receipts, calls and the balance are as the document says", async () => {
  await using w = await openWorld();
  const message = {
    model: w.models.chat,
    max_tokens: 8,
    messages: [{ role: "user", content: "Hi" }],
  };
  const answered = await w.ask("createChatCompletion", { body: message });
  assertEquals(answered.status, 200);
  const problems: string[] = [];
  for (const group of ["day", "key", "model"]) {
    problems.push(...(await w.ask("getUsage", { path: `/v1/usage?group_by=${group}` })).problems);
  }
  problems.push(...(await w.ask("getUsage", { path: "/v1/usage?group_by=colour" })).problems);
  const receipts = await w.ask("listReceipts");
  const [receipt] = rowsOf(receipts.answer);
  assert(receipt !== undefined);
  await w.refuse(String(receipt["key_id"]));
  const calls = await w.ask("listCalls");
  assertEquals(rowsOf(calls.answer).map(({ object }) => object), ["refused_call", "receipt"]);
  problems.push(...receipts.problems, ...calls.problems);
  problems.push(
    ...(await w.ask("getReceipt", { path: `/v1/receipts/${receipt["request_id"]}` })).problems,
  );
  for (const { request_id: id } of rowsOf(calls.answer)) {
    problems.push(...(await w.ask("getCall", { path: `/v1/calls/${id}` })).problems);
  }
  problems.push(...(await w.ask("getCall", { path: "/v1/calls/none" })).problems);
  problems.push(...(await w.ask("getBalance")).problems);
  problems.push(...(await w.ask("listActivity")).problems);
  const months = await w.ask("listStatements");
  const [month] = rowsOf(months.answer);
  assert(month !== undefined);
  const statement = await w.ask("getStatement", { path: `/v1/statements/${month["month"]}` });
  assertEquals(statement.status, 200);
  problems.push(...months.problems, ...statement.problems);
  assertEquals(problems, []);
});

const hello = [{ role: "user", content: "Hello" }];

/** A call of each style, by the operation that takes it. */
const chats: readonly (readonly [id: string, body: (model: string) => JsonObject])[] = [
  ["createMessage", (model) => ({ model, max_tokens: 64, messages: hello })],
  ["createChatCompletion", (model) => ({ model, max_tokens: 64, messages: hello, n: 1 })],
  ["createResponse", (model) => ({ model, input: "Hello", temperature: 0.5, user: "u" })],
  ["generateContent", () => ({ contents: [{ role: "user", parts: [{ text: "Hello" }] }] })],
];

Deno.test("answers of each chat style are as the document says, whatever the style of the provider", async () => {
  await using w = await openWorld();
  const problems: string[] = [];
  for (const [id, body] of chats) {
    for (const style of styles) {
      const path = id === "generateContent"
        ? { path: `/v1beta/models/only-${style}:generateContent` }
        : {};
      const called = await w.ask(id, { ...path, body: body(`only-${style}`) });
      assertEquals(called.status, 200, `${id} ${style}`);
      // A provider of the caller's style may add members of its vendor.
      const isNative = id === chats[styles.indexOf(style)]?.[0];
      const own = called.problems.filter((one) => !isNative || !one.endsWith("not described"));
      problems.push(...own.map((problem) => `${style}: ${problem}`));
    }
  }
  assertEquals(problems, []);
});

Deno.test("counts of tokens and every other answer of an example are as the document says", async () => {
  await using w = await openWorld();
  const problems: string[] = [];
  const answered: string[] = [];
  const withApiKey = w.operations.filter(({ managementKey, tag }) =>
    managementKey !== "only" && tag !== "Applications"
  );
  for (const { id, body, path, parameters = [] } of withApiKey) {
    if (body === undefined || notRun.has(id) || chats.some(([chat]) => chat === id)) continue;
    const model = parameters.find(({ name }) => name === "model")?.example ?? "";
    const called = await w.ask(id, { path: path.replace("{model}", model), body: body.example });
    assertEquals(called.status, 200, id);
    problems.push(...called.problems);
    answered.push(id);
  }
  assert(answered.length > 8, answered.join());
  const videos = await w.ask("listVideos");
  problems.push(...videos.problems);
  const path = `/v1/videos/${rowsOf(videos.answer)[0]?.["id"]}`;
  for (const id of ["getVideo", "deleteVideo"]) {
    const called = await w.ask(id, { path });
    assertEquals(called.status, 200, id);
    problems.push(...called.problems);
  }
  assertEquals(problems, []);
});

Deno.test("receipts of failed calls, cut streams, hosted tools and other units are as the document says", async () => {
  await using w = await openWorld();
  const receipt = receiptOf(newAccount());
  const changes: readonly Partial<Receipt>[] = [
    { outcome: "failed", status: 502, attempts: [{ route: "r", outcome: "x", ms: 3 }] },
    { endCode: "call_timeout" },
    { toolCharges: [{ tool: "web_search", uses: 2, perUseMicroVnd: 1_500_000n }] },
    { price: { unit: "image", perUnitMicroVnd: 5n }, region: "vn", mappedFrom: "other" },
  ];
  for (const change of [{}, ...changes]) {
    const answer = receiptJson({
      receipt: { ...receipt, ...change },
      refund: undefined,
      keyName: "server",
    });
    assertEquals(w.problemsOf(answer, "Receipt"), [], Object.keys(change).join());
  }
});
