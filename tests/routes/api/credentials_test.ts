/** Which of several credentials of a request is looked up: the gateway's own, wherever it is. */
import { newApiKey } from "../../../core/people/api_keys/api_key.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { openTestGateway, servedBy } from "../../support/gateways/gateway_in_process.ts";
import { mockProvider } from "./gateway/media_world.ts";

const places = ["authorization", "x-api-key", "x-goog-api-key", "api-key", "?key="] as const;
type Place = typeof places[number];

const foreignKeys = [
  "sk-ant-api03-of-the-vendor",
  "sk-ant-oat01-of-a-subscription",
  "AIzaSyOfTheVendor",
  // The form of the gateway's keys with a wrong checksum.
  `sk-${"a".repeat(49)}`,
];

const paths = [
  "/v1/messages",
  "/v1/chat/completions",
  "/v1/responses",
  "/v1beta/models/talk:generateContent",
  "/v1/messages/count_tokens",
  "/v1/models",
];

const turns = { messages: [{ role: "user", content: "Hi" }] };

const bodies: Readonly<Record<string, object>> = {
  "/v1/messages": { model: "talk", max_tokens: 9, ...turns },
  "/v1/messages/count_tokens": { model: "talk", ...turns },
  "/v1/chat/completions": { model: "talk", max_tokens: 9, ...turns },
  "/v1/responses": { model: "talk", input: "Hi" },
  "/v1beta/models/talk:generateContent": { contents: [{ role: "user", parts: [{ text: "Hi" }] }] },
};

function request(path: string, credentials: ReadonlyMap<Place, string>): Request {
  const url = new URL(`http://gateway.example${path}`);
  const headers = new Headers({ "content-type": "application/json" });
  for (const [place, key] of credentials) {
    if (place === "?key=") url.searchParams.append("key", key);
    else headers.set(place, place === "authorization" ? `Bearer ${key}` : key);
  }
  const body = bodies[path];
  return body === undefined ? new Request(url, { headers }) : new Request(url, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
}

/** The pairs of places on a path; only paths of the Gemini style read a key in the query. */
function pairsOf(path: string): [Place, Place][] {
  const readable = places.filter((place) => place !== "?key=" || path.startsWith("/v1beta/"));
  return readable.flatMap((own) =>
    readable.filter((other) => other !== own).map((other): [Place, Place] => [own, other])
  );
}

async function openWorld() {
  const seen: string[] = [];
  const provider = mockProvider(({ path, headers, body }) => {
    seen.push(`${path}\n${JSON.stringify([...headers])}\n${new TextDecoder().decode(body)}`);
    return Response.json({
      object: "chat.completion",
      choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
    });
  });
  const gateway = await openTestGateway(servedBy(provider, {
    defaultModel: "talk",
    models: [{
      id: "talk",
      price: { unit: "token", vndPerMtok: 1_000 },
      contextWindow: 100_000,
      maxOutputTokens: 1_000,
      routes: [{ provider: "p", style: "chat", model: "vendor-9" }],
    }],
  }));
  return {
    seen,
    gateway,
    async [Symbol.asyncDispose]() {
      await gateway[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

Deno.test("a foreign key beside the gateway's own is ignored, wherever the two are", async () => {
  await using world = await openWorld();
  const { gateway } = world;
  const { key } = await gateway.customer(1_000);
  for (const path of paths) {
    for (const [own, other] of pairsOf(path)) {
      for (const foreign of foreignKeys) {
        const response = await gateway.fetch(
          request(path, new Map([[own, key], [other, foreign]])),
        );
        const text = await response.text();
        const story = `${path}: own in ${own}, ${foreign} in ${other}: ${text}`;
        assertEquals(response.status, 200, story);
        assert(!text.includes(foreign), story);
      }
    }
  }
  assert(world.seen.length > 0, "the provider was asked");
  const traces = [...world.seen, ...gateway.log].join("\n");
  for (const secret of [...foreignKeys, key]) assert(!traces.includes(secret), secret);
});

Deno.test("two different keys of the gateway are refused with that reason, the same key twice is not", async () => {
  await using world = await openWorld();
  const { gateway } = world;
  const { key } = await gateway.customer(1_000);
  // Another customer's, and one that was never issued.
  for (const second of [(await gateway.customer(1_000)).key, newApiKey()]) {
    for (const path of paths) {
      for (const [own, other] of pairsOf(path)) {
        const refused = await gateway.fetch(request(path, new Map([[own, key], [other, second]])));
        const text = await refused.text();
        assertEquals(refused.status, 401, `${path} ${own} ${other}: ${text}`);
        assert(text.includes("two different API keys of this gateway"), text);
        assert(!text.includes(key) && !text.includes(second), text);
        const twice = await gateway.fetch(request(path, new Map([[own, key], [other, key]])));
        assertEquals(twice.status, 200, await twice.text());
      }
    }
  }
});

Deno.test("foreign keys alone are 401, in one header and in several", async () => {
  await using world = await openWorld();
  for (const path of paths) {
    for (const [first, second] of pairsOf(path)) {
      for (const credentials of [[first], [first, second]]) {
        const response = await world.gateway.fetch(
          request(path, new Map(credentials.map((place, i) => [place, foreignKeys[i] ?? ""]))),
        );
        assertEquals(response.status, 401, `${path}: ${await response.text()}`);
      }
    }
  }
});
