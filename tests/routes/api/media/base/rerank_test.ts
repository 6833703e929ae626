import * as fc from "../../../../support/property.ts";
import { assert, assertEquals } from "../../../../support/assert.ts";
import { errorOf, mockProvider, openMediaWorld } from "../../gateway/media_world.ts";

function models(price: Record<string, unknown>, ...providers: string[]) {
  return [{
    id: "rank-t",
    kind: "rerank",
    family: "test",
    price,
    routes: providers.map((provider, priority) => ({ provider, priority, model: "rank-up" })),
  }];
}

const perSearch = { unit: "search", vnd: 50 };
const perToken = { unit: "token", vndPerMtok: 1_000_000 };
const request = { model: "rank-t", query: "mèo", documents: ["con mèo", { text: "con chó" }] };

function answer(more: Record<string, unknown> = {}, ranks = 2): Response {
  const results = Array.from({ length: ranks }, (_, index) => ({ index, relevance_score: 0.5 }));
  return Response.json({ id: "r", results, ...more });
}

Deno.test("request and answer pass byte for byte but for the model's name", async () => {
  const odd = '{"results":[ {"index":1,"relevance_score":1.0e-2} ], "model" : "rank-up",' +
    '"meta":{"billed_units":{"search_units":1}} }';
  await using provider = mockProvider(() =>
    new Response(odd, { headers: { "content-type": "application/json" } })
  );
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models(perSearch, "p1"),
  });
  const sent = '{ "query":"x","documents":["a", {"text":"b","id":7}],"top_n":1, "model":"rank-t" }';
  const response = await world.send("/v1/rerank", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: sent,
  });
  assertEquals(await response.text(), odd.replace("rank-up", "rank-t"));
  assertEquals(response.headers.get("x-gateway-cost-vnd"), "50");
  assertEquals(provider.seen[0]!.path, "/v1/rerank");
  assertEquals(new TextDecoder().decode(provider.seen[0]!.body), sent.replace("rank-t", "rank-up"));
  const receipt = await world.receiptOf(response);
  assertEquals(
    [receipt?.kind, receipt?.style, receipt?.units, receipt?.outcome],
    ["rerank", "rerank", 1, "completed"],
  );
  assertEquals(await world.balanceVnd(), 1_000_000 - 50);
});

Deno.test("searches and tokens are those that the provider reports, if the documents can be so many", async () => {
  let more: Record<string, unknown> = {};
  await using provider = mockProvider(({ json }) => {
    const { documents } = json();
    return answer(more, Array.isArray(documents) ? documents.length : 0);
  });
  const many = { ...request, documents: Array(150).fill("một tài liệu") };
  const long = { ...request, documents: Array(150).fill("dài ".repeat(200)) };
  const searches = (count: number) => ({ meta: { billed_units: { search_units: count } } });
  const cases: [
    price: Record<string, unknown>,
    body: Record<string, unknown>,
    more: Record<string, unknown>,
    vnd: bigint,
    estimated: boolean,
    claimVnd?: bigint,
  ][] = [
    [perSearch, request, {}, 50n, false],
    [perSearch, many, {}, 100n, false],
    [perSearch, many, searches(2), 100n, false],
    [perSearch, many, searches(3), 100n, true, 50n],
    [perSearch, many, searches(0), 100n, true],
    [perSearch, many, searches(-1), 100n, true],
    [perSearch, long, searches(5), 250n, false],
    // Twice 4 bytes of query, 8 and 4 + 8 bytes of documents: 7 tokens by our count.
    [perToken, request, { usage: { total_tokens: 9 } }, 9n, false],
    [perToken, request, { meta: { tokens: { input_tokens: 11 } } }, 11n, false],
    [perToken, request, {}, 7n, true],
    [perToken, request, { usage: { total_tokens: 1_007 } }, 7n, true, 1_000n],
    [{ unit: "request", vnd: 7 }, many, searches(9), 7n, true],
  ];
  for (const [price, body, said, vnd, estimated, claimVnd] of cases) {
    more = said;
    await using world = await openMediaWorld({
      providers: { p1: provider.port },
      models: models(price, "p1"),
    });
    const response = await world.post("/v1/rerank", body);
    assertEquals(response.status, 200, await response.text());
    const receipt = await world.receiptOf(response);
    const name = JSON.stringify([price, said]);
    assertEquals([receipt?.costMicroVnd, receipt?.estimated], [vnd * 1_000_000n, estimated], name);
    assertEquals(receipt?.claimMicroVnd, claimVnd && claimVnd * 1_000_000n, name);
  }
});

