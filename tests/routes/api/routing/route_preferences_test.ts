/** A caller's say in the route: which providers may serve a call, in which order, up to which price, and which models. */
import { assert, assertEquals } from "../../../support/assert.ts";
import type { Budget } from "../../../../core/limits/budgets.ts";
import { changeBudgets } from "../../../../kv/people/accounts/budgets.ts";
import {
  preferringStyles,
  PreferringWorld,
  requestOf,
} from "../../../support/worlds/preferring_world.ts";

const routes = (...providers: readonly string[]) =>
  providers.map((provider, priority) => ({ provider, model: `up-${provider}`, priority }));

function model(id: string, vndPerMtok: number, providers: readonly string[], more: object = {}) {
  return {
    id,
    kind: "chat",
    family: "test",
    price: { unit: "token", vndPerMtok },
    routes: routes(...providers),
    ...more,
  };
}

const open = () =>
  PreferringWorld.open(["a", "b", "c"], [
    model("one", 1_000, ["a", "b"]),
    model("two", 9_000, ["c"], { aliases: ["second"] }),
    model("three", 500, ["b", "c"]),
  ]);

Deno.test("each style takes each form of preferences, and providers get none of it", async () => {
  await using world = await open();
  const forms: readonly (readonly [members: object, header?: string])[] = [
    [{ provider: { order: ["B"] } }],
    [{ provider: { only: ["b"], ignore: null, sort: "latency" } }],
    [{ provider: { ignore: ["a"] } }],
    [{ providerOptions: { gateway: { only: ["b"] } } }],
    [{}, "only=b; allow_fallbacks=false"],
    [{ provider: { sort: { by: "price", partition: "model" } } }, "ignore=a,c"],
  ];
  const { key, accountId } = await world.gateway.customer(1_000_000);
  for (const style of preferringStyles) {
    for (const [members, header] of forms) {
      for (const stream of [false, true]) {
        world.asked.length = 0;
        const request = requestOf(style, "one", members, stream);
        const headers = header === undefined ? {} : { "x-gateway-route": header };
        const { status, text } = await world.ask(key, request, headers);
        assertEquals(status, 200, text);
        assertEquals(world.asked.map(({ provider }) => provider), ["b"]);
        const { body } = world.asked[0]!;
        assert(!/provider|only|ignore/.test(body), body);
      }
    }
  }
  assertEquals((await world.receipts(accountId)).every(({ route }) => route === "b/up-b"), true);
  await world.checkBooks();
});

Deno.test("in the client's own style every other byte of the body passes unchanged", async () => {
  await using world = await open();
  const { key } = await world.gateway.customer(1_000_000);
  const messages = '"messages" : [ {"role":"user", "content":"Hi , \\u0041"} ]';
  const long = `"user":"${"x".repeat(9_000)}"`;
  const cases = [
    [`{ "models":["two"] , "model" : "up-a", ${messages} }`, `{ "model" : "up-a", ${messages} }`],
    [`{"model":"up-a",${messages}, "provider" : {"only":["a"]}}`, `{"model":"up-a",${messages}}`],
    [`{${messages},"provider":{"order":["a"]}, "model":"up-a"}`, `{${messages}, "model":"up-a"}`],
    [
      `{"provider":{},"fallbacks":[],${long} ,"model":"up-a",${messages},"providerOptions":{}\n}`,
      `{${long} ,"model":"up-a",${messages}\n}`,
    ],
  ] as const;
  for (const [sent, got] of cases) {
    world.asked.length = 0;
    const { status, text } = await world.ask(key, { path: "/v1/chat/completions", body: sent });
    assertEquals(status, 200, text);
    assertEquals(world.asked.map(({ body }) => body), [got]);
  }
});

