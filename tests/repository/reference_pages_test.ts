/** The pages for operators and clients name every variable, metric and path; the admin app serves every command. */
import { assert, assertEquals } from "../support/assert.ts";
import { openTestGateway, testConfig } from "../support/gateways/gateway_in_process.ts";
import { editingOf } from "../../routes/operator/operations/contract/editing.ts";
import { createAdminApp } from "../../routes/operator/cli/app.ts";
import { commandForms } from "../../routes/operator/cli/command_forms.ts";
import { createApp } from "../../routes/server/listen/app.ts";
import { createOperatorApi } from "../../routes/operator/api/app.ts";

const root = new URL("../../", import.meta.url);

function pages(...paths: readonly string[]): string {
  return paths.map((path) => Deno.readTextFileSync(new URL(path, root))).join("\n");
}

/** The guides for operators. */
const operations = Deno.readDirSync(new URL("docs/operations/", root)).toArray()
  .map(({ name }) => `docs/operations/${name}`);

/** A path of Hono as pages write it: `/v1/models/{id}`; the first of several alternatives. */
function writtenPath(path: string): string {
  return path.replaceAll(/:\w+\{(\w+)\|[^}]*\}/g, "$1").replaceAll(/:(\w+)(?:\{[^}]*\})?/g, "{$1}");
}

Deno.test("each environment variable that is read is on a page", () => {
  const folders = ["core/config/", "core/trade/settings/", "core/trade/invoices/"];
  const sources = folders.flatMap((folder) =>
    Deno.readDirSync(new URL(folder, root)).toArray().map(({ name }) => pages(folder + name))
  );
  const variable =
    /\b(?:PORT|HOST|(?:ALL|CASSO|DENO|GATEWAY|GITHUB|GOOGLE|HTTPS?|MAIL|OIDC|OTEL|SEPAY)_[A-Z_]+)\b/g;
  const names = new Set(sources.join("\n").match(variable));
  assert(names.size > 20);
  const text = pages(
    "docs/configuration.md",
    "docs/accounts.md",
    "docs/sign-in.md",
    "docs/topup.md",
    ...operations,
  );
  assertEquals([...names].filter((name) => !new RegExp(`\`${name}[\`=]`).test(text)), []);
});

Deno.test("each metric is in docs/operations/monitoring.md", async () => {
  await using gateway = await openTestGateway();
  const text = gateway.assembled.gateway.metrics.text();
  const names = Array.from(text.matchAll(/^# TYPE (\w+) /gm), ([, name]) => name);
  assert(names.length > 10);
  const page = pages("docs/operations/monitoring.md");
  assertEquals(names.filter((name) => !page.includes(`\`${name}\``)), []);
});

Deno.test("each path for programs is on a page", async () => {
  await using gateway = await openTestGateway();
  const { gateway: parts } = gateway.assembled;
  const app = createApp(parts, { stopping: () => false });
  const operator = createOperatorApi(parts);
  const paths = [
    ...app.routes,
    ...operator.routes.map(({ path }) => ({ path: `/operator${path}` })),
  ]
    .map(({ path }) => path).filter((path) => !path.includes("*"));
  assert(paths.length > 20);
  const text = pages("docs/api.md", "docs/media.md", "docs/endpoints.md", ...operations);
  const missing = paths.map(writtenPath).filter((path) => !text.includes(path));
  assertEquals([...new Set(missing)], []);
});

Deno.test("each command of the operator is served", async () => {
  await using gateway = await openTestGateway();
  const { kv, masterKeys, assembled: { gateway: { clock, control, wallet } } } = gateway;
  const { topup, retention } = testConfig();
  const editing = editingOf(gateway.assembled.gateway);
  const deps = {
    kv,
    masterKeys,
    origin: "https://gw.example",
    clock,
    control,
    wallet,
    topup,
    editing,
    parts: undefined,
    retention,
  };
  const app = createAdminApp(deps);
  for (const { words, operands, request } of commandForms) {
    const { method, path, isLocal } = request(operands.map(() => "x"), {});
    if (isLocal === true) continue;
    const [pathname = path] = path.split("?");
    const isServed = app.routes.some((route) =>
      route.method === method &&
      new URLPattern({ pathname: route.path.replaceAll(/\{[^}]*\}/g, "") }).test({ pathname })
    );
    assert(isServed, `${words.join(" ")}: nothing serves ${method} ${path}`);
  }
});
