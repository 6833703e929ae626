/** A store that is away: every endpoint and page answers 503 with `retry-after`, and the log has one line. */
import { assert, assertEquals } from "../support/assert.ts";
import { createApp } from "../../routes/server/listen/app.ts";
import { openCustomerApp } from "../../routes/server/assembly/customer_app.ts";
import { StoreUnavailableError } from "../../kv/engine/store/store_unavailable.ts";
import { formsOf, TestBrowser } from "../support/browser/test_browser.ts";
import { openTestGateway, type TestGateway } from "../support/gateways/gateway_in_process.ts";
import { breakStore, type StoreCall, storeCalls } from "../support/stores/broken_store.ts";
import { openTopupSite, type TopupSite } from "../support/worlds/topup_site.ts";
import { until } from "../support/until.ts";

const away = () => Promise.reject(new StoreUnavailableError("connection_lost"));

const messages = [{ role: "user", content: "hello" }];
const contents = [{ role: "user", parts: [{ text: "hello" }] }];
const model = "premium-1";

/** Bodies of the endpoints whose bodies are read before the store is. */
const chatBodies: Readonly<Record<string, unknown>> = {
  "/v1/messages": { model, messages, max_tokens: 10 },
  "/v1/messages/count_tokens": { model, messages },
  "/v1/chat/completions": { model, messages },
  "/v1/responses": { model, input: "hello" },
  "/v1/responses/input_tokens": { model, input: "hello" },
  [`/v1beta/models/${model}:generateContent`]: { contents },
  [`/v1beta/models/${model}:streamGenerateContent`]: { contents },
};

/** What needs no store: a public document, and paths of the Gemini style without an operation. */
const storeless: ReadonlySet<string> = new Set([
  "GET /v1/status",
  "POST /v1/models/x",
  "POST /v1beta/models/x",
]);

/** Every served path of the API, the usage API and the operator's API, with its method. */
function endpointsOf(gateway: TestGateway): { method: string; path: string }[] {
  const { assembled, masterKeys } = gateway;
  const customerApp = openCustomerApp(assembled.gateway, {
    masterKeys,
    baseUrl: "https://gw.example",
    write: () => {},
  });
  const { routes } = createApp(assembled.gateway, { stopping: () => false, customerApp });
  const named = routes.filter(({ method, path }) =>
    ["GET", "POST", "DELETE"].includes(method) && path.startsWith("/v1")
  ).map(({ method, path }) => ({ method, path: path.replace(/:\w+(\{[^}]*\})?/g, "x") }));
  const chats = Object.keys(chatBodies).map((path) => ({ method: "POST", path }));
  return [...named, ...chats].filter(({ method, path }) => !storeless.has(`${method} ${path}`));
}

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly key: string;
  readonly stream?: boolean;
}

function requestOf({ method, path, key, stream = false }: Sent): Request {
  const isGemini = path.startsWith("/v1beta");
  const body = { ...chatBodies[path] ?? { model }, ...stream && !isGemini ? { stream } : {} };
  return new Request(`https://gw.example${path}`, {
    method,
    headers: {
      ...(isGemini ? { "x-goog-api-key": key } : { authorization: `Bearer ${key}` }),
      "content-type": "application/json",
    },
    ...(method === "POST" ? { body: JSON.stringify(body) } : {}),
  });
}

/** Checks that the store is blamed, for a client and in the log. */
async function assertAway(gateway: TestGateway, sent: Sent): Promise<void> {
  const what = `${sent.method} ${sent.path}${sent.stream === true ? ", streamed" : ""}`;
  const { assembled, masterKeys } = gateway;
  const customerApp = openCustomerApp(assembled.gateway, {
    masterKeys,
    baseUrl: "https://gw.example",
    write: () => {},
  });
  const app = createApp(assembled.gateway, { stopping: () => false, customerApp });
  const answer = await app.fetch(requestOf(sent), { clientAddress: "127.0.0.1" });
  const text = await answer.text();
  assertEquals([answer.status, answer.headers.get("retry-after")], [503, "2"], `${what}: ${text}`);
  const { error } = JSON.parse(text);
  const isNamed = error.type === "service_unavailable" || error.status === "UNAVAILABLE";
  assert(isNamed, `${what}: ${text}`);
}