Deno.test("what is not known or not met is a 400 that names it, before anything is reserved", async () => {
  await using world = await open();
  const { key, accountId } = await world.gateway.customer(1_000_000);
  const cases: readonly (readonly [members: object, param: string, header?: string])[] = [
    [{ provider: { quantizations: ["fp8"] } }, "provider.quantizations"],
    [{ provider: { order: ["a", "nobody"] } }, "provider.order.1"],
    [{ provider: { only: "a" } }, "provider.only"],
    [{ provider: { sort: "karma" } }, "provider.sort"],
    [{ provider: { sort: { by: "price", partition: "none" } } }, "provider.sort.partition"],
    [{ provider: { allow_fallbacks: "no" } }, "provider.allow_fallbacks"],
    [{ provider: { max_price: { prompt: -1 } } }, "provider.max_price.prompt"],
    [{ provider: { max_price: { audio: 1 } } }, "provider.max_price.audio"],
    [{ provider: [] }, "provider"],
    [{ providerOptions: { openai: { store: true } } }, "providerOptions.openai"],
    [{ providerOptions: { gateway: { byok: {} } } }, "providerOptions.gateway.byok"],
    [{ provider: { only: ["c"] } }, "provider"],
    [{ provider: { order: ["c"], allow_fallbacks: false } }, "provider"],
    [{ provider: { max_price: { completion: "999.99" } } }, "provider.max_price.completion"],
    [{ models: ["two", "nobody"] }, "models.1"],
    [{ models: "two" }, "models"],
    [{ provider: { only: ["a"] } }, "x-gateway-route.only", "only=b"],
    [{}, "x-gateway-route", "colour=red"],
    [{}, "x-gateway-route", "only"],
    [{}, "x-gateway-route", "only=a;only=b"],
    [{}, "x-gateway-route", "__proto__.x=1"],
  ];
  for (const style of preferringStyles) {
    for (const [members, param, header] of cases) {
      const headers = header === undefined ? {} : { "x-gateway-route": header };
      const { status, text } = await world.ask(key, requestOf(style, "one", members), headers);
      assertEquals(status, 400, `${style} ${param} ${text}`);
      const { error } = JSON.parse(text);
      assert(error.message.startsWith(`${param}: `), `${param}: ${error.message}`);
      if (style === "chat") assertEquals(error.param, param);
    }
  }
  const twice = { models: ["two"], fallbacks: ["three"] };
  const { text } = await world.ask(key, requestOf("chat", "one", twice));
  assertEquals(JSON.parse(text).error.message.startsWith("fallbacks: models says this"), true);
  assertEquals([world.asked, await world.receipts(accountId)], [[], []]);
});

Deno.test("models fall back before the first output, each at its own price, with one receipt", async () => {
  await using world = await open();
  const forms: readonly object[] = [
    { models: ["second", "three"] },
    { providerOptions: { gateway: { models: ["two", "three"] } } },
  ];
  for (const style of preferringStyles) {
    for (const fault of ["down", "limited", "filtered", "too_long"] as const) {
      for (const members of forms) {
        const stream = members === forms[0];
        const { key, accountId } = await world.gateway.customer(1_000_000);
        world.faults.set("a", fault).set("b", fault).set("c", undefined);
        const answer = await world.ask(key, requestOf(style, "one", members, stream));
        assertEquals(answer.status, 200, answer.text);
        assertEquals(answer.headers.get("x-gateway-model"), "two");
        assertEquals(answer.headers.get("x-gateway-model-mapped-from"), "one");
        const [receipt, ...others] = await world.receipts(accountId);
        assertEquals([receipt?.model, receipt?.mappedFrom, others], ["two", "one", []]);
        assertEquals(receipt?.attempts.at(-1)?.route, "c/up-c");
        assertEquals(receipt?.attempts.at(-1)?.outcome, "ok");
        assertEquals(receipt?.costMicroVnd, 12n * 9_000n, "12 tokens at the price of `two`");
        assert((receipt?.attempts.length ?? 0) > 1, "each attempt has a line");
      }
    }
  }
  await world.checkBooks();
});

Deno.test("a caller's own mistake, and a model without the right, are not passed over", async () => {
  await using world = await open();
  const bound = await world.gateway.customer(1_000_000, { allowedModels: ["one", "three"] });
  const refused = await world.ask(bound.key, requestOf("chat", "one", { models: ["two"] }));
  assertEquals([refused.status, JSON.parse(refused.text).error.param], [403, "models.0"]);
  assertEquals(world.asked, []);
  const { key, accountId } = await world.gateway.customer(1_000_000);
  world.faults.set("a", "invalid");
  const { status } = await world.ask(key, requestOf("chat", "one", { models: ["two"] }));
  assertEquals([status, world.asked.length], [400, 1]);
  const [receipt] = await world.receipts(accountId);
  assertEquals([receipt?.model, receipt?.costMicroVnd], ["one", 0n]);
  await world.checkBooks();
});

