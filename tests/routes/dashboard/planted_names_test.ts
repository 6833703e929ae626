/**
 * Names that not every role may see are planted in a full organisation, and are found in no answer to a role without the
 * right: on no page, in no file that pages offer, in no answer of the management API or of the usage API.
 */
import { assert, assertEquals } from "../../support/assert.ts";
import { isJsonObject } from "../../../core/lib/json/json.ts";
import { type Act, may, type Role, roles } from "../../../core/people/organisations/acts.ts";
import { maskApiKey } from "../../../core/people/api_keys/api_key.ts";
import { createApiKey } from "../../../kv/people/api_keys/api_key_changes.ts";
import { managementRoles } from "../../../kv/people/management_keys/management_keys.ts";
import { mayVisit, pageActs } from "../../../routes/dashboard/page/page_acts.ts";
import { managementOperations } from "../../../routes/management_api/operations.ts";
import { exampleModels } from "../../../routes/openapi/example_models.ts";
import { openApiDocument } from "../../../routes/openapi/document.ts";
import { defaultCatalog } from "../../support/gateways/gateway_in_process.ts";
import { type FullCompany, openFullCompany } from "../../support/worlds/full_company.ts";
import { openTwoInstances, type TwoInstances } from "../../support/worlds/two_instances.ts";

/** What shows an act's rows, by the act that may see it. */
function plantedIn({ apiKey, known }: FullCompany): readonly (readonly [Act, string])[] {
  return [
    ["view_keys", "Zirkonia production"],
    ["view_keys", maskApiKey(apiKey)],
    ["view_invoices", known["invoices/:id"] ?? ""],
    ["change_webhooks", "Zirkonia books"],
    ["change_webhooks", "hooks.zirkonia.example"],
    ["change_management_keys", "Zirkonia billing"],
  ];
}

/** Queries with which a page or a file says more than without. */
const queries = ["", "?by=key", "?group=key", "?q=Zirkonia", "?format=json", "?format=csv"];

/** Pages that everybody opens, beside those with an act. */
const others = ["/", "/account", "/organisations", "/models", "/connect"];

function filled(path: string, { known }: FullCompany): string {
  return path.replaceAll(/([\w-]+)\/(?::(\w+)|\{(\w+)\})/g, (whole, before, name, written) => {
    const value = known[`${before}/:${name ?? written}`];
    return value === undefined ? whole : `${before}/${encodeURIComponent(value)}`;
  });
}

/** Lists what an answer names although the role may not see it. */
function leaksIn(text: string, role: Role, where: string, company: FullCompany): string[] {
  return plantedIn(company)
    .filter(([act, name]) => !may(role, act) && text.includes(name))
    .map(([act, name]) => `${where} names ${name}, without ${act}`);
}

async function open(): Promise<
  AsyncDisposable & { readonly world: TwoInstances; readonly company: FullCompany }
> {
  const world = await openTwoInstances({ kind: "memory" });
  const company = await openFullCompany(world);
  // One budget is of a key: its row would name the key.
  const { browser } = company.people.owner;
  const page = await browser.get("/budgets/new");
  const fields = { name: "One", of: `key:${company.known["keys/:id"]}`, amount: "900000" };
  assertEquals((await browser.submit(page, "/budgets", fields)).status, 303);
  return { world, company, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() };
}

Deno.test("pages and their files name to no role what it may not see", async () => {
  await using opened = await open();
  const { company } = opened;
  const leaks: string[] = [];
  const paths = [
    ...others,
    ...pageActs.filter(({ method }) => method === "GET").map(({ path }) => path),
  ].filter((path) => !path.includes("*")).map((path) => filled(path, company));
  let answers = 0;
  for (const role of roles) {
    const { browser } = company.people[role];
    for (const path of paths.filter((path) => mayVisit({ role }, path))) {
      for (const query of queries) {
        const { text, status } = await browser.get(path + query);
        if (status === 200) answers++;
        leaks.push(...leaksIn(text, role, `${path}${query} to ${role}`, company));
      }
    }
  }
  assertEquals(leaks, []);
  assert(answers > 300, String(answers));
});

