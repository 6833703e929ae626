/**
 * Every page, form, path of the API and operation of the management API, over two instances of a gateway on one store:
 * what is made or ended at the one is tried at the other by each role, by outsiders who know every id, by visitors, and
 * by a person who was removed. Paths come from the tables of the product, so that new ones are tried, too.
 */
import { assert, assertEquals } from "../support/assert.ts";
import { may, type Role, roles } from "../../core/people/organisations/acts.ts";
import { isJsonObject, type JsonObject } from "../../core/lib/json/json.ts";
import type { StoreLocation } from "../../core/config/platform.ts";
import type { RowKind } from "../../kv/engine/schema/store_key.ts";
import { pageActOf } from "../../routes/dashboard/page/page_acts.ts";
import type { ManagementOperation } from "../../routes/management_api/operation.ts";
import { managementOperations } from "../../routes/management_api/operations.ts";
import type { ManualTime } from "../support/manual_time.ts";
import { exampleModels } from "../../routes/openapi/example_models.ts";
import { readings } from "../../routes/usage_api/usage_api.ts";
import { openApiDocument } from "../../routes/openapi/document.ts";
import {
  listManagementKeys,
  managementRoles,
} from "../../kv/people/management_keys/management_keys.ts";
import { createOrganisation } from "../../kv/people/organisations/organisations.ts";
import { formsOf, type LoadedPage, TestBrowser } from "../support/browser/test_browser.ts";
import { defaultCatalog } from "../support/gateways/gateway_in_process.ts";
import { denokvAccessToken, denokvProgram, startDenokv } from "../support/servers/denokv_server.ts";
import { postgresPrograms, startPostgres } from "../support/servers/postgres_server.ts";
import { actFor } from "../support/worlds/company_world.ts";
import { type FullCompany, openFullCompany, signUp } from "../support/worlds/full_company.ts";
import { consentRequest } from "../support/worlds/consent_request.ts";
import {
  openTwoInstances,
  publicUrl,
  type Route,
  type TwoInstances,
} from "../support/worlds/two_instances.ts";

// The drivers' timers outlive a connection by some milliseconds.
const servers = { sanitizeOps: false, sanitizeResources: false };

const whole = { depth: 20, iterableLimit: 1_000, strAbbreviateSize: 1_000_000 };

/** What a change of access may take to hold at an instance that nobody tells of it. */
const boundMs = 2_000;

/** An instance that serves calls reads the shared state again after this time. */
const pollMs = 600;

/** Asks until an instance answers from its caches, and trusts them for as long as it ever does. */
async function warmUp(time: ManualTime, ask: () => Promise<void>): Promise<void> {
  await ask();
  time.advance(pollMs);
  await ask();
  await ask();
}

interface World extends TwoInstances {
  readonly company: FullCompany;
}

/** A store of a test's own. */
interface OpenedStore extends AsyncDisposable {
  readonly location: StoreLocation;
}