Deno.test("a request without a model is for the first of its models; LiteLLM's list works alike", async () => {
  await using world = await open();
  const { key, accountId } = await world.gateway.customer(1_000_000);
  const first = await world.ask(key, requestOf("chat", undefined, { models: ["three", "two"] }));
  assertEquals([first.status, JSON.parse(first.text).model], [200, "three"]);
  world.faults.set("a", "down").set("b", "down");
  const fallbacks = ["two", { model: "three" }];
  const second = await world.ask(key, requestOf("responses", "one", { fallbacks }));
  assertEquals([second.status, JSON.parse(second.text).model], [200, "two"]);
  assertEquals((await world.receipts(accountId)).map(({ model }) => model), ["two", "three"]);
});

Deno.test("the reservation covers the dearest model, and a model that costs too much is passed over", async () => {
  await using world = await open();
  const { key, accountId } = await world.gateway.customer(0);
  const poor = await world.ask(key, requestOf("chat", "one", { models: ["two"] }));
  assertEquals(poor.status, 402, poor.text);
  const needs = /needs ([\d.]+) VND/.exec(poor.text)?.[1] ?? "";
  const dear = await world.ask(key, requestOf("chat", "two"));
  assertEquals(needs, /needs ([\d.]+) VND/.exec(dear.text)?.[1]);
  const rich = await world.gateway.customer(1_000_000);
  world.faults.set("a", "down").set("b", "down");
  const members = { models: ["two"], provider: { max_price: { prompt: 1_000 } } };
  const { status } = await world.ask(rich.key, requestOf("chat", "one", members));
  assertEquals([status, world.asked.some(({ provider }) => provider === "c")], [503, false]);
  assertEquals(await world.receipts(accountId), []);
  await world.checkBooks();
});

Deno.test("limits and budgets of a model bind it when its turn comes, and only then", async () => {
  await using world = await PreferringWorld.open(["a", "c"], [
    model("one", 1_000, ["a"]),
    model("two", 9_000, ["c"], { rateLimits: { account: { requestsPerMinute: 1 } } }),
    model("three", 500, ["c"]),
  ]);
  const { key, accountId } = await world.gateway.customer(1_000_000);
  const ask = async (models: readonly string[]) => {
    const { status, headers, text } = await world.ask(key, requestOf("chat", "one", { models }));
    return status === 200 ? headers.get("x-gateway-model") : JSON.parse(text).error.code;
  };
  assertEquals([await ask(["two"]), await ask(["two"])], ["one", "one"], "of no concern to `two`");
  world.faults.set("a", "filtered");
  assertEquals(await ask(["two", "three"]), "two");
  assertEquals(await ask(["two", "three"]), "three", "`two` is limited");
  assertEquals(await ask(["two"]), "rate_limit_reached");
  world.gateway.time.advance(120_000);
  const { kv, time, assembled: { gateway: { control, wallet, limits } } } = world.gateway;
  const budget: Budget = {
    id: "b",
    name: "Two",
    subject: { kind: "model", model: "two" },
    window: "total",
    amountMicroVnd: 1n,
    atLimit: "refuse",
    createdAtMs: time.nowMs(),
  };
  await changeBudgets(kv, accountId, () => [budget]);
  await control.refresh();
  assertEquals(await ask(["two"]), "budget_exceeded");
  assertEquals(await ask(["two", "three"]), "three");
  const [use] = await limits.budgetUse(accountId, [budget], time.nowMs());
  assertEquals(use?.reservedMicroVnd, 0n, "nothing is held of the budget any more");
  assertEquals((await wallet.balance(accountId)).reservedMicroVnd, 0n);
  await world.checkBooks();
});

type Bound = "free" | "budget" | "limited";
const bounds: readonly Bound[] = ["free", "budget", "limited"];

