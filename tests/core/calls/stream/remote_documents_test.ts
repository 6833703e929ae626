import { assertEquals, assertRejects } from "../../../support/assert.ts";
import { ByteBudget } from "../../../../core/lib/bytes/byte_budget.ts";
import { readChatRequest } from "../../../../core/calls/request/chat_request.ts";
import { RemoteDocuments } from "../../../../core/calls/request/remote_documents.ts";
import { buildCatalog, type Route } from "../../../../core/catalog/catalog.ts";
import { gatewayFileSchema } from "../../../../core/catalog/schema.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";

const document = (url: string) => ({ type: "document", source: { type: "url", url } });
const body: JsonObject = {
  model: "m",
  max_tokens: 10,
  messages: [{ role: "user", content: [document("https://a/1"), document("https://a/2")] }],
};
const request = readChatRequest("messages", body);

function routeOf(style: string, capabilities: JsonObject = {}): Route {
  const built = buildCatalog(gatewayFileSchema.parse({
    defaultModel: "m",
    providers: { p: { kind: "sandbox" } },
    models: [{
      id: "m",
      kind: "chat",
      family: "f",
      contextWindow: 1000,
      maxOutputTokens: 100,
      price: { unit: "token", vndPerMtok: 1 },
      routes: [{ provider: "p", style, facts: capabilities }],
    }],
  }));
  if (!built.ok) throw new Error(built.problems.join());
  return built.catalog.models[0]!.routes[0]!;
}

function world() {
  const budget = new ByteBudget({ total: 1000, perOwner: 1000 });
  const waiting = new Map<string, PromiseWithResolvers<Uint8Array<ArrayBuffer>>>();
  const documents = new RemoteDocuments(request, { value: body }, async (url, { counter }) => {
    const file = Promise.withResolvers<Uint8Array<ArrayBuffer>>();
    waiting.set(url, file);
    const bytes = await file.promise;
    counter.take(bytes.length);
    return { mediaType: "application/pdf", bytes };
  }, budget.open("acc"));
  return { budget, waiting, documents };
}

Deno.test("only routes that take documents as data get them fetched", () => {
  const { documents, waiting } = world();
  const none = [
    routeOf("messages"),
    routeOf("responses"),
    routeOf("chat", { files: false }),
  ];
  for (const route of none) assertEquals(documents.for(route), undefined);
  assertEquals(waiting.size, 0);
});

Deno.test("what is fetched is held until the call is over, also what comes after it was given up", async () => {
  const { budget, waiting, documents } = world();
  const fetching = documents.for(routeOf("chat"));
  const [first, second] = [waiting.get("https://a/1")!, waiting.get("https://a/2")!];
  first.resolve(new Uint8Array(30));
  await Promise.resolve();
  documents.release();
  second.resolve(new Uint8Array(30));
  const fetched = await fetching;
  assertEquals(fetched?.get("https://a/2", "document")?.base64.length, 40);
  await Promise.resolve();
  assertEquals(budget.usedBytes, 0);
});

Deno.test("a failure is the caller's, holds nothing, and is not repeated for the next route", async () => {
  const { budget, waiting, documents } = world();
  const route = routeOf("chat");
  const fetching = documents.for(route)!;
  waiting.get("https://a/1")!.reject(new GatewayError("invalid_request", "no"));
  await assertRejects(() => fetching, GatewayError, "no");
  waiting.get("https://a/2")!.resolve(new Uint8Array(30));
  waiting.clear();
  await assertRejects(() => documents.for(route)!, GatewayError, "no");
  assertEquals(waiting.size, 0);
  documents.release();
  await Promise.resolve();
  assertEquals(budget.usedBytes, 0);
});
