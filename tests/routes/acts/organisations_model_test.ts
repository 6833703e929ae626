/**
 * Random sequences of what members, programs and strangers try, by forms of pages, by the management API and by API keys,
 * at two instances of a gateway on one store. After each step the organisation is what a model of it says
 * (`tests/support/worlds/organisation_model.ts`): nobody could do more than they may, and nobody less. At the end each
 * page, operation and key answers as the model says, money and budgets agree, and the books verify.
 *
 * `SEED=… deno task test:only tests/routes/acts/organisations_model_test.ts` repeats a run; fast-check shrinks it.
 */
import { assert, assertEquals } from "../../support/assert.ts";
import { fromVnd, parseVnd } from "../../../core/billing/money/micro_vnd.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { credit } from "../../../kv/money/ledger/ledger.ts";
import type { Account } from "../../../kv/people/accounts/accounts.ts";
import { listBudgets } from "../../../kv/people/accounts/budgets.ts";
import { setSessionOrganisation } from "../../../kv/people/accounts/sessions.ts";
import { createApiKey } from "../../../kv/people/api_keys/api_key_changes.ts";
import { listApiKeys } from "../../../kv/people/api_keys/api_keys.ts";
import {
  createManagementKey,
  listManagementKeys,
} from "../../../kv/people/management_keys/management_keys.ts";
import { invite, listInvitations } from "../../../kv/people/organisations/invitations.ts";
import { listMembers } from "../../../kv/people/organisations/members.ts";
import { createOrganisation } from "../../../kv/people/organisations/organisations.ts";
import { verifyStore } from "../../../kv/services/verify/verify_books.ts";
import { formsOf, type TestBrowser } from "../../support/browser/test_browser.ts";
import * as fc from "../../support/property.ts";
import {
  callTags,
  observedSettings,
  organisationNames,
  settingActs,
  type ThingIds,
} from "../../support/worlds/organisation_settings.ts";
import { joinAs } from "../../support/worlds/company_world.ts";
import { signUp } from "../../support/worlds/full_company.ts";
import {
  actAt,
  type Actor,
  anyStart,
  anyStep,
  keyName,
  OrganisationModel,
  peopleCount,
  type Role,
  type Step,
} from "../../support/worlds/organisation_model.ts";
import {
  openTwoInstances,
  publicUrl,
  type TwoInstances,
} from "../../support/worlds/two_instances.ts";

/** Sequences of a long run; the fast tier tries a hundredth. */
const sequences = fc.casesOf(2_000);

/** Steps of a sequence: with what is made first, they end within the life of an instance that hears of nothing. */
const maxSteps = 12;

/** What a change may take to hold at the other instance. */
const boundMs = 2_001;

const startVnd = 100_000;

/** More than a call of this file costs, and than is reserved for it. */
const mostOfCallVnd = 500;

/** The roles of people in the beginning. */
type Start = readonly (Role | undefined)[];

interface Person {
  readonly account: Account;
  readonly browser: TestBrowser;
  /** The token of forms of the organisation, as long as there was one: whoever left sends it on. */
  csrf: string;
}

const noThings: ThingIds = {
  teams: new Map(),
  domains: new Map(),
  webhooks: new Map(),
  orders: new Map(),
  presets: new Map(),
};

interface World extends TwoInstances {
  readonly organisation: AccountId;
  readonly people: readonly Person[];
  readonly foreignKey: string;
  /** Secrets of the API keys in the order of the model, the latest of each last. */
  readonly secrets: string[][];
  readonly keyIds: string[];
  readonly programs: { readonly id: string; readonly secret: string }[];
  readonly budgetIds: string[];
  /** What there is of the things that settings make, after the last step. */
  things: ThingIds;
  spentMicroVnd: bigint;
}

async function csrfOf(browser: TestBrowser): Promise<string> {
  const { text } = await browser.get("/organisations");
  const field = formsOf(text).flatMap(({ fields }) => fields).find(([name]) => name === "csrf");
  return field?.[1] ?? "";
}

