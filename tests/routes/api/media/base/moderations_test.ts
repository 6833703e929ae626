import { assert, assertEquals } from "../../../../support/assert.ts";
import { errorOf, mockProvider, openMediaWorld } from "../../gateway/media_world.ts";

function models(vnd: number, ...providers: string[]) {
  return [{
    id: "moderation-t",
    kind: "moderation",
    family: "test",
    price: { unit: "request", vnd },
    routes: providers.map((provider, priority) => ({ provider, priority, model: "mod-up" })),
  }];
}

const result = '{"flagged":false,"categories":{"hate":false},"category_scores":{"hate":1.0e-5}}';
const body = `{"id":"modr-1", "model":"mod-up","results":[ ${result} ]}`;
const answer = () => new Response(body, { headers: { "content-type": "application/json" } });

Deno.test("moderation passes unchanged but for the model's name, and is free for an empty wallet", async () => {
  await using provider = mockProvider(answer);
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models(0, "p1"),
    vnd: 0,
  });
  const input = [{ type: "text", text: "x" }, {
    type: "image_url",
    image_url: { url: "data:image/png;base64,iVBORw0KGgo=" },
  }];
  for (const model of ["moderation-t", undefined]) {
    const response = await world.post("/v1/moderations", { input, model });
    assertEquals(await response.text(), body.replace("mod-up", "moderation-t"));
    assertEquals(response.headers.get("x-gateway-cost-vnd"), "0");
    assertEquals(provider.seen.at(-1)!.json(), { input, model: "mod-up" });
    assertEquals(provider.seen.at(-1)!.path, "/v1/moderations");
    const receipt = await world.receiptOf(response);
    assertEquals(
      [receipt?.kind, receipt?.style, receipt?.costMicroVnd, receipt?.units],
      ["moderation", "moderations", 0n, 1],
    );
  }
});

Deno.test("a price per call is charged once; failures are free and go to the next route", async () => {
  const faults = [
    () => new Response("x", { status: 503 }),
    () => Response.json({ results: [] }),
    () => Response.json({ error: { message: "broken" } }),
  ];
  let fault = faults[0]!;
  await using first = mockProvider(() => fault());
  await using second = mockProvider(answer);
  await using world = await openMediaWorld({
    providers: { p1: first.port, p2: second.port },
    models: models(3, "p1", "p2"),
  });
  await using alone = await openMediaWorld({
    providers: { p1: first.port },
    models: models(3, "p1"),
  });
  for (const one of faults) {
    fault = one;
    const response = await world.post("/v1/moderations", { model: "moderation-t", input: "x" });
    assertEquals(response.status, 200, await response.text());
    const failed = await alone.post("/v1/moderations", { model: "moderation-t", input: "x" });
    assert(failed.status >= 500);
    await failed.body?.cancel();
  }
  assertEquals([await world.balanceVnd(), await alone.balanceVnd()], [1_000_000 - 9, 1_000_000]);
});

Deno.test("bad requests name their field, and addresses of internal servers are refused", async () => {
  await using provider = mockProvider(answer);
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: models(3, "p1"),
    names: { "pictures.example": 1 },
  });
  const picture = (url: string) => [{ type: "image_url", image_url: { url } }];
  const cases: [body: Record<string, unknown>, param: string][] = [
    [{ input: undefined }, "input"],
    [{ input: 7 }, "input"],
    [{ input: [] }, "input"],
    [{ input: Array(1_025).fill("x") }, "input"],
    [{ input: ["x", { type: "audio" }] }, "input.1"],
    [{ input: picture("http://169.254.169.254/latest") }, "input.0"],
    [{ input: picture("http://127.0.0.1/x.png") }, "input.0"],
    [{ input: picture("https://inside.example/x.png") }, "input.0"],
    [{ input: "x", model: "" }, "model"],
    [{ input: "x", model: "premium-1" }, "model"],
  ];
  for (const [change, param] of cases) {
    const request = { model: "moderation-t", ...change };
    const error = await errorOf(await world.post("/v1/moderations", request));
    assertEquals([error.status, error.param], [400, param], JSON.stringify(change).slice(0, 200));
  }
  assertEquals([provider.seen.length, await world.balanceVnd()], [0, 1_000_000]);
  const input = picture("https://pictures.example/x.png");
  const allowed = await world.post("/v1/moderations", { model: "moderation-t", input });
  assertEquals(allowed.status, 200, await allowed.text());
});
