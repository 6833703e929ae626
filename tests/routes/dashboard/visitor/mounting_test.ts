/** Tests the loading of the pages with the first request for one. */
import { Hono } from "hono";
import { mountDashboard } from "../../../../routes/dashboard/visitor/mounting.ts";
import { assertEquals } from "../../../support/assert.ts";

/** An app whose pages are loaded by `load`; an error of the load is its 500. */
function appWith(load: () => Promise<Hono>): Hono {
  const app = new Hono().get("/v1/models", (c) => c.json({ object: "list" }));
  mountDashboard(app, load);
  app.onError((error, c) => c.text(error.message, 500));
  app.notFound((c) => c.json({ type: "error" }, 404));
  return app;
}

const pages = () =>
  new Hono().get("/", (c) => c.text("home")).get("/usage", (c) => c.text("usage"));

Deno.test("requests of the API do not load the pages", async () => {
  const app = appWith(() => Promise.reject(new Error("loaded")));
  const authorization = "Bearer sk-1";
  const requests: readonly (readonly [string, RequestInit])[] = [
    ["/v1/models", {}],
    ["/v1/unknown", {}],
    ["/v1", { headers: { accept: "text/html" } }],
    ["/models", { headers: { accept: "application/json" } }],
    ["/chat/completions", { method: "POST", headers: { authorization } }],
    ["/messages", { method: "POST", headers: { "x-api-key": "sk-1" } }],
    ["/", { headers: { authorization } }],
  ];
  for (const [path, init] of requests) {
    const { status } = await app.request(path, init);
    assertEquals([path, status], [path, path === "/v1/models" ? 200 : 404]);
  }
});

Deno.test("requests that arrive together share one load", async () => {
  let loads = 0;
  const loaded = Promise.withResolvers<Hono>();
  const app = appWith(() => {
    loads++;
    return loaded.promise;
  });
  const answers = [app.request("/"), app.request("/usage"), app.request("/")];
  loaded.resolve(pages());
  const texts = await Promise.all(answers.map(async (answer) => (await answer).text()));
  assertEquals(texts, ["home", "usage", "home"]);
  assertEquals(await (await app.request("/usage")).text(), "usage");
  assertEquals(loads, 1);
});

Deno.test("a load that fails is an error of its requests, and the next request loads again", async () => {
  let loads = 0;
  const app = appWith(() =>
    ++loads === 1 ? Promise.reject(new Error("no")) : Promise.resolve(pages())
  );
  const failed = await Promise.all([app.request("/"), app.request("/usage")]);
  assertEquals(failed.map(({ status }) => status), [500, 500]);
  assertEquals(await (await app.request("/")).text(), "home");
  assertEquals(loads, 2);
});