/** An organisation with members of some roles, and people who do not belong to it. */
async function openWorld(instances: TwoInstances, start: Start): Promise<World> {
  const { kv, time } = instances;
  const nowMs = time.nowMs();
  const people: Person[] = [];
  for (let at = 0; at < peopleCount; at++) {
    people.push({ ...await signUp(instances, `p${at}@model.example`), csrf: "" });
  }
  const [owner, admin, second] = people;
  const stranger = people.at(-1);
  assert(owner && admin && second && stranger);
  const made = await createOrganisation(kv, owner.account.id, {
    name: organisationNames[0],
    nowMs,
  });
  assert(made !== "too_many");
  for (const [at, { account, browser }] of people.entries()) {
    const role = start[at];
    if (role === undefined) continue;
    if (role !== "owner") await joinAs(kv, made.id, account, { role, nowMs });
    const token = browser.cookies.get("__Host-session") ?? "";
    assert(await setSessionOrganisation(kv, token, made.id, { nowMs }));
  }
  for (const person of people) person.csrf = await csrfOf(person.browser);
  await invite(kv, made.id, {
    email: stranger.account.email ?? "",
    role: "admin",
    inviter: "x",
    restsOn: { personId: admin.account.id },
    locale: "en",
    nowMs,
  });
  const { masterKeys } = instances.first.gateway;
  const keyOf = async (accountId: AccountId, memberId: AccountId) => {
    const key = await createApiKey(kv, masterKeys, accountId, { name: keyName, memberId, nowMs });
    assert(key.ok);
    return key;
  };
  const { account: { id: strangerId } } = stranger;
  const keys = [await keyOf(made.id, admin.account.id), await keyOf(made.id, second.account.id)];
  const maker = { role: "admin", memberId: admin.account.id } as const;
  const program = await createManagementKey(kv, made.id, { name: "program", ...maker, nowMs });
  assert(program !== "too_many");
  const amountMicroVnd = fromVnd(startVnd);
  const movement = { accountId: made.id, operationId: "start", reason: "start", atMs: nowMs };
  await credit(kv, { ...movement, kind: "admin", amountMicroVnd });
  return {
    ...instances,
    organisation: made.id,
    people,
    foreignKey: (await keyOf(strangerId, strangerId)).record.id,
    secrets: keys.map(({ secret }) => [secret]),
    keyIds: keys.map(({ record }) => record.id),
    programs: [{ id: program.key.id, secret: program.secret }],
    budgetIds: [],
    things: noThings,
    spentMicroVnd: 0n,
  };
}

// Steps, as forms and as requests.

interface Sent {
  readonly status: number;
  readonly text: string;
}

async function post(
  world: World,
  { instance, actor }: Step,
  path: string,
  fields: Record<string, string> = {},
): Promise<Sent> {
  const person = world.people[actor.at % peopleCount];
  assert(person !== undefined);
  const at = instance === 0 ? world.first : world.second;
  return await at.browser(person.browser).post(path, { csrf: person.csrf, ...fields });
}