/** Asks for three models of which each is free, or refused by a budget or a rate limit of its own. */
async function askBound(states: readonly Bound[], isShut: boolean): Promise<void> {
  const names = ["one", "two", "three"];
  const those = (what: Bound) => names.filter((_, at) => states[at] === what);
  await using world = await PreferringWorld.open(
    ["a"],
    // In the catalogue they stand in another order than in the request.
    names.toReversed().map((name) =>
      model(name, 1_000, ["a"], {
        ...(those("limited").includes(name) &&
          { rateLimits: { account: { requestsPerMinute: 1 } } }),
      })
    ),
  );
  const { key, accountId } = await world.gateway.customer(1_000_000);
  for (const name of those("limited")) await world.ask(key, requestOf("chat", name));
  const { kv, time, assembled: { gateway: { control, wallet } } } = world.gateway;
  const budget = (id: string, subject: Budget["subject"]): Budget => ({
    id,
    name: id,
    subject,
    window: "total",
    amountMicroVnd: 1n,
    atLimit: "refuse",
    createdAtMs: time.nowMs(),
  });
  await changeBudgets(kv, accountId, () => [
    ...those("budget").map((name) => budget(name, { kind: "model", model: name })),
    ...(isShut ? [budget("all", { kind: "account" })] : []),
  ]);
  await control.refresh();
  const [first = "", ...models] = names;
  const { status, headers, text } = await world.ask(key, requestOf("chat", first, { models }));
  const [free] = isShut ? [] : those("free");
  if (free === undefined) {
    const code = states[0] === "limited" ? "rate_limit_reached" : "budget_exceeded";
    assertEquals(JSON.parse(text).error.code, code, states.join());
  } else assertEquals([status, headers.get("x-gateway-model")], [200, free], states.join());
  assertEquals((await wallet.balance(accountId)).reservedMicroVnd, 0n);
  await world.checkBooks();
}

Deno.test("a model that its own budget or rate limit refuses is passed over, in whichever place it is named", async () => {
  const cases = bounds.flatMap((one) =>
    bounds.flatMap((two) => bounds.map((three) => [one, two, three] as const))
  );
  for (const states of cases) for (const isShut of [false, true]) await askBound(states, isShut);
});

Deno.test("what is known of providers is in the list of models, and unknown is not no", async () => {
  await using world = await PreferringWorld.open(["a", "b"], [model("one", 1_000, ["a", "b"])], {
    b: { trains: false },
  });
  const { key } = await world.gateway.customer(1_000_000);
  for (const headers of [{}, { "anthropic-version": "2023-06-01" }]) {
    const listed = await world.gateway.fetch(
      new Request("http://gateway/v1/models/one", {
        headers: { ...headers, authorization: `Bearer ${key}` },
      }),
    );
    assertEquals((await listed.json()).providers, [{ name: "a" }, { name: "b", trains: false }]);
  }
  const ask = (provider: object) => world.ask(key, requestOf("chat", "one", { provider }));
  assertEquals((await ask({ data_collection: "deny" })).status, 200);
  assertEquals(world.asked.map(({ provider }) => provider), ["b"]);
  const { status, text } = await ask({ zdr: true, data_collection: "deny" });
  assertEquals(status, 400);
  assertEquals(
    JSON.parse(text).error.message,
    "provider: no route of the model one meets data_collection, zdr; its providers are a, b",
  );
});

Deno.test("suffixes order the routes of their model, and ask for no other one in silence", async () => {
  await using world = await open();
  const { key } = await world.gateway.customer(1_000_000);
  for (const suffix of [":floor", ":nitro", ":latest"]) {
    const { status, headers } = await world.ask(key, requestOf("chat", `one${suffix}`));
    assertEquals([status, headers.get("x-gateway-model")], [200, "one"]);
  }
  for (const name of ["one:free", "one:online", "auto:free", "@preset/x", "one@preset/x"]) {
    const { status, text } = await world.ask(key, requestOf("chat", name));
    assertEquals([status, JSON.parse(text).error.param], [400, "model"], name);
  }
});

Deno.test("the same idempotency key with other preferences is another request", async () => {
  await using world = await open();
  const { key } = await world.gateway.customer(1_000_000);
  const headers = { "idempotency-key": "one-and-the-same" };
  const ask = (members: object) => world.ask(key, requestOf("chat", "one", members), headers);
  const statuses = [
    (await ask({ provider: { only: ["a"] } })).status,
    (await ask({ provider: { only: ["a"] } })).headers.get("idempotent-replayed"),
    (await ask({ provider: { only: ["b"] } })).status,
    (await ask({ models: ["two"], provider: { only: ["a"] } })).status,
  ];
  assertEquals(statuses, [200, "true", 422, 422]);
});
