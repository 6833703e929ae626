/** The operator's API answers what it always has: status, `etag` and body of each request, in order on one gateway. */
import { assertEquals } from "../../../support/assert.ts";
import { openTestGateway } from "../../../support/gateways/gateway_in_process.ts";

const operatorKey = "operator-key-of-a-test-0123456789";
const recording = new URL("recorded_answers.json", import.meta.url);

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly base?: number;
  readonly body?: unknown;
  readonly text?: string;
  readonly key?: string;
}

/** Replaces what follows the built-in catalogue, which changes for other reasons. */
function withoutContents(name: string, value: unknown): unknown {
  if (name === "catalog" && typeof value === "object" && value !== null) return "(contents)";
  if (name === "digest") return "(digest)";
  // One route stands for all.
  if (name === "data" && Array.isArray(value) && value[0]?.priority !== undefined) {
    return value.slice(0, 1);
  }
  return value;
}

function requests(catalog: Record<string, unknown>, routeId: string): readonly Asked[] {
  const route = `/routes/${encodeURIComponent(routeId)}`;
  const changed = { ...catalog, listRate: 23_000 };
  const from = "2026-12-01T00:00:00+07:00";
  return [
    { method: "GET", path: "/routes", key: "another" },
    { method: "POST", path: "/routes/none/disable", body: {} },
    { method: "POST", path: `${route}/disable`, text: "{" },
    { method: "POST", path: `${route}/disable`, body: { reason: "" } },
    { method: "POST", path: `${route}/disable`, body: { why: "slow" } },
    { method: "POST", path: `${route}/drain`, body: { reason: "slow" } },
    { method: "POST", path: `${route}/enable` },
    { method: "GET", path: "/routes" },
    { method: "GET", path: "/provider-claims" },
    { method: "GET", path: "/provider-claims?from=2026-11-01&to=2026-11-20" },
    { method: "GET", path: "/provider-claims?from=yesterday" },
    { method: "GET", path: "/maintenance" },
    { method: "POST", path: "/maintenance", body: {} },
    { method: "POST", path: "/maintenance", body: [] },
    { method: "POST", path: "/maintenance", body: { on: true, because: "x" } },
    { method: "POST", path: "/maintenance", body: { on: true } },
    { method: "POST", path: "/maintenance", body: { on: true, message: "back at six" } },
    { method: "GET", path: "/maintenance" },
    { method: "POST", path: "/maintenance", body: { on: false } },
    { method: "GET", path: "/catalog" },
    { method: "GET", path: "/catalog/nothing" },
    { method: "POST", path: "/catalog/preview", body: { catalog: changed } },
    { method: "POST", path: "/catalog/preview", body: { catalog: { ...changed, listRate: -1 } } },
    { method: "POST", path: "/catalog/preview", body: { more: 1 } },
    { method: "PUT", path: "/catalog", body: { catalog: changed, reason: "r" } },
    { method: "PUT", path: "/catalog", base: 1, body: { catalog: changed } },
    { method: "PUT", path: "/catalog", base: 1, text: '{"catalog":{"a":12345678901234567890.5}}' },
    {
      method: "PUT",
      path: "/catalog",
      base: 1,
      body: { catalog: changed, reason: "r", effective_from: "tomorrow" },
    },
    {
      method: "PUT",
      path: "/catalog",
      base: 1,
      body: { catalog: { ...changed, listRate: -1 }, reason: "r" },
    },
    { method: "PUT", path: "/catalog", base: 1, body: { catalog, reason: "same" } },
    { method: "PUT", path: "/catalog", base: 1, body: { catalog: changed, reason: "dearer" } },
    { method: "PUT", path: "/catalog", base: 1, body: { catalog, reason: "late" } },
    { method: "POST", path: "/catalog/rollback", base: 2, body: { version: 9, reason: "r" } },
    { method: "POST", path: "/catalog/rollback", base: 2, body: { version: 0, reason: "r" } },
    { method: "POST", path: "/catalog/rollback", base: 1, body: { version: 1, reason: "r" } },
    { method: "POST", path: "/catalog/rollback", base: 2, body: { version: 1, reason: "back" } },
    { method: "DELETE", path: "/catalog/scheduled", base: 3, body: { reason: "r" } },
    {
      method: "PUT",
      path: "/catalog",
      base: 3,
      body: { catalog: changed, reason: "later", effective_from: from },
    },
    { method: "GET", path: "/catalog" },
    { method: "DELETE", path: "/catalog/scheduled", base: 3, body: { reason: "r" } },
    { method: "DELETE", path: "/catalog/scheduled", base: 4, body: {} },
    { method: "DELETE", path: "/catalog/scheduled", base: 4, body: { reason: "not now" } },
    { method: "GET", path: "/catalog/versions" },
    { method: "GET", path: "/catalog/versions?before=2" },
    { method: "GET", path: "/catalog/versions?before=newest" },
    { method: "GET", path: "/catalog/versions/2" },
    { method: "GET", path: "/catalog/versions/99" },
    { method: "GET", path: "/catalog", key: "another" },
  ];
}

Deno.test("each request of the operator's API is answered as it was recorded", async () => {
  await using gateway = await openTestGateway({ env: { GATEWAY_OPERATOR_KEY: operatorKey } });
  const send = ({ method, path, base, body, text, key = operatorKey }: Asked) =>
    gateway.fetch(
      new Request(`http://gateway/operator${path}`, {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          ...(base !== undefined && { "if-match": `"${base}"` }),
        },
        body: text ?? (body === undefined ? null : JSON.stringify(body)),
      }),
    );
  const { catalog } = await (await send({ method: "GET", path: "/catalog" })).json();
  const { data: [{ id }] } = await (await send({ method: "GET", path: "/routes" })).json();
  const answers: unknown[] = [];
  for (const asked of requests(catalog, id)) {
    const response = await send(asked);
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.startsWith("application/json") === true;
    answers.push({
      asked: `${asked.method} ${asked.path}`,
      status: response.status,
      type: response.headers.get("content-type"),
      etag: response.headers.get("etag"),
      body: isJson ? JSON.stringify(JSON.parse(text, withoutContents)) : text,
    });
  }
  // To record again after a wanted change, write this text to the file.
  const written = `${JSON.stringify(answers, null, 2)}\n`;
  assertEquals(written, await Deno.readTextFile(recording).catch(() => ""));
});
