/** The operator's API reaches what only pages and commands had: accounts, campaigns, margins; and describes itself. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import { getAccount, tryCreateAccount } from "../../../../kv/people/accounts/accounts.ts";
import { approveCampaign } from "../../../../kv/money/credits/campaigns.ts";
import { operatorProgram } from "../../../../kv/people/audit/operator_audit.ts";
import {
  type OperationName,
  operationNames,
  operationPaths,
} from "../../../../routes/operator/operations/contract/paths.ts";
import { operations } from "../../../../routes/operator/operations/operations.ts";
import { undescribedMembers } from "../../../support/undescribed_members.ts";
import { operatorApi, schemaOf } from "../../../support/worlds/operator_api.ts";

Deno.test("a program lists, shows, blocks and limits accounts, with audit lines", async () => {
  await using w = await operatorApi();
  const { kv } = w.gateway;
  const { accountId: id } = await w.gateway.customer(50_000);
  await tryCreateAccount(kv, { nowMs: w.gateway.time.nowMs(), email: "ann@example.com" });
  const first = await w.done("accounts.list", "/api/accounts?limit=1");
  assertEquals([first.data.length, first.has_more], [1, true]);
  const rest = await w.done("accounts.list", `/api/accounts?after=${first.data[0].id}`);
  assertEquals([rest.data.length, rest.has_more], [1, false]);
  assertEquals((await w.done("accounts.show", `/api/accounts/${id}`)).balanceVnd, "50000");
  const ann = encodeURIComponent("ann@example.com");
  const path = `/api/accounts/${ann}`;
  assertEquals((await w.done("accounts.show", path)).email, "ann@example.com");
  assertEquals(
    (await w.done("accounts.block", `${path}/block`, { blocked: true, reason: "abuse" })).blocked,
    true,
  );
  assertEquals(
    (await w.done("accounts.block", `${path}/block`, { blocked: false, reason: "ok" })).blocked,
    false,
  );
  const limits = { requestsPerMinute: 60, callsAtOnce: "none" };
  const wanted = {
    limits,
    models: { "premium-1": { tokensPerMinute: 9 } },
    reason: "big customer",
  };
  const { rateLimits } = await w.done("accounts.limits", `${path}/limits`, wanted);
  assertEquals(rateLimits, { ...limits, models: wanted.models });
  assertEquals((await w.done("accounts.show", path)).rateLimits, rateLimits);
  assertEquals(await w.done("accounts.limits", `${path}/limits`, { reason: "usual" }), {
    id: rest.data[0].id === id ? first.data[0].id : rest.data[0].id,
    rateLimits: null,
  });
  assertEquals(await w.audited(), [
    "rate_limits_changed by operator key: usual",
    "rate_limits_changed by operator key: big customer",
    "account_unblocked by operator key: ok",
    "account_blocked by operator key: abuse",
  ]);
});

Deno.test("an act on an account that changes nothing leaves no line, however often it is sent", async () => {
  await using w = await operatorApi();
  const { accountId: id } = await w.gateway.customer();
  const block = (blocked: boolean, reason: string) =>
    w.done("accounts.block", `/api/accounts/${id}/block`, { blocked, reason });
  await block(false, "not blocked");
  const sent = await Promise.all(Array.from({ length: 5 }, () => block(true, "abuse")));
  assertEquals(sent.map(({ blocked }) => blocked), [true, true, true, true, true]);
  await block(true, "abuse and debt");
  await block(false, "paid");
  await block(false, "paid");
  assertEquals(await w.audited(), [
    "account_unblocked by operator key: paid",
    "account_blocked by operator key: abuse and debt",
    "account_blocked by operator key: abuse",
  ]);
});

Deno.test("a wrong request on an account changes nothing, and names the field", async () => {
  await using w = await operatorApi();
  const { accountId: id } = await w.gateway.customer();
  const nobody = newId("account", 1);
  const wrong: readonly (readonly [string, string, unknown, number, string])[] = [
    ["GET", `/api/accounts/${nobody}`, undefined, 404, "No such account"],
    ["GET", "/api/accounts/x", undefined, 400, "Not an account id"],
    ["GET", "/api/accounts?limit=0", undefined, 400, "limit: "],
    ["POST", `/api/accounts/${id}/block`, {}, 400, "blocked: "],
    ["POST", `/api/accounts/${id}/block`, { blocked: true, reason: "" }, 400, "reason: "],
    [
      "POST",
      `/api/accounts/${nobody}/block`,
      { blocked: true, reason: "r" },
      404,
      "No such account",
    ],
    ["POST", `/api/accounts/${id}/block`, { blocked: true, reason: "r", more: 1 }, 400, "more: "],
    ["PUT", `/api/accounts/${id}/limits`, { reason: "r", limits: { x: 1 } }, 400, "limits"],
    [
      "PUT",
      `/api/accounts/${id}/limits`,
      { reason: "r", limits: { callsAtOnce: 0 } },
      400,
      "limits.",
    ],
    ["PUT", `/api/accounts/${id}/limits`, { reason: "r", models: { none: {} } }, 400, '"none"'],
    [
      "PUT",
      `/api/accounts/${id}/limits`,
      { reason: "r", limits: { vndPerHour: 5 } },
      400,
      "limits",
    ],
    ["POST", `/api/accounts/${id}/credit`, { vnd: "5" }, 403, "by persons"],
  ];
  for (const [method, path, body, status, text] of wrong) {
    const refused = await w.send(method, path, body);
    assertEquals(refused.status, status, `${method} ${path}`);
    assertStringIncludes(refused.body.error.message, text);
  }
  assertEquals(await w.audited(), []);
  const account = await getAccount(w.gateway.kv, id);
  assertEquals([account?.blockedAtMs, account?.rateLimits], [undefined, undefined]);
});

Deno.test("a refusal with a body of its own is as the document describes it", async () => {
  await using w = await operatorApi();
  const ask = async (name: OperationName, base: number, body: unknown) => {
    const { method, path } = operationPaths[name];
    const headers = { authorization: `Bearer ${w.operatorKey}`, "if-match": `"${base}"` };
    const init = { method, headers, body: JSON.stringify(body) };
    const response = await w.gateway.fetch(new Request(`http://gateway/operator${path}`, init));
    return { status: response.status, body: await response.json() };
  };
  const { catalog, newest } = await w.done("catalog.show", "/catalog");
  const reason = "r";
  const bad = { ...catalog, listRate: -1 };
  const refusals: readonly (readonly [OperationName, number, unknown, 409 | 412 | 422])[] = [
    ["catalog.preview", newest, { catalog: bad }, 422],
    ["catalog.apply", newest, { catalog: bad, reason }, 422],
    ["catalog.apply", newest, { catalog, reason }, 409],
    ["catalog.apply", newest + 1, { catalog, reason }, 412],
    ["catalog.rollback", newest, { version: newest, reason }, 409],
    ["catalog.rollback", newest + 1, { version: newest, reason }, 412],
    ["catalog.withdraw", newest + 1, { reason }, 412],
  ];
  for (const [name, base, sent, status] of refusals) {
    const answer = await ask(name, base, sent);
    assertEquals(answer.status, status, name);
    const { body } = operations[name].refusals?.[status] ?? {};
    assertEquals(body?.parse(answer.body), answer.body, name);
    assertEquals(undescribedMembers([schemaOf(name, `${status}`)], answer.body), [], name);
  }
});

Deno.test("a body that is no object of JSON is refused by each operation, and the field at fault is named", async () => {
  await using w = await operatorApi();
  const ask = async (name: OperationName, body: string | Uint8Array<ArrayBuffer>) => {
    const { method, path } = operationPaths[name];
    const filled = path.replaceAll(/:action\{[^}]*\}/g, "drain").replaceAll(
      /:\w+(\{[^}]*\})?/g,
      "x",
    );
    const headers = { authorization: `Bearer ${w.operatorKey}` };
    const url = `http://gateway/operator${filled}`;
    const response = await w.gateway.fetch(new Request(url, { method, headers, body }));
    return { status: response.status, error: (await response.json()).error };
  };
  const byPersons = operationNames.filter((name) => operations[name].authority === "person");
  assert(byPersons.length > 3);
  for (const name of byPersons) {
    const { status, error } = await ask(name, "{}");
    assertEquals([status, error.code], [403, "permission_denied"], name);
  }
  const halfOfLetter = Uint8Array.of(...new TextEncoder().encode('{"reason":"'), 0xe1, 0x22, 0x7d);
  for (const name of operationNames) {
    if (operationPaths[name].method === "GET" || byPersons.includes(name)) continue;
    for (const body of ["{", "x", halfOfLetter]) {
      const { status, error } = await ask(name, body);
      assertEquals([status, error.code], [400, "invalid_json"], name);
    }
    for (const body of ["null", "[]", "1", '"x"']) {
      const { status, error } = await ask(name, body);
      assertEquals([status, error.code, error.param], [400, "invalid_request", null], name);
      assertStringIncludes(error.message, "must be an object", name);
    }
    const { status, error } = await ask(name, '{"no such field":1}');
    assertEquals(status, 400, name);
    assertStringIncludes(error.message, "no such field", name);
  }
  const one = await ask("announcements.publish", '{"kind":"incident","title":"t","text":""}');
  assertEquals([one.error.param, one.error.message], [
    "text",
    "text: must have 1 to 2000 characters",
  ]);
  const two = await ask("announcements.publish", '{"kind":"incident","title":"","text":""}');
  assertEquals(two.error.param, null);
  const alien = await ask("maintenance.set", '{"on":true,"because":"x"}');
  assertEquals(alien.error.param, "because");
});

Deno.test("ids, addresses and cursors of any length and kind are refused, and never a defect", async () => {
  await using w = await operatorApi();
  const { accountId } = await w.gateway.customer();
  const long = "x".repeat(3_000);
  const texts = [
    long,
    `${long}@example.com`,
    "a\u0000b@example.com",
    accountId,
    newId("invoice", 1),
    `1:sepay:${long}`,
    "1:sepay:a\u0000b",
    "-5:sepay:1",
    "1e3:sepay:1",
    "99999999999999999999:sepay:1",
    "9007199254740993",
    "-1",
    "..",
    "",
  ];
  for (const name of operationNames.filter((one) => operationPaths[one].method === "GET")) {
    const { path } = operationPaths[name];
    for (const text of texts.map(encodeURIComponent)) {
      const asked = path.includes(":")
        ? [path.replaceAll(/:\w+(\{[^}]*\})?/g, text)]
        : ["before", "after", "account"].map((field) => `${path}?${field}=${text}`);
      for (const one of asked) {
        const { status, body } = await w.send("GET", one);
        assert([200, 400, 404].includes(status), `${status} ${one} ${JSON.stringify(body)}`);
      }
    }
  }
});

Deno.test("a campaign of a program gives nothing until a person agrees, whom no program replaces", async () => {
  await using w = await operatorApi();
  const { kv, time } = w.gateway;
  const terms = { kind: "voucher", name: "Tet", amount: "20000", budget: "100000" };
  const made = await w.done("campaigns.make", "/api/campaigns", terms);
  assertEquals([made.needsApproval, made.createdBy], [true, { email: "operator key" }]);
  const { id } = made;
  assertEquals((await w.send("POST", `/api/campaigns/${id}/approve`)).status, 403);
  const limitMicroVnd = fromVnd(100_000);
  const program = { operator: operatorProgram, nowMs: time.nowMs(), limitMicroVnd };
  assertEquals(await approveCampaign(kv, id, program), "person");
  const person = { accountId: newId("account", 1), email: "op@example.com" };
  assertEquals(await approveCampaign(kv, id, { ...program, operator: person }), "done");
  assertEquals(await w.done("campaigns.pause", `/api/campaigns/${id}/pause`, { paused: true }), {
    id,
    paused: true,
  });
  const again = await w.send("POST", `/api/campaigns/${id}/pause`, { paused: true });
  assertEquals(again.status, 400);
  assertStringIncludes(again.body.error.message, "in that state already");
  await w.done("campaigns.pause", `/api/campaigns/${id}/pause`, { paused: false });
  const { codes } = await w.done("campaigns.codes", `/api/campaigns/${id}/codes`, { count: 2 });
  assertEquals(new Set(codes).size, 2);
  const { data: [row] } = await w.done("campaigns.list", "/api/campaigns");
  assertEquals([row.id, row.paused, row.approvedBy.email], [id, false, "op@example.com"]);
  const wrong = await w.send("POST", "/api/campaigns", { ...terms, budget: "much" });
  assertEquals([wrong.status, wrong.body.error.param], [400, "budget"]);
});

Deno.test("a program reads margins and provider sheets of days", async () => {
  await using w = await operatorApi();
  const margins = await w.done(
    "margins.show",
    "/api/margins?by=route&from=2026-11-01&to=2026-11-20",
  );
  assertEquals([margins.fromDay, margins.total.calls], ["2026-11-01", 0]);
  const sheet = await w.done("margins.sheet", "/api/provider-sheet?from=2026-11-01");
  assertEquals([sheet.toUtcDay, sheet.rows], ["2026-11-01", []]);
  const late = await w.send("GET", "/api/margins?from=2026-11-02&to=2026-11-01");
  assertEquals([late.status, late.body.error.param], [400, "from"]);
  assertEquals((await w.send("GET", "/api/margins?by=colour")).status, 400);
});

Deno.test("the paths below /operator/api exist for the operator's key only", async () => {
  await using w = await operatorApi();
  const paths = [...operationNames.map((name) => operationPaths[name]), {
    method: "GET",
    path: "/openapi.json",
  }];
  for (const { method, path } of paths) {
    const written = path.replaceAll(/:action\{(\w+)\|[^}]*\}/g, "$1")
      .replaceAll(/:version\{[^}]*\}/g, "1").replaceAll(/:\w+(?:\{[^}]*\})?/g, "x");
    assertEquals((await w.send(method, written, undefined, "another")).status, 401, path);
  }
  assertEquals((await w.send("GET", "/api/nothing")).body.error.code, "not_found");
});

Deno.test("the OpenAPI document has every operation, with its parameters, body and answers", async () => {
  await using w = await operatorApi();
  const { status, body: document } = await w.send("GET", "/openapi.json");
  assertEquals([status, document.openapi], [200, "3.1.0"]);
  const described = Object.entries<Record<string, { operationId: string }>>(document.paths)
    .flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, { operationId }]) => `${operationId} ${method} ${path}`)
    );
  const ofPrograms = operationNames.filter((name) => operations[name].authority !== "person");
  assertEquals(described.length, ofPrograms.length);
  for (const name of ofPrograms) {
    const { method } = operationPaths[name];
    assert(described.some((line) => line.startsWith(`${name} ${method.toLowerCase()} /operator/`)));
  }
  const limits = document.paths["/operator/api/accounts/{account}/limits"].put;
  assertEquals(limits.parameters.map(({ name }: { name: string }) => name), ["account"]);
  const { schema } = limits.requestBody.content["application/json"];
  assertEquals([Object.keys(schema.properties), schema.required], [
    ["limits", "models", "reason"],
    ["reason"],
  ]);
  const apply = document.paths["/operator/catalog"].put;
  assertEquals(apply.parameters.map(({ name }: { name: string }) => name), ["if-match"]);
  for (const answer of ["200", "401", "409", "412", "422"]) {
    assert(answer in apply.responses, answer);
  }
  const references = JSON.stringify(document).matchAll(/"#\/components\/(\w+)\/([\w-]+)"/g);
  for (const [reference, group = "", entry = ""] of references) {
    assert(entry in document.components[group], reference);
  }
});
