import { assert, assertEquals } from "../../../support/assert.ts";
import { openTestGateway } from "../../../support/gateways/gateway_in_process.ts";
import { listAuditLines } from "../../../../kv/people/audit/operator_audit.ts";

const operatorKey = "operator-key-of-a-test-0123456789";

async function world() {
  const gateway = await openTestGateway({ env: { GATEWAY_OPERATOR_KEY: operatorKey } });
  return {
    gateway,
    async ask(
      method: string,
      path: string,
      { body, base, key = operatorKey }: { body?: unknown; base?: number; key?: string } = {},
    ) {
      const response = await gateway.fetch(
        new Request(`http://gateway/operator/catalog${path}`, {
          method,
          headers: {
            authorization: `Bearer ${key}`,
            ...(base !== undefined && { "if-match": `"${base}"` }),
          },
          ...(body !== undefined && { body: JSON.stringify(body) }),
        }),
      );
      return {
        status: response.status,
        etag: response.headers.get("etag"),
        ...await json(response),
      };
    },
    [Symbol.asyncDispose]: () => gateway[Symbol.asyncDispose](),
  };
}

async function json(response: Response) {
  return { body: await response.json() };
}

Deno.test("a program reads the catalogue, tries a change, applies it, and takes it back", async () => {
  await using w = await world();
  const first = await w.ask("GET", "");
  assertEquals([first.status, first.etag, first.body.version], [200, '"1"', 1]);
  const catalog = first.body.catalog;
  catalog.models[0].price.vndPerMtok = 9_999;
  const preview = await w.ask("POST", "/preview", { body: { catalog } });
  assertEquals(preview.body.lines, ["~ model premium-1 price.vndPerMtok: 8300 → 9999"]);
  assertEquals((await w.ask("GET", "")).body.version, 1);
  const applied = await w.ask("PUT", "", { base: 1, body: { catalog, reason: "dearer" } });
  assertEquals([applied.status, applied.etag, applied.body.version], [200, '"2"', 2]);
  const live = w.gateway.assembled.gateway.catalog.current;
  assertEquals(live.version, 2);
  const back = await w.ask("POST", "/rollback", { base: 2, body: { version: 1, reason: "no" } });
  assertEquals([back.body.version, back.body.rollback_to, back.body.parent], [3, 1, 2]);
  const { body: { data } } = await w.ask("GET", "/versions");
  assertEquals(
    data.map(({ version, author, reason }: Record<string, unknown>) =>
      [version, author, reason].join(" ")
    ),
    ["3 operator key no", "2 operator key dearer", "1 gateway.json "],
  );
  const second = await w.ask("GET", "/versions/2");
  assertEquals(second.body.lines, preview.body.lines);
  const lines = await listAuditLines(w.gateway.kv, { count: 9 });
  assertEquals(lines.map(({ act, detail }) => `${act} ${detail}`), [
    "catalog_applied no",
    "catalog_applied dearer",
  ]);
});

Deno.test("a change on another version than the newest is refused, and says whose it is", async () => {
  await using w = await world();
  const { body: { catalog } } = await w.ask("GET", "");
  catalog.listRate = 23_000;
  assertEquals((await w.ask("PUT", "", { body: { catalog, reason: "r" } })).status, 400);
  await w.ask("PUT", "", { base: 1, body: { catalog, reason: "theirs" } });
  catalog.listRate = 24_000;
  const late = await w.ask("PUT", "", { base: 1, body: { catalog, reason: "ours" } });
  assertEquals([late.status, late.body.newest.reason], [412, "theirs"]);
  assertEquals(w.gateway.assembled.gateway.catalog.current.listRate, 23_000);
  const same = await w.ask("PUT", "", {
    base: 2,
    body: { catalog: { ...catalog, listRate: 23_000 }, reason: "again" },
  });
  assertEquals([same.status, same.body.error.code], [409, "unchanged"]);
});

Deno.test("a broken catalogue is refused with all problems at once", async () => {
  await using w = await world();
  const { body: { catalog } } = await w.ask("GET", "");
  catalog.models[0].price = { unit: "token" };
  catalog.models[1].routes = [{ provider: "nowhere" }];
  catalog.defaultModel = "none";
  for (const [method, path] of [["POST", "/preview"], ["PUT", ""]] as const) {
    const body = method === "PUT" ? { catalog, reason: "r" } : { catalog };
    const refused = await w.ask(method, path, { base: 1, body });
    assertEquals(refused.status, 422);
    const problems: string[] = refused.body.problems ?? refused.body.error.problems;
    for (const part of ["models.0.price", `"nowhere" is not in providers`, "defaultModel"]) {
      assert(problems.some((line) => line.includes(part)), problems.join("\n"));
    }
  }
  assertEquals((await w.ask("GET", "/versions")).body.data.length, 1);
});

Deno.test("a version may wait for its moment, and be withdrawn", async () => {
  await using w = await world();
  const { body: { catalog } } = await w.ask("GET", "");
  catalog.listRate = 23_000;
  const at = (effective_from: string) =>
    w.ask("PUT", "", { base: 1, body: { catalog, reason: "r", effective_from } });
  assertEquals((await at("tomorrow")).status, 400);
  assertEquals((await at("2999-01-01T00:00:00Z")).status, 400);
  const from = new Date(w.gateway.time.nowMs() + 3_600_000).toISOString();
  assertEquals((await at(from)).body.effective_from, from);
  const state = await w.ask("GET", "");
  assertEquals([state.body.version, state.body.newest, state.body.scheduled], [1, 2, {
    version: 2,
    effective_from: from,
  }]);
  const withdrawn = await w.ask("DELETE", "/scheduled", { base: 2, body: { reason: "r" } });
  assertEquals(withdrawn.status, 200);
  assertEquals((await w.ask("GET", "")).body.scheduled, null);
});

Deno.test("the catalogue is for the operator's key only", async () => {
  await using w = await world();
  for (const [method, path] of [["GET", ""], ["PUT", ""], ["GET", "/versions"]] as const) {
    assertEquals((await w.ask(method, path, { key: "another" })).status, 401);
  }
});
