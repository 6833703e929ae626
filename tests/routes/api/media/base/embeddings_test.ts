import * as fc from "../../../../support/property.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { errorOf, mockProvider, openMediaWorld } from "../../gateway/media_world.ts";

function models(price: Record<string, unknown>, ...providers: string[]) {
  return [{
    id: "embed-t",
    kind: "embedding",
    family: "test",
    price,
    routes: providers.map((provider, priority) => ({ provider, priority, model: "embed-up" })),
  }];
}

const perToken = { unit: "token", vndPerMtok: 1_000_000 };

function answer(vectors: number, usage?: Record<string, unknown>): Response {
  const data = Array.from({ length: vectors }, (_, index) => ({
    object: "embedding",
    embedding: [0.1, -2e-7],
    index,
  }));
  return Response.json({ object: "list", data, model: "embed-up", ...(usage && { usage }) });
}

const request = { model: "embed-t", input: ["Xin chào", "hai"] };

Deno.test("embeddings pass byte for byte but for the model's name, billed as reported", async () => {
  const odd = '{ "object":"list", "data":[ {"embedding":[1.0e-3, -0.50],"index":0} ], ' +
    '"model":"embed-up" ,"usage":{"prompt_tokens":7,"total_tokens":7},"x-own":1}';
  await using provider = mockProvider(() =>
    new Response(odd, { headers: { "content-type": "application/json" } })
  );
  const world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models(perToken, "p1"),
  });
  await using _ = world;
  const sent = '{"model" : "embed-t","input":"Xin chào","encoding_format":"float","user":"u"}';
  const response = await world.send("/v1/embeddings", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: sent,
  });
  assertEquals(await response.text(), odd.replace("embed-up", "embed-t"));
  assertEquals(provider.seen[0]!.path, "/v1/embeddings");
  assertEquals(
    new TextDecoder().decode(provider.seen[0]!.body),
    sent.replace("embed-t", "embed-up"),
  );
  assertEquals(response.headers.get("x-gateway-cost-vnd"), "7");
  assertEquals(response.headers.get("x-gateway-input-tokens"), "7");
  assertEquals(await world.balanceVnd(), 1_000_000 - 7);
  const receipt = await world.receiptOf(response);
  assertEquals(
    [receipt?.kind, receipt?.style, receipt?.outcome, receipt?.estimated, receipt?.usage?.input],
    ["embedding", "embeddings", "completed", false, 7],
  );
});

Deno.test("a report that the input cannot have is replaced by our own count, the rest is a claim", async () => {
  let usage: Record<string, unknown> | undefined;
  await using provider = mockProvider(() => answer(2, usage));
  const world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models(perToken, "p1"),
  });
  await using _ = world;
  // "Xin chào" and "hai" are 12 bytes: 3 tokens by our count.
  const cases: [typeof usage, input: number, estimated: boolean, claimVnd: bigint | undefined][] = [
    [{ prompt_tokens: 5, total_tokens: 5 }, 5, false, undefined],
    [{ total_tokens: 6 }, 6, false, undefined],
    [undefined, 3, true, undefined],
    [{ prompt_tokens: 0 }, 3, true, undefined],
    [{ prompt_tokens: -4 }, 3, true, undefined],
    [{ prompt_tokens: 1_000_003 }, 3, true, 1_000_000n],
  ];
  for (const [said, input, estimated, claim] of cases) {
    usage = said;
    const response = await world.post("/v1/embeddings", request);
    assertEquals(response.status, 200, await response.text());
    const receipt = await world.receiptOf(response);
    assertEquals(
      [receipt?.usage?.input, receipt?.estimated, receipt?.claimMicroVnd],
      [input, estimated, claim === undefined ? undefined : claim * 1_000_000n],
      JSON.stringify(said),
    );
    assertEquals(receipt?.costMicroVnd, BigInt(input) * 1_000_000n);
  }
});

Deno.test("a price per call charges once, whatever is reported", async () => {
  await using provider = mockProvider(() => answer(2, { prompt_tokens: 9_999_999 }));
  const world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models({ unit: "request", vnd: 20 }, "p1"),
  });
  await using _ = world;
  const response = await world.post("/v1/embeddings", request);
  assertEquals(response.headers.get("x-gateway-cost-vnd"), "20");
  await response.body?.cancel();
  assertEquals(await world.balanceVnd(), 1_000_000 - 20);
});

const noNumbers = new Uint8Array(new Float32Array(4).fill(NaN).buffer).toBase64();