async function answerOf(
  { first }: TwoInstances,
  path: string,
  key: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const headers = { authorization: `Bearer ${key}` };
  const response = await first.fetch(new Request(first.baseUrl + path, { headers }));
  return { status: response.status, text: await response.text() };
}

Deno.test("the management API names to no role what it may not see", async () => {
  await using opened = await open();
  const { world, company } = opened;
  const leaks: string[] = [];
  let answers = 0;
  for (const role of managementRoles) {
    for (const { method, path } of managementOperations) {
      if (method !== "get") continue;
      for (const query of queries) {
        const asked = filled(path, company) + query;
        const { status, text } = await answerOf(world, asked, company.managementKeys[role]);
        if (status === 200) answers++;
        leaks.push(...leaksIn(text, role, `${asked} to ${role}`, company));
      }
    }
  }
  assertEquals(leaks, []);
  assert(answers > 40, String(answers));
});

/** What the API answers of an account to whoever reads it: all of the OpenAPI document but the management API. */
const usagePaths = Object.entries(
  openApiDocument({
    server: "/",
    models: exampleModels(await defaultCatalog()),
  }).paths ?? {},
).filter(([path, operations]) =>
  !path.startsWith("/v1/organisation") && isJsonObject(operations) &&
  operations["get"] !== undefined
).map(([path]) => path);

/** Queries with which the usage API names keys, if it does. */
const usageQueries = ["", "?by=key", "?format=csv", "?format=json", "?format=ndjson"];

/** Asks for everything with a key; returns what is named of `planted`. */
async function namedTo(
  { world, company }: Awaited<ReturnType<typeof open>>,
  secret: string,
  planted: readonly string[],
): Promise<string[]> {
  const named: string[] = [];
  let answers = 0;
  for (const path of usagePaths) {
    for (const query of usageQueries) {
      const asked = filled(path, company) + query;
      const { status, text } = await answerOf(world, asked, secret);
      if (status === 200) answers++;
      named.push(
        ...planted.filter((name) => text.includes(name)).map((name) => `${asked}: ${name}`),
      );
    }
  }
  assert(answers > 10, String(answers));
  return named;
}

Deno.test("the usage API names to no role what it may not see", async () => {
  await using opened = await open();
  const { company } = opened;
  for (const role of managementRoles) {
    const planted = plantedIn(company).filter(([act]) => !may(role, act)).map(([, name]) => name);
    assertEquals(await namedTo(opened, company.managementKeys[role], planted), [], role);
  }
});

Deno.test("the usage API names keys to an API key as the member may see them who made it", async () => {
  await using opened = await open();
  const { world: { kv, time, first }, company } = opened;
  const planted = ["Zirkonia production"];
  for (const role of roles) {
    const made = await createApiKey(kv, first.gateway.masterKeys, company.account.id, {
      name: role,
      memberId: company.people[role].person.id,
      nowMs: time.nowMs(),
    });
    assert(made.ok);
    const named = await namedTo(opened, made.secret, planted);
    assertEquals(named.length > 0, may(role, "view_keys"), `${role}: ${named}`);
  }
});

Deno.test("the usage API names no other key to a key that reads only its own calls", async () => {
  await using opened = await open();
  const { world: { kv, time, first }, company } = opened;
  const made = await createApiKey(kv, first.gateway.masterKeys, company.account.id, {
    name: "own",
    readsOnlyOwnCalls: true,
    memberId: company.people.developer.person.id,
    nowMs: time.nowMs(),
  });
  assert(made.ok);
  const others = [
    "Zirkonia production",
    maskApiKey(company.apiKey),
    company.known["keys/:id"] ?? "",
  ];
  assertEquals(await namedTo(opened, made.secret, others), []);
});