Deno.test("every endpoint answers 503 with retry-after, and the log has one line", async () => {
  await using gateway = await openTestGateway();
  const { key } = await gateway.customer(100_000);
  const endpoints = endpointsOf(gateway);
  assert(endpoints.length > 20, `${endpoints.length} endpoints`);
  const mend = breakStore(gateway.kv, storeCalls, away);
  for (const { method, path } of endpoints) await assertAway(gateway, { method, path, key });
  const lines = () => gateway.log.filter((line) => line.includes("the store takes no commits"));
  await until(() => lines().length > 0, "the outage is logged");
  assertEquals(lines().length, 1, lines().join("\n"));
  const [line = "{}"] = lines();
  assertEquals([JSON.parse(line).kind, JSON.parse(line).level], ["connection_lost", "error"]);
  const stacks = gateway.log.filter((line) => line.includes('"stack"'));
  assertEquals(stacks, []);
  const ready = await gateway.fetch(new Request("https://gw.example/readyz"));
  assertEquals([ready.status, (await ready.json()).reasons], [503, ["store takes no commits"]]);
  mend();
});

Deno.test("a known key whose wallet cannot be drawn from: 503, whole and streamed", async () => {
  await using gateway = await openTestGateway();
  const { key } = await gateway.customer(100_000);
  const models = await gateway.fetch(requestOf({ method: "GET", path: "/v1/models", key }));
  assertEquals(models.status, 200);
  await models.body?.cancel();
  const mend = breakStore(gateway.kv, storeCalls, away);
  const paths = Object.keys(chatBodies).filter((path) => !path.includes("token"));
  const calls = paths.flatMap((path) => [false, true].map((stream) => ({ path, stream })));
  await Promise.all(calls.map((call) => assertAway(gateway, { method: "POST", key, ...call })));
  mend();
});

const pathWith = (path: string) => path.replace(/:\w+(?:\{[^}]*\})?/g, "x");

/** Runs on every page of customers and operators, each as whoever may see it. */
async function withPages(
  run: (site: TopupSite, pages: readonly { path: string; browser: TestBrowser }[]) => Promise<void>,
): Promise<void> {
  await using site = await openTopupSite();
  const browserWith = (token: string) => {
    const browser = new TestBrowser(site.world.fetch, site.address);
    browser.cookies.set("session", token);
    return browser;
  };
  const customer = browserWith(site.customerToken);
  const operator = browserWith(site.operatorToken);
  const pages = site.world.routes.filter(({ method, path }) =>
    method === "GET" && !path.startsWith("/assets")
  ).map(({ path }) => ({
    path: pathWith(path),
    browser: path.startsWith("/operator") ? operator : customer,
  }));
  assert(pages.length > 40, `${pages.length} pages`);
  await run(site, pages);
  assertEquals(site.world.reports, [], "nothing was unforeseen");
}

const broken: Readonly<Record<string, readonly StoreCall[]>> = {
  "all calls": storeCalls,
  "single reads": ["get"],
  "reads of several rows": ["getMany"],
  lists: ["list"],
};

for (const [name, calls] of Object.entries(broken)) {
  Deno.test(`${name} fail: no page answers 500, and each 503 has retry-after`, () =>
    withPages(async (site, pages) => {
      const mend = breakStore(site.world.kv, calls, away);
      let refused = 0;
      for (const { path, browser } of pages) {
        const answer = await browser.send(path).catch((error) => {
          // A long file has begun when its lists are read; that its last line is missing tells.
          if (path === "/account/data.ndjson" && name === "lists") return undefined;
          throw error;
        });
        if (answer === undefined) continue;
        const { status, headers } = answer;
        if (status === 503) refused++;
        assertEquals(status === 503, headers.has("retry-after"), `${path}: ${status}`);
        assert(status < 500 || status === 503, `${path}: ${status}`);
      }
      mend();
      if (calls === storeCalls) assert(refused > 40, `${refused} pages were refused`);
    }));
}

Deno.test("commits fail: no form answers 500, and each 503 has retry-after", () =>
  withPages(async (site, pages) => {
    const seen = new Set<string>();
    let refused = 0;
    for (const { path, browser } of pages) {
      for (const { action, fields } of formsOf((await browser.send(path)).text)) {
        const { pathname } = new URL(action, site.address);
        if (seen.has(pathname) || fields.every(([field]) => field !== "csrf")) continue;
        seen.add(pathname);
        const mend = breakStore(site.world.kv, ["set", "delete", "commit"], away);
        const { status, headers } = await browser.send(pathname, {
          method: "POST",
          headers: { "content-type": "application/x-www-form-urlencoded" },
          body: new URLSearchParams(fields.map(([field, value]) => [field, value])).toString(),
        });
        mend();
        if (status === 503) refused++;
        assertEquals(status === 503, headers.has("retry-after"), `${pathname}: ${status}`);
        assert(status < 500 || status === 503, `${pathname}: ${status}`);
      }
    }
    assert(refused > 5, `${refused} of ${seen.size} forms were refused`);
  }));