Deno.test("another route is tried for anything that is no answer, and only the last failure is free", async () => {
  const faults = [
    () => new Response("x", { status: 503 }),
    () => Response.json({ error: { message: "broken" } }),
    () => answer(1, { prompt_tokens: 3 }), // one vector for two texts
    () => Response.json({ data: [1, 2], usage: { prompt_tokens: 3 } }),
    () => new Response("<html>", { headers: { "content-type": "text/html" } }),
    () => Response.json({ object: "list" }),
    // Numbers of 32 bits that are none, in base64.
    () => Response.json({ data: [0, 1].map((index) => ({ index, embedding: noNumbers })) }),
  ];
  let fault = faults[0]!;
  await using first = mockProvider(() => fault());
  let isSecondUp = true;
  await using second = mockProvider(() =>
    isSecondUp ? answer(2, { prompt_tokens: 4 }) : new Response("x", { status: 503 })
  );
  for (const [index, one] of faults.entries()) {
    fault = one;
    await using world = await openMediaWorld({
      providers: { p1: first.port, p2: second.port },
      models: models(perToken, "p1", "p2"),
    });
    isSecondUp = true;
    const response = await world.post("/v1/embeddings", request);
    assertEquals(response.status, 200, `fault ${index}: ${await response.text()}`);
    const receipt = await world.receiptOf(response);
    assertEquals(receipt?.attempts.length, 2);
    assertEquals(receipt?.route, "p2/embed-up");
    isSecondUp = false;
    const failed = await world.post("/v1/embeddings", request);
    assert(failed.status >= 500, String(failed.status));
    await failed.body?.cancel();
    assertEquals(await world.balanceVnd(), 1_000_000 - 4);
  }
});

Deno.test("bad requests name their field, reach no provider and cost nothing", async () => {
  await using provider = mockProvider(() => answer(1, { prompt_tokens: 1 }));
  const world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models(perToken, "p1"),
  });
  await using _ = world;
  const cases: [body: Record<string, unknown>, param: string][] = [
    [{ input: "x" }, "model"],
    [{ model: "embed-t" }, "input"],
    [{ model: "embed-t", input: "" }, "input"],
    [{ model: "embed-t", input: [] }, "input"],
    [{ model: "embed-t", input: 7 }, "input"],
    [{ model: "embed-t", input: { text: "x" } }, "input"],
    [{ model: "embed-t", input: ["x", { image: "https://example.com/x.png" }] }, "input.1"],
    [{ model: "embed-t", input: [[1, -2]] }, "input.0"],
    [{ model: "embed-t", input: ["x", []] }, "input.1"],
    [{ model: "embed-t", input: Array(2_049).fill("x") }, "input"],
    [{ model: "embed-t", input: "x", dimensions: 0 }, "dimensions"],
    [{ model: "embed-t", input: "x", dimensions: "many" }, "dimensions"],
    [{ model: "embed-t", input: "x", extra_body: { model: "other" } }, "extra_body.model"],
    [{ model: "premium-1", input: "x" }, "model"],
    [{ model: "no-such", input: "x" }, "model"],
  ];
  for (const [body, param] of cases) {
    const error = await errorOf(await world.post("/v1/embeddings", body));
    assertEquals([error.status, error.param], [400, param], JSON.stringify(body).slice(0, 200));
  }
  const chat = await errorOf(
    await world.post("/v1/chat/completions", {
      model: "embed-t",
      messages: [{ role: "user", content: "x" }],
    }),
  );
  assertStringIncludes(chat.message, "use /v1/embeddings");
  const form = await world.send("/v1/embeddings", { method: "POST", body: new FormData() });
  assertEquals((await errorOf(form)).status, 415);
  assertEquals(provider.seen.length, 0);
  assertEquals(await world.balanceVnd(), 1_000_000);
});

Deno.test("a wallet that cannot pay the most that the input can have is a 402", async () => {
  await using provider = mockProvider(() => answer(2, { prompt_tokens: 2 }));
  const world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models(perToken, "p1"),
    vnd: 100,
  });
  await using _ = world;
  assertEquals((await errorOf(await world.post("/v1/embeddings", request))).status, 402);
  assertEquals([provider.seen.length, await world.balanceVnd()], [0, 100]);
});

Deno.test("no report makes a call cost more than was reserved for it, or nothing", async () => {
  let usage: unknown;
  await using provider = mockProvider(({ json }) => {
    const { input } = json();
    const count = Array.isArray(input) && typeof input[0] !== "number" ? input.length : 1;
    return answer(count, usage as Record<string, unknown>);
  });
  const world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models({ unit: "token", vndPerMtok: 1_000 }, "p1"),
  });
  await using _ = world;
  const text = fc.string({ unit: "binary", minLength: 1, maxLength: 40 });
  const tokens = fc.array(fc.nat({ max: 200_000 }), { minLength: 1, maxLength: 8 });
  const input = fc.oneof(
    text,
    tokens,
    fc.array(fc.oneof(text, tokens), { minLength: 1, maxLength: 5 }),
  );
  const count = fc.oneof(
    fc.integer(),
    fc.double(),
    fc.string(),
    fc.constant(null),
    fc.nat({ max: 30 }),
  );
  const report = fc.record({ prompt_tokens: count, total_tokens: count }, { requiredKeys: [] });
  await fc.assert(
    fc.asyncProperty(input, report, async (input, said) => {
      usage = said;
      const response = await world.post("/v1/embeddings", { model: "embed-t", input });
      assertEquals(response.status, 200, await response.text());
      const receipt = await world.receiptOf(response);
      const bytes = new TextEncoder().encode(
        JSON.stringify(input).replace(/\\u[0-9a-f]{4}/g, "???"),
      );
      const { costMicroVnd = 0n, shortfallMicroVnd } = receipt ?? {};
      assert(costMicroVnd > 0n && costMicroVnd <= BigInt(bytes.length + 64 * 8) * 1_000n);
      assertEquals(shortfallMicroVnd, 0n);
    }),
    { numRuns: 60 },
  );
});