Deno.test("bad requests name their field, reach no provider and cost nothing", async () => {
  await using provider = mockProvider(() => answer());
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models(perSearch, "p1"),
  });
  const cases: [change: Record<string, unknown>, param: string][] = [
    [{ model: undefined }, "model"],
    [{ query: "" }, "query"],
    [{ query: ["x"] }, "query"],
    [{ documents: undefined }, "documents"],
    [{ documents: [] }, "documents"],
    [{ documents: "x" }, "documents"],
    [{ documents: Array(10_001).fill("x") }, "documents"],
    [{ documents: ["x", 7] }, "documents.1"],
    [{ documents: [{ title: "x" }] }, "documents.0"],
    [{ documents: [{ text: "x", image: "https://example.com/a.png" }] }, "documents.0"],
    [{ documents: [{ text: "x", more: { text: "y" } }] }, "documents.0"],
    [{ top_n: 0 }, "top_n"],
    [{ model: "premium-1" }, "model"],
  ];
  for (const [change, param] of cases) {
    const error = await errorOf(await world.post("/v1/rerank", { ...request, ...change }));
    assertEquals([error.status, error.param], [400, param], JSON.stringify(change).slice(0, 200));
  }
  assertEquals([provider.seen.length, await world.balanceVnd()], [0, 1_000_000]);
});

Deno.test("another route is tried for what ranks nothing or too much; failures are free", async () => {
  const faults = [
    () => new Response("x", { status: 503 }),
    () => Response.json({ error: { message: "broken" } }),
    () => answer({}, 0),
    () => answer({}, 3),
    () => Response.json({ results: "none" }),
  ];
  let fault = faults[0]!;
  await using first = mockProvider(() => fault());
  await using second = mockProvider(() => answer());
  await using world = await openMediaWorld({
    providers: { p1: first.port, p2: second.port },
    models: models(perSearch, "p1", "p2"),
  });
  await using alone = await openMediaWorld({
    providers: { p1: first.port },
    models: models(perSearch, "p1"),
  });
  for (const [index, one] of faults.entries()) {
    fault = one;
    const response = await world.post("/v1/rerank", request);
    assertEquals(response.status, 200, `fault ${index}: ${await response.text()}`);
    const failed = await alone.post("/v1/rerank", request);
    assert(failed.status >= 500, `fault ${index}: ${failed.status}`);
    await failed.body?.cancel();
  }
  assertEquals(await world.balanceVnd(), 1_000_000 - 50 * faults.length);
  assertEquals(await alone.balanceVnd(), 1_000_000);
});

Deno.test("no report makes a call cost more than was reserved for it", async () => {
  let said: Record<string, unknown> = {};
  await using provider = mockProvider(({ json }) => {
    const { documents } = json();
    return answer(said, Array.isArray(documents) ? documents.length : 0);
  });
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models(perSearch, "p1"),
  });
  const count = fc.oneof(
    fc.integer(),
    fc.double(),
    fc.string(),
    fc.constant(null),
    fc.nat({ max: 9 }),
  );
  const documents = fc.array(fc.string({ maxLength: 600 }), { minLength: 1, maxLength: 120 });
  await fc.assert(
    fc.asyncProperty(documents, count, async (documents, search_units) => {
      said = { meta: { billed_units: { search_units } } };
      const response = await world.post("/v1/rerank", { model: "rank-t", query: "x", documents });
      assertEquals(response.status, 200, await response.text());
      const { costMicroVnd = 0n, shortfallMicroVnd } = await world.receiptOf(response) ?? {};
      const most = BigInt(Math.ceil(documents.length * 13 / 100));
      assert(costMicroVnd > 0n && costMicroVnd <= most * 50_000_000n);
      assertEquals(shortfallMicroVnd, 0n);
    }),
    { numRuns: 40 },
  );
});