async function ask(
  world: World,
  instance: 0 | 1,
  secret: string,
  [method, path]: readonly [method: string, path: string],
  { body, headers }: { readonly body?: unknown; readonly headers?: Record<string, string> } = {},
): Promise<Sent & { readonly headers: Headers }> {
  const at = instance === 0 ? world.first : world.second;
  const answer = await at.fetch(
    new Request(publicUrl + path, {
      method,
      headers: {
        authorization: `Bearer ${secret}`,
        "content-type": "application/json",
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }),
  );
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}

const form = () => ({ form: crypto.randomUUID() });

/** What a step is on a page, and what of the management API. */
interface Ways {
  readonly form?: readonly [path: string, fields?: Record<string, string>];
  readonly request?: readonly [method: string, path: string, body?: unknown];
}

function waysOf(world: World, model: OrganisationModel, step: Step): Ways {
  const { people, keyIds, programs } = world;
  const api = "/v1/organisation";
  switch (step.does) {
    case "invite": {
      const sent = { email: people[step.whom]?.account.email ?? "", role: step.role };
      return {
        form: ["/organisation/invitations", sent],
        request: ["POST", `${api}/invitations`, sent],
      };
    }
    case "withdraw": {
      const email = people[step.whom]?.account.email ?? "";
      return {
        form: ["/organisation/invitations/withdraw", { email }],
        request: ["DELETE", `${api}/invitations/${email}`],
      };
    }
    case "accept":
      return { form: ["/organisations/accept", { organisation: world.organisation }] };
    case "leave":
      return { form: ["/organisations/leave", { organisation: world.organisation }] };
    case "remove": {
      const id = people[step.whom]?.account.id ?? "";
      return {
        form: ["/organisation/members/remove", { person: id }],
        request: ["DELETE", `${api}/members/${id}`],
      };
    }
    case "change_role": {
      const [id, { role }] = [people[step.whom]?.account.id ?? "", step];
      return {
        form: ["/organisation/members/role", { person: id, role }],
        request: ["PATCH", `${api}/members/${id}`, { role }],
      };
    }
    case "hand_over": {
      const newOwner = people[step.whom]?.account.id ?? "";
      return { form: ["/organisation/hand-over", { newOwner, confirmation: model.name }] };
    }
    case "make_key": {
      const fields = { name: keyName, ...form() };
      return { form: ["/keys", fields], request: ["POST", `${api}/keys`, { name: keyName }] };
    }
    case "rotate_key": {
      const path = `/keys/${keyIds[step.key]}/rotate`;
      return {
        form: [path, { grace: "0", ...form() }],
        request: ["POST", api + path, { grace_hours: 0 }],
      };
    }
    case "revoke_key": {
      const path = `/keys/${keyIds[step.key]}`;
      return { form: [`${path}/revoke`], request: ["DELETE", api + path] };
    }
    case "make_program":
      return { form: ["/organisation/management-keys", { name: "program", role: step.role }] };
    case "revoke_program": {
      const id = programs[step.program]?.id ?? "";
      return {
        form: ["/organisation/management-keys/revoke", { key: id }],
        request: ["DELETE", `${api}/management-keys/${id}`],
      };
    }
    case "make_budget":
      return budgetWays(world, step);
    case "rename_key": {
      const [path, fields] = [`/keys/${keyIds[step.key]}`, { name: step.name }];
      return { form: [path, fields], request: ["PATCH", api + path, fields] };
    }
    case "change_budget":
    case "remove_budget":
      return changedBudgetWays(world, model, step);
    case "set":
      return settingWays(world, step);
    case "call":
      return {};
  }
}

function settingWays({ things }: World, { act, value }: Extract<Step, { does: "set" }>): Ways {
  const { changes: [how, what], form, request } = settingActs[act];
  const id = how === "is" ? "" : things[what].get(value) ?? "";
  return { form: form(value, id), request: request(value, id) };
}

function budgetWays(
  { keyIds, foreignKey }: World,
  { of, key, vnd }: Extract<Step, { does: "make_budget" }>,
): Ways {
  const keyId = of === "key" ? keyIds[key] : foreignKey;
  const subject = of === "all" ? { kind: "account" } : { kind: "key", key_id: keyId };
  const rest = { name: "budget", window: "total" };
  const amount = { amount: String(vnd), atLimit: "refuse" };
  return {
    form: ["/budgets", { ...rest, ...amount, of: of === "all" ? "account" : `key:${keyId}` }],
    request: ["POST", "/v1/organisation/budgets", { ...rest, subject, amount_vnd: vnd }],
  };
}

function changedBudgetWays(
  { budgetIds, keyIds }: World,
  { budgets }: OrganisationModel,
  step: Extract<Step, { does: "change_budget" | "remove_budget" }>,
): Ways {
  const path = `/budgets/${budgetIds[step.budget]}`;
  const api = `/v1/organisation${path}`;
  if (step.does === "remove_budget") return { form: [`${path}/remove`], request: ["DELETE", api] };
  const key = budgets[step.budget]?.key;
  const of = key === undefined ? "account" : `key:${keyIds[key]}`;
  const rest = { name: "budget", window: "total", of };
  return {
    form: [path, { ...rest, amount: String(step.vnd), atLimit: "refuse" }],
    request: ["PATCH", api, { amount_vnd: step.vnd }],
  };
}

/** Sends a step, and keeps the secret that its answer has. */
async function send(world: World, model: OrganisationModel, step: Step): Promise<void> {
  if (step.does === "call") return await call(world, model, step.instance, step.key);
  const ways = waysOf(world, model, step);
  const { actor: { by, at }, instance } = step;
  let sent: Sent;
  if (by === "page") {
    assert(ways.form !== undefined);
    const person = world.people[at];
    // Who was removed and is invited again answers on a page of their own organisation.
    if (step.does === "accept" && person) person.csrf = await csrfOf(person.browser);
    sent = await post(world, step, ...ways.form);
    if (step.does === "accept" && sent.status === 303 && person) {
      person.csrf = await csrfOf(person.browser);
    }
  } else {
    assert(ways.request !== undefined);
    const [method, path, body] = ways.request;
    sent = await ask(world, instance, world.programs[at]?.secret ?? "", [method, path], { body });
  }
  assert(sent.status < 500 && sent.status !== 429, `${JSON.stringify(step)}: ${sent.status}`);
  const [secret] = /\b[sm]k-[\w-]{20,}/.exec(sent.text) ?? [];
  if (secret !== undefined) await keepSecret(world, step, secret);
}

async function keepSecret(world: World, step: Step, secret: string): Promise<void> {
  const { kv, organisation, secrets, keyIds, programs } = world;
  if (step.does === "rotate_key") secrets[step.key]?.push(secret);
  if (step.does === "make_key") {
    const made = (await listApiKeys(kv, organisation)).find(({ id }) => !keyIds.includes(id));
    // A stranger has made it for an organisation of their own.
    if (made === undefined) return;
    keyIds.push(made.id);
    secrets.push([secret]);
  }
  if (step.does === "make_program") {
    const known = programs.map(({ id }) => id);
    const made = (await listManagementKeys(kv, organisation)).find(({ id }) => !known.includes(id));
    if (made !== undefined) programs.push({ id: made.id, secret });
  }
}

/**
 * Calls a model with an API key; a budget is never exceeded, and refuses nothing while a call fits. All calls are at the
 * first instance: sums of calls pass between instances by timers, which this world does not have. Either one is asked for
 * the balance before, so that it has the key in its caches.
 */
async function call(
  world: World,
  model: OrganisationModel,
  instance: 0 | 1,
  at: number,
): Promise<void> {
  const messages = [{ role: "user", content: "Hello" }];
  const chat = { model: "low-cost-01", messages, max_tokens: 8 };
  const secret = world.secrets[at]?.at(-1) ?? "";
  const isActive = model.keys[at]?.active === true;
  const balance = await ask(world, instance, secret, ["GET", "/v1/balance"]);
  assertEquals(balance.status, isActive ? 200 : 401);
  const answer = await ask(world, 0, secret, ["POST", "/v1/chat/completions"], {
    body: chat,
    headers: { "x-gateway-tags": callTags },
  });
  if (!isActive) return assertEquals(answer.status, 401);
  const counting = model.budgets.filter(({ key }) => key === undefined || key === at);
  const leftMicroVnd = counting.map(({ vnd, spentMicroVnd }) => fromVnd(vnd) - spentMicroVnd);
  const fits = leftMicroVnd.every((left) => left >= fromVnd(mostOfCallVnd));
  if (answer.status === 402) {
    return assert(!fits, `refused with ${leftMicroVnd} µVND left: ${answer.text}`);
  }
  assertEquals(answer.status, 200, answer.text);
  const cost = parseVnd(answer.headers.get("x-gateway-cost-vnd") ?? "");
  assert(cost !== undefined, "the answer has its cost");
  world.spentMicroVnd += cost;
  for (const budget of counting) {
    budget.spentMicroVnd += cost;
    assert(budget.spentMicroVnd <= fromVnd(budget.vnd), "a budget is exceeded");
  }
}

// What there is, and what the model says there is.

async function observed(world: World) {
  const { kv, time, organisation, people, keyIds, programs } = world;
  const numberOf = (id: string | undefined) => people.findIndex(({ account }) => account.id === id);
  const account = { ...await accountOf(world) };
  const members = (await listMembers(kv, account))
    .map(({ personId, role }) => [numberOf(personId), role] as const);
  const invitations = (await listInvitations(kv, organisation, time.nowMs())).map(
    ({ email, role }) => [people.findIndex((one) => one.account.email === email), role] as const,
  );
  const keys = (await listApiKeys(kv, organisation)).map((record) => ({
    at: keyIds.indexOf(record.id),
    maker: record.madeByProgram === true ? undefined : numberOf(record.memberId),
    active: record.revokedAtMs === undefined,
    name: record.name,
  }));
  const managementKeys = (await listManagementKeys(kv, organisation)).map((one) => ({
    at: programs.findIndex(({ id }) => id === one.id),
    maker: numberOf(one.memberId),
    role: one.role,
    active: one.revokedAtMs === undefined,
  }));
  const budgets = await listBudgets(kv, organisation);
  world.budgetIds.splice(0, world.budgetIds.length, ...budgets.map(({ id }) => id));
  const { ids, settings } = await observedSettings(kv, account);
  world.things = ids;
  return {
    members: members.sort(),
    invitations: invitations.sort(),
    keys: keys.sort((one, other) => one.at - other.at),
    programs: managementKeys.sort((one, other) => one.at - other.at),
    budgets: budgets.map(({ subject, amountMicroVnd }) => ({
      key: subject.kind === "key" ? keyIds.indexOf(subject.keyId) : undefined,
      amountMicroVnd,
    })),
    settings,
  };
}

async function accountOf({ kv, organisation }: World): Promise<Account> {
  const { value } = await kv.get<Account>(["account", organisation]);
  assert(value !== null);
  return value;
}

function expected(model: OrganisationModel): unknown {
  return {
    members: [...model.roles].sort(),
    invitations: model.openInvitations().sort(),
    keys: model.keys.map((key, at) => ({ at, ...key })),
    programs: model.programs.map((one, at) => ({ at, ...one })),
    budgets: model.budgets.map(({ key, vnd }) => ({ key, amountMicroVnd: fromVnd(vnd) })),
    settings: model.settings.expected(),
  };
}

// What pages, operations and keys answer at the end.

/** Pages that tell roles apart, and operations. */
const pages = ["/keys", "/webhooks", "/activity", "/invoices", "/keys/new", "/playground"];
const operations = {
  listKeys: "/keys",
  listWebhooks: "/webhooks",
  getOrganisationBalance: "/balance",
  listManagementKeys: "/management-keys",
  getBillingDetails: "/billing-details",
} as const;

async function wrongAnswers(world: World, model: OrganisationModel): Promise<string[]> {
  const wrong: string[] = [];
  const shows = (text: string) => world.keyIds.some((id) => text.includes(`/keys/${id}`));
  for (const instance of [0, 1] as const) {
    const at = instance === 0 ? world.first : world.second;
    for (const [who, { browser }] of world.people.entries()) {
      if (!model.roles.has(who)) {
        // The session acts for an organisation of the person's own, also of those who were removed.
        const { text } = await at.browser(browser).get("/keys");
        if (shows(text)) wrong.push(`${who} at ${instance}: is still in`);
        continue;
      }
      for (const path of pages) {
        const { status, text } = await at.browser(browser).get(path);
        const may = model.may({ by: "page", at: who }, actAt(`page \`${path}\``));
        if (path === "/keys" && may) assert(shows(text), "whoever may sees the keys");
        if ((status === 403) === may) wrong.push(`${who} at ${instance}: GET ${path}: ${status}`);
      }
    }
    for (const [which, { secret }] of world.programs.entries()) {
      const actor: Actor = { by: "api", at: which };
      const { active = false, maker = -1 } = model.programs[which] ?? {};
      for (const [id, path] of Object.entries(operations)) {
        const way = ["GET", `/v1/organisation${path}`] as const;
        const { status } = await ask(world, instance, secret, way);
        const may = model.may(actor, actAt(`operation \`${id}\``));
        const right = !active || !model.roles.has(maker) ? 401 : may ? 200 : 403;
        if (status !== right) wrong.push(`program ${which} at ${instance}: ${id}: ${status}`);
      }
    }
    for (const [which, secrets] of world.secrets.entries()) {
      for (const [age, secret] of secrets.entries()) {
        const { status } = await ask(world, instance, secret, ["GET", "/v1/balance"]);
        const isActive = model.keys[which]?.active === true && age === secrets.length - 1;
        if (status !== (isActive ? 200 : 401)) wrong.push(`key ${which}, ${age}: ${status}`);
      }
    }
  }
  return wrong;
}

async function tryAll(start: Start, steps: readonly Step[]): Promise<void> {
  await using instances = await openTwoInstances({ kind: "memory" });
  const world = await openWorld(instances, start);
  const model = new OrganisationModel(start);
  assertEquals<unknown>(await observed(world), expected(model));
  for (const drawn of steps) {
    const step = model.resolve(drawn);
    if (step === undefined) continue;
    await send(world, model, step);
    model.apply(step);
    await world.first.gateway.advance(boundMs);
    assertEquals<unknown>(await observed(world), expected(model), JSON.stringify(step));
  }
  assertEquals(await wrongAnswers(world, model), []);
  const { kv, organisation, first: { gateway: { assembled } } } = world;
  const { totalMicroVnd } = await assembled.gateway.wallet.balance(organisation);
  assertEquals(totalMicroVnd, fromVnd(startVnd) - world.spentMicroVnd);
  assertEquals((await verifyStore(kv)).problems, []);
}

Deno.test("whatever is tried, an organisation is what its model says", async () => {
  const steps = fc.array(anyStep, { minLength: 1, maxLength: maxSteps, size: "max" });
  await fc.assert(fc.asyncProperty(anyStart, steps, tryAll), { numRuns: sequences });
});