async function startDenokvStore(program: string): Promise<OpenedStore> {
  const server = await startDenokv(program);
  Deno.env.set("DENO_KV_ACCESS_TOKEN", denokvAccessToken);
  return {
    location: { kind: "remote", url: server.url },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const [denokv, programs] = [await denokvProgram(), await postgresPrograms()];
const postgres = programs === undefined ? undefined : await startPostgres(programs);
Deno.test.afterAll(async () => await postgres?.[Symbol.asyncDispose]());

const stores: Readonly<Record<string, () => Promise<OpenedStore>>> = {
  memory: () =>
    Promise.resolve({
      location: { kind: "memory" },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
  ...(denokv !== undefined && { denokv: () => startDenokvStore(denokv) }),
  ...(postgres !== undefined && {
    PostgreSQL: async () => ({
      location: { kind: "postgres", url: await postgres.makeDatabase() },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
  }),
};

for (const [name, program] of Object.entries({ denokv, PostgreSQL: postgres })) {
  if (program !== undefined) continue;
  const says = `${name} is not installed here: two instances on it are not tested`;
  Deno.test({ name: says, ignore: true, fn() {} });
}

// Paths, filled with what the organisation has.

/** Readings whose id is in the query, and what fills it. */
const queried: Readonly<Record<string, string>> = { "/v1/generation": "receipts/:id" };

/** Fills the parameters of a path, which stand as `:id` or `{id}`, or in its query. */
function filled(path: string, known: FullCompany["known"]): string {
  if (path === "/oauth/authorize") return consentRequest;
  const inQuery = queried[path];
  if (inQuery !== undefined) return `${path}?id=${known[inQuery]}`;
  const segments = path.split("/");
  return segments.map((segment, at) => {
    const found = /^(?::(?<bare>\w+)|\{(?<braced>\w+)\})(?<rest>.*)$/.exec(segment)?.groups;
    if (found === undefined) return segment.replace("*", "x");
    const name = found["bare"] ?? found["braced"];
    const value = known[`${segments[at - 1]}/:${name}`];
    assert(value !== undefined, `say in full_company.ts what fills ${segment} of ${path}`);
    return value + found["rest"];
  }).join("/");
}

/** Whether a page or form shows or changes something of an organisation, or says which there are. */
function isOfOrganisations({ method, path }: Route): boolean {
  const act = pageActOf(method, path.replaceAll(/[:*]/g, "x"))?.act;
  if (path.startsWith("/account")) {
    return method === "GET" || (act !== "everyone" && act !== undefined);
  }
  return act !== undefined || path.startsWith("/organisations");
}

/** The pages and forms of organisations, filled with what the organisation has. */
function pagesOfOrganisations({ second, company: { known } }: World): Route[] {
  // A path with several handlers stands in the list several times.
  const routes = new Map(second.pages.map((route) => [`${route.method} ${route.path}`, route]));
  const tried = [...routes.values()].filter(isOfOrganisations)
    .map(({ method, path }) => ({ method, path: filled(path, known) }));
  assert(tried.length > 80, `${tried.length} pages and forms`);
  return tried;
}

// What is tried, and what it may say.

interface Attempt {
  readonly who: string;
  readonly what: string;
  readonly answer: { readonly status: number; readonly text: string };
  /** What the request itself named. */
  readonly said: string;
}

/** Finds what an answer says of the organisation that the request has not said itself. */
function leakOf({ who, what, answer, said }: Attempt, secrets: readonly string[]): string[] {
  const [text, named] = [answer.text.toLowerCase(), said.toLowerCase()];
  return secrets.map((secret) => secret.toLowerCase())
    .filter((secret) => text.includes(secret) && !named.includes(secret))
    .map((secret) => `${who}: ${what}: ${answer.status} says ${secret}`);
}

/** Rows that change without a change of the organisation. */
const unobserved: readonly string[] = [
  // Counts of tries, and who has exported what.
  "rate_limit",
  "activity",
  // What an instance writes a little later about calls that have ended; their receipts are compared.
  "lease",
  "settled",
  "receipts_of",
  "usage",
  "usage_hours",
] satisfies RowKind[];

/**
 * Every row that names something of the organisation, by its key; none changes by who may not change it.
 *
 * @param names what is looked for
 */
async function rowsOf(
  { kv, company }: World,
  names: readonly string[] = company.secrets,
): Promise<Record<string, string>> {
  const rows: Record<string, string> = {};
  for await (const { key, value } of kv.list({ prefix: [] })) {
    if (unobserved.includes(String(key[0]))) continue;
    const text = Deno.inspect([key, value], whole);
    if (names.some((name) => text.includes(name))) rows[key.join("/")] = text;
  }
  return rows;
}

/** The fields of each form that the owner can see, by its action. */
async function ownersForms(world: World): Promise<Map<string, [string, string][]>> {
  const owner = world.first.browser(world.company.people.owner.browser);
  const forms = new Map<string, [string, string][]>();
  for (const { method, path } of pagesOfOrganisations(world)) {
    if (method !== "GET") continue;
    for (const { action, fields } of formsOf((await owner.get(path)).text)) {
      forms.set(action, fields.filter(([name]) => name !== "csrf"));
    }
  }
  assert(forms.size > 20, `${forms.size} forms`);
  return forms;
}

async function csrfOf(browser: TestBrowser): Promise<string> {
  const page = await browser.get("/organisations");
  return /name="csrf" value="([^"]+)"/.exec(page.text)?.[1] ?? "";
}

/** Tries a page, or a form with the owner's fields: ids stay, names do not, since they would be somebody's own then. */
async function tryPage(
  browser: TestBrowser,
  { method, path }: Route,
  fields: readonly (readonly [string, string])[] = [],
): Promise<Attempt> {
  const sent = fields.map(([name, value]): [string, string] => [
    name,
    /zirkonia/i.test(value) ? "x" : value,
  ]);
  const answer: LoadedPage = method === "GET"
    ? await browser.get(path)
    : await browser.post(path, [...sent, ["csrf", await csrfOf(browser)]]);
  const said = [path, ...sent.flat()].join("\n");
  return { who: "", what: `${method} ${path}`, answer, said };
}

/** Tries all pages and forms; whoever it is learns nothing, and changes nothing. */
async function tryAllPages(
  world: World,
  { who, browser, forms, secrets }: {
    readonly who: string;
    readonly browser: TestBrowser;
    readonly forms: ReadonlyMap<string, readonly [string, string][]>;
    readonly secrets: readonly string[];
  },
): Promise<void> {
  const before = await rowsOf(world, secrets);
  const wrong: string[] = [];
  for (const route of pagesOfOrganisations(world)) {
    const tried = await tryPage(browser, route, [
      ...forms.get(route.path) ?? [],
      ["organisation", world.company.account.id],
    ]);
    wrong.push(...leakOf({ ...tried, who }, secrets));
    if (tried.answer.status >= 500) wrong.push(`${who}: ${tried.what}: ${tried.answer.status}`);
  }
  assertEquals(wrong, []);
  assertEquals(await rowsOf(world, secrets), before, `${who} changed something`);
}

async function ask(
  { second }: World,
  method: string,
  path: string,
  { key, body }: { readonly key?: string; readonly body?: JsonObject | undefined },
): Promise<{ readonly status: number; readonly text: string }> {
  const response = await second.fetch(
    new Request(publicUrl + path, {
      method,
      headers: {
        "content-type": "application/json",
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
      ...(method !== "GET" && { body: JSON.stringify(body ?? {}) }),
    }),
  );
  return { status: response.status, text: await response.text() };
}

const { paths: documentedPaths } = openApiDocument({
  server: "/",
  models: exampleModels(defaultCatalog()),
});

/** The paths of the API that need a key, with all their parameters filled. */
function pathsWithKeys({ company: { known } }: World): Route[] {
  const more: FullCompany["known"] = {
    "models/:model": "premium-1",
    "models/:id": "premium-1",
    "videos/:id": "vid_x",
    ...known,
  };
  assert(isJsonObject(documentedPaths));
  return Object.entries(documentedPaths).flatMap(([path, item]) =>
    isJsonObject(item)
      ? Object.entries(item)
        .filter(([, operation]) =>
          isJsonObject(operation) && JSON.stringify(operation["security"] ?? "") !== "[]"
        )
        .map(([method]) => ({ method: method.toUpperCase(), path: filled(path, more) }))
      : []
  );
}

// The tests.

/** Pages that answer something else than 200 to those who may see them, by their beginning. */
const otherAnswers: Readonly<Record<string, string>> = {
  "GET /invoices/new": "asks for the order that is invoiced",
  "GET /playground/api/": "the video was not made on that page",
  "GET /receipts": "lists are under /usage, and proofs come with the end of a day",
  "GET /welcome": "leads on after the first key",
};

/** What a member of a role may see anyway: the frame of each page names the organisation and the member. */
function unseenBy(role: Role, { secrets, account, people }: FullCompany): string[] {
  const seen = ["zirkonia", account.id, people[role].person.id];
  return secrets.filter((secret) => !seen.includes(secret));
}

async function triesOfRole(world: World, role: Role): Promise<string[]> {
  const { second, company } = world;
  const browser = second.browser(company.people[role].browser);
  const wrong: string[] = [];
  for (const { method, path } of pagesOfOrganisations(world)) {
    const act = pageActOf(method, path)?.act;
    if (act === undefined || act === "everyone") continue;
    // What forms do for those who may send them, other tests show.
    if (may(role, act) && method !== "GET") continue;
    const tried = await tryPage(browser, { method, path });
    const { status, text } = tried.answer;
    if (may(role, act)) {
      const isOther = Object.keys(otherAnswers).some((one) => tried.what.startsWith(one));
      const isShown = status === 200 || (isOther && status !== 403 && status < 500);
      if (!isShown) wrong.push(`${role}: ${tried.what}: ${status}`);
    } else {
      const isSaid = text.includes("Your role does not allow this");
      if (status !== 403 || !isSaid) wrong.push(`${role}: ${tried.what}: ${status}`);
      wrong.push(...leakOf({ ...tried, who: role }, unseenBy(role, company)));
    }
  }
  return wrong;
}

/** The body that the documents show for an operation, if it has one. */
function exampleOf(operation: ManagementOperation): JsonObject | undefined {
  return "body" in operation ? operation.body?.example : undefined;
}

async function triesOfManagementKeys(world: World): Promise<string[]> {
  const { known, managementKeys, secrets, account } = world.company;
  const wrong: string[] = [];
  for (const role of managementRoles) {
    for (const operation of managementOperations) {
      const { id, method, path, act } = operation;
      if (may(role, act) && method !== "get") continue;
      const answer = await ask(world, method.toUpperCase(), filled(path, known), {
        key: managementKeys[role],
        body: exampleOf(operation),
      });
      if (answer.status !== (may(role, act) ? 200 : 403)) {
        wrong.push(`${role}: ${id}: ${answer.status}`);
      }
      if (may(role, act)) continue;
      const attempt = { who: role, what: id, answer, said: account.id };
      wrong.push(...leakOf(attempt, secrets));
    }
  }
  return wrong;
}

/** Somebody with an account, an organisation, a key and a management key of their own. */
async function outsider(world: World) {
  const { kv, time, first } = world;
  const { account, browser } = await signUp(world, "eve@example.com");
  const made = await createOrganisation(kv, account.id, { name: "Elsewhere", nowMs: time.nowMs() });
  assert(made !== "too_many");
  await actFor(browser, made);
  const keyPage = await browser.submit(await browser.get("/keys/new"), "/keys", { name: "own" });
  const path = "/organisation/management-keys";
  const programPage = await browser.submit(await browser.get(path), path, { name: "own" });
  const [key = "", program = ""] = [/sk-[\w-]{20,}/, /mk-[\w-]{20,}/].map((pattern, at) =>
    pattern.exec([keyPage, programPage][at]?.text ?? "")?.[0]
  );
  assertEquals((await first.fetch(balanceWith(key))).status, 200);
  return { browser, key, program };
}

function balanceWith(key: string): Request {
  return new Request(`${publicUrl}/v1/balance`, { headers: { authorization: `Bearer ${key}` } });
}

/** Asks every path of the API with a key, or with none; returns what it says of the organisation, and what answers. */
async function tryAllOfApi(
  world: World,
  who: string,
  keyOf: (path: string) => string | undefined,
): Promise<{ readonly leaks: string[]; readonly statuses: Map<string, number> }> {
  const statuses = new Map<string, number>();
  const leaks: string[] = [];
  for (const { method, path } of pathsWithKeys(world)) {
    const key = keyOf(path);
    const operation = managementOperations.find((one) =>
      one.method === method.toLowerCase() && filled(one.path, world.company.known) === path
    );
    const answer = await ask(world, method, path, {
      body: operation && exampleOf(operation),
      ...(key !== undefined && { key }),
    });
    const what = `${method} ${path}`;
    leaks.push(...leakOf({ who, what, answer, said: path }, world.company.secrets));
    statuses.set(what, answer.status);
  }
  assert(statuses.size > 50, `${statuses.size} operations`);
  return { leaks, statuses };
}

const isManagement = (path: string) => path.startsWith("/v1/organisation");

function assertAll(statuses: ReadonlyMap<string, number>, expected: number): void {
  assertEquals([...statuses].filter(([, status]) => status !== expected), []);
}

/** Removes a member at the first instance, by the form of the owner. */
async function remove(world: World, role: Role): Promise<void> {
  const owner = world.first.browser(world.company.people.owner.browser);
  const person = world.company.people[role].person.id;
  const path = "/organisation/members/remove";
  const done = await owner.submit(await owner.get("/organisation"), path, { person });
  assertEquals(done.headers.get("location"), "/organisation?done=removed");
}

const battery: Readonly<Record<string, (world: World) => Promise<void>>> = {
  "each role sees and does what the table of acts says": async (world) => {
    const before = await rowsOf(world);
    for (const role of roles) assertEquals(await triesOfRole(world, role), []);
    assertEquals(await triesOfManagementKeys(world), []);
    assertEquals(await rowsOf(world), before);
  },
  "an outsider who knows every id learns and changes nothing": async (world) => {
    const { second, company: { secrets } } = world;
    const forms = await ownersForms(world);
    const { browser, key, program } = await outsider(world);
    const before = await rowsOf(world);
    await tryAllPages(world, {
      who: "outsider",
      browser: second.browser(browser),
      forms,
      secrets,
    });
    const tried = await tryAllOfApi(
      world,
      "outsider",
      (path) => isManagement(path) ? program : key,
    );
    assertEquals(tried.leaks, []);
    const of = [...tried.statuses].filter(([what]) => /\w{3,4}_0|-.*-/.test(what));
    assertEquals(of.filter(([, status]) => status !== 404), [], "ids of others look like none");
    // A key is for calls, a management key for changes; both read.
    const swapped = await tryAllOfApi(
      world,
      "outsider",
      (path) => isManagement(path) ? key : program,
    );
    assertEquals(swapped.leaks, []);
    const read = new Set(
      Object.keys(readings).map((path) => `GET ${filled(path, world.company.known)}`),
    );
    const isRead = ([what]: [string, number]) => read.has(what);
    assertAll(new Map([...swapped.statuses].filter((one) => !isRead(one))), 401);
    const ofTheirOwn = [...swapped.statuses].filter(isRead);
    assert(ofTheirOwn.every(([, status]) => status === 200 || status === 404));
    assertEquals(await rowsOf(world), before);
  },
  "a visitor without a session or key learns and changes nothing": async (world) => {
    const { second, company: { secrets } } = world;
    const forms = await ownersForms(world);
    await tryAllPages(world, { who: "visitor", browser: second.browser(), forms, secrets });
    const { leaks, statuses } = await tryAllOfApi(world, "visitor", () => undefined);
    assertEquals(leaks, []);
    assertAll(statuses, 401);
  },
  "who was removed learns and changes nothing, by session, key or management key": async (
    world,
  ) => {
    const { second, time, company: { secrets, people, ...company } } = world;
    const forms = await ownersForms(world);
    const browser = second.browser(people.developer.browser);
    const stale = await browser.get("/keys/new");
    await warmUp(time, async () => assertEquals(await callWith(world, company.apiKey), [200]));
    await remove(world, "developer");
    await remove(world, "admin");
    time.advance(boundMs + 1);
    assertEquals((await browser.submit(stale, "/keys", { name: "late" })).status, 403);
    const { person } = people.developer;
    const others = secrets.filter((secret) => secret !== person.id && secret !== "zirkonia");
    await tryAllPages(world, { who: "removed", browser, forms, secrets: others });
    for (const path of ["/", "/organisations", "/organisation", "/keys"]) {
      const { text } = await browser.get(path);
      assert(!/zirkonia/i.test(text.replaceAll(person.email ?? "", "")), path);
    }
    const { leaks, statuses } = await tryAllOfApi(
      world,
      "removed",
      (path) => isManagement(path) ? company.managementKeys.admins : company.apiKey,
    );
    assertEquals(leaks, []);
    assertAll(statuses, 401);
  },
};

// What takes effect elsewhere, and how soon.

/** A status, and where it leads. */
type Seen = readonly [status: number, location?: string];

async function see(world: World, role: Role, path: string): Promise<Seen> {
  const { status, headers } = await world.second.browser(world.company.people[role].browser).get(
    path,
  );
  const location = headers.get("location")?.split("?")[0];
  return location === undefined ? [status] : [status, location];
}

const callWith = async ({ second }: World, key: string): Promise<Seen> => [
  (await second.fetch(balanceWith(key))).status,
];

const manageWith = async (world: World, key: string, path = "/webhooks"): Promise<Seen> => [
  (await ask(world, "GET", `/v1/organisation${path}`, { key })).status,
];

/** A change at the first instance, by a form of a member, and what the second one answers before and after it. */
interface Change {
  readonly by: Role;
  readonly page: string;
  readonly form: string;
  readonly fields?: (world: World) => Promise<Record<string, string>> | Record<string, string>;
  readonly seen: Readonly<
    Record<string, {
      readonly look: (world: World) => Promise<Seen>;
      readonly before: Seen;
      readonly after: Seen;
    }>
  >;
}

/** What an organisation may go through one after the other: each change leaves what the next ones look at. */
const changes: Readonly<Record<string, Change>> = {
  "a session is ended": {
    by: "viewer",
    page: "/account",
    form: "/sign-out",
    seen: {
      session: {
        look: (world) => see(world, "viewer", "/keys"),
        before: [200],
        after: [303, "/sign-in"],
      },
    },
  },
  "a management key is revoked": {
    by: "owner",
    page: "/organisation/management-keys",
    form: "/organisation/management-keys/revoke",
    fields: async ({ kv, company }) => {
      const keys = await listManagementKeys(kv, company.account.id);
      return { key: keys.find(({ role }) => role === "billing")?.id ?? "" };
    },
    seen: {
      "management key": {
        look: (world) => manageWith(world, world.company.managementKeys.billing, "/balance"),
        before: [200],
        after: [401],
      },
    },
  },
  "a key is revoked": {
    by: "owner",
    page: "/keys/:id",
    form: "/keys/:id/revoke",
    seen: {
      key: {
        look: (world) => callWith(world, world.company.apiKey),
        before: [200],
        after: [401],
      },
    },
  },
  "an admin becomes a viewer": {
    by: "owner",
    page: "/organisation",
    form: "/organisation/members/role",
    fields: ({ company }) => ({ person: company.people.admin.person.id, role: "viewer" }),
    seen: {
      session: {
        look: (world) => see(world, "admin", "/webhooks"),
        before: [200],
        after: [403],
      },
      "management key": {
        look: (world) => manageWith(world, world.company.managementKeys.admins),
        before: [200],
        after: [403],
      },
    },
  },
  "a second factor is required": {
    by: "owner",
    page: "/account",
    form: "/account/second-factor",
    seen: {
      session: {
        look: (world) => see(world, "developer", "/keys"),
        before: [200],
        after: [303, "/account/security"],
      },
    },
  },
};

const removal: Change = {
  by: "owner",
  page: "/organisation",
  form: "/organisation/members/remove",
  fields: ({ company }) => ({ person: company.people.developer.person.id }),
  seen: {
    key: {
      look: (world) => callWith(world, world.company.apiKey),
      before: [200],
      after: [401],
    },
    session: {
      look: (world) => see(world, "developer", `/keys/${world.company.known["keys/:id"]}`),
      before: [200],
      after: [404],
    },
  },
};

async function lookAtAll(world: World, { seen }: Change): Promise<Record<string, Seen>> {
  const all: Record<string, Seen> = {};
  for (const [name, { look }] of Object.entries(seen)) all[name] = await look(world);
  return all;
}

/**
 * What the second instance knows is as old as it may be: it has answered calls and read the state for them just before
 * the change, so that it trusts what it has read for as long as it ever does; nothing that it polls has run since, and
 * the clock is a millisecond beyond the bound. The machine's speed changes nothing of it.
 */
async function holdsElsewhere(world: World, change: Change): Promise<void> {
  const { first, time, company: { people, known } } = world;
  const expected = (when: "before" | "after") =>
    Object.fromEntries(Object.entries(change.seen).map(([name, one]) => [name, one[when]]));
  await warmUp(time, async () => {
    assertEquals(await lookAtAll(world, change), expected("before"));
  });
  const browser = first.browser(people[change.by].browser);
  const fields = await change.fields?.(world) ?? {};
  const page = await browser.get(filled(change.page, known));
  const done = await browser.submit(page, filled(change.form, known), fields);
  assert(done.status < 400, `${done.status}`);
  time.advance(boundMs + 1);
  assertEquals(await lookAtAll(world, change), expected("after"));
}

/** The owner of another organisation deletes it: its key, its management key and its pages are gone elsewhere. */
async function deletionHoldsElsewhere(world: World): Promise<void> {
  const { first, second, time } = world;
  const { browser, key, program } = await outsider(world);
  const [here, there] = [first.browser(browser), second.browser(browser)];
  await warmUp(time, async () => assertEquals(await callWith(world, key), [200]));
  assertEquals(await manageWith(world, program), [200]);
  assert((await there.get("/organisation")).text.includes("Elsewhere"));
  const page = await here.get("/organisation");
  const deleted = await here.submit(page, "/organisation/delete", { deletion: "Elsewhere" });
  assertEquals(deleted.headers.get("location"), "/organisations");
  time.advance(boundMs + 1);
  assertEquals(await callWith(world, key), [401]);
  assertEquals(await manageWith(world, program), [401]);
  for (const path of ["/organisation", "/organisations", "/keys"]) {
    assert(!(await there.get(path)).text.includes("Elsewhere"), path);
  }
}

type Tries = Readonly<Record<string, (world: World) => Promise<void>>>;

const holds = (change: Change) => (world: World) => holdsElsewhere(world, change);

/** What is tried of an organisation, by organisations: making one takes longer than most changes. */
const tries: Readonly<Record<string, Tries>> = {
  ...Object.fromEntries(Object.entries(battery).map(([what, run]) => [what, { [what]: run }])),
  "what ends access holds at the other within two seconds": {
    ...Object.fromEntries(Object.entries(changes).map(([what, change]) => [what, holds(change)])),
    "an organisation is deleted": deletionHoldsElsewhere,
  },
  "who is removed has no access at the other within two seconds": {
    "a member is removed": holds(removal),
  },
};

for (const [name, start] of Object.entries(stores)) {
  for (const [what, steps] of Object.entries(tries)) {
    Deno.test(`${name}, two instances: ${what}`, servers, async (t) => {
      await using store = await start();
      await using instances = await openTwoInstances(store.location);
      const world = { ...instances, company: await openFullCompany(instances) };
      for (const [step, run] of Object.entries(steps)) {
        await t.step({ name: step, fn: () => run(world), ...servers });
      }
    });
  }
}
