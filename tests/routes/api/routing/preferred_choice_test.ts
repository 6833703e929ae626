/**
 * Whatever preferences a caller sends, and however routes fail: the routes that are tried are those of a small model of
 * the rules, and what is charged is the price of the model that answered.
 */
import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import { applyPrice } from "../../../../core/billing/price.ts";
import { parseVnd } from "../../../../core/billing/money/micro_vnd.ts";
import type { CallSettings } from "../../../../core/calls/request/call_settings.ts";
import type { AccountId, TeamId } from "../../../../core/lib/ids/ids.ts";
import { updateApiKey } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { listApiKeys } from "../../../../kv/people/api_keys/api_keys.ts";
import { setCallSettings } from "../../../../kv/people/organisations/call_settings.ts";
import { createTeam } from "../../../../kv/people/organisations/teams.ts";
import {
  type Fault,
  type PreferringStyle,
  preferringStyles,
  PreferringWorld,
  requestOf,
} from "../../../support/worlds/preferring_world.ts";

const providers = ["a", "b", "c", "d"] as const;

/** What is known of them: nothing of `a`, not all of `d`. */
const policies = {
  b: { trains: false, retains: true },
  c: { trains: false, retains: false },
  d: { retains: false },
};
/** The regions of their routes; that of `a` is not known. */
const regions: Readonly<Record<string, string>> = { b: "vn", c: "sg", d: "vn" };

interface TestModel {
  readonly id: string;
  readonly vndPerMtok: number;
  readonly providers: readonly string[];
}

const models: readonly TestModel[] = [
  { id: "one", vndPerMtok: 1_000, providers: ["a", "b", "c"] },
  { id: "two", vndPerMtok: 3_000, providers: ["d", "b"] },
  { id: "three", vndPerMtok: 500, providers: ["c", "d"] },
];

/** What a caller says; an absent member is not sent. */
interface Said {
  readonly models?: readonly string[];
  readonly order?: readonly string[];
  readonly only?: readonly string[];
  readonly ignore?: readonly string[];
  readonly allow_fallbacks?: boolean;
  readonly data_collection?: "allow" | "deny";
  readonly zdr?: boolean;
  readonly regions?: readonly string[];
  readonly sort?: string;
  readonly max_price?: { readonly prompt: number };
}

const some = (names: readonly string[]) =>
  fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 });

const saidMembers = {
  models: some(models.map(({ id }) => id)),
  order: some(providers),
  only: some(providers),
  ignore: fc.uniqueArray(fc.constantFrom(...providers), { minLength: 1, maxLength: 2 }),
  allow_fallbacks: fc.boolean(),
  data_collection: fc.constantFrom<"allow" | "deny">("allow", "allow", "deny"),
  zdr: fc.constantFrom(false, false, true),
  regions: fc.constantFrom(["vn"], ["vn", "sg"], ["vn", "sg"]),
  sort: fc.constant("price"),
  max_price: fc.record({ prompt: fc.constantFrom(499, 500, 1_000, 2_999, 3_000) }),
};

const said: fc.Arbitrary<Said> = fc.record(saidMembers, { requiredKeys: [] });

const faults: fc.Arbitrary<readonly Fault[]> = fc.array(
  fc.constantFrom<Fault>(
    undefined,
    undefined,
    "down",
    "limited",
    "filtered",
    "too_long",
    "invalid",
  ),
  { minLength: providers.length, maxLength: providers.length },
);

/** How a call ends by the rules of docs/routing.md. */
interface Expected {
  /** The routes that are asked, as `model provider`. */
  readonly tried: readonly string[];
  /** The model that answers; absent: none does. */
  readonly answers?: string;
}

/** The routes of a model that the caller accepts, in the order to try. */
function acceptedOf(model: TestModel, said: Said): readonly string[] {
  const { order, only, ignore, allow_fallbacks: others = true, max_price: most } = said;
  if (most !== undefined && model.vndPerMtok > most.prompt) return [];
  const left = model.providers.filter((name) =>
    only?.includes(name) !== false && ignore?.includes(name) !== true &&
    (said.data_collection !== "deny" || ["b", "c"].includes(name)) &&
    (said.zdr !== true || ["c", "d"].includes(name)) &&
    said.regions?.includes(regions[name] ?? "unknown") !== false
  );
  if (order === undefined) return others ? left : left.slice(0, 1);
  const first = order.filter((name) => left.includes(name));
  return others ? [...first, ...left.filter((name) => !order.includes(name))] : first;
}

function expectedOf(said: Said, faultOf: (provider: string) => Fault): Expected {
  const tried: string[] = [];
  for (const id of new Set(["one", ...said.models ?? []])) {
    const model = models.find((model) => model.id === id)!;
    for (const provider of acceptedOf(model, said)) {
      tried.push(`${id} ${provider}`);
      const fault = faultOf(provider);
      if (fault === undefined) return { tried, answers: id };
      if (fault === "invalid") return { tried };
      if (fault === "filtered" || fault === "too_long") break;
    }
  }
  return { tried };
}

const forms = ["openrouter", "vercel", "litellm", "header"] as const;

/** Writes what a caller says in one of the forms; what a form has no place for goes into the header. */
function written(
  style: PreferringStyle,
  form: typeof forms[number],
  { models, ...members }: Said,
): { readonly body: object; readonly headers: Readonly<Record<string, string>> } {
  if (form === "openrouter") return { body: { models, provider: members }, headers: {} };
  const { order, only, sort, ...rest } = members;
  if (form === "vercel") {
    const { data_collection: collection, zdr: zeroDataRetention, ...others } = rest;
    const gateway = {
      models,
      order,
      only,
      sort: sort && "cost",
      zeroDataRetention,
      disallowPromptTraining: collection && collection === "deny",
    };
    return { body: { providerOptions: { gateway } }, headers: header(others) };
  }
  const takesFallbacks = style === "chat" || style === "responses";
  return form === "litellm" && takesFallbacks
    ? { body: { fallbacks: models?.map((model) => ({ model })) }, headers: header(members) }
    : { body: {}, headers: header({ ...members, ...defined({ models }) }) };
}

function header({ max_price: most, ...members }: Partial<Said>): Readonly<Record<string, string>> {
  const pairs = Object.entries(members).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${value}`]
  );
  if (most !== undefined) pairs.push(`max_price.prompt=${most.prompt}`);
  return pairs.length === 0 ? {} : { "x-gateway-route": pairs.join("; ") };
}

const open = () =>
  PreferringWorld.open(
    providers,
    models.map(({ id, vndPerMtok, providers }) => ({
      id,
      kind: "chat",
      family: "test",
      price: { unit: "token", vndPerMtok },
      routes: providers.map((provider, priority) => ({
        provider,
        model: `${id}-at-${provider}`,
        priority,
        ...defined({ region: regions[provider] }),
      })),
    })),
    policies,
  );

/** A call, and how it must end. */
interface Checked {
  readonly style: PreferringStyle;
  readonly form: typeof forms[number];
  readonly said: Said;
  readonly stream: boolean;
  readonly expected: Expected;
  /** Whether the answer tells its cost. */
  readonly tellsCost?: boolean;
}

/** Sends a call for a customer, and checks what was asked, answered and charged. */
async function check(
  world: PreferringWorld,
  { key, accountId }: { readonly key: string; readonly accountId: AccountId },
  { style, form, said, stream, expected, tellsCost = false }: Checked,
): Promise<void> {
  world.asked.length = 0;
  const { body, headers } = written(style, form, said);
  const answer = await world.ask(key, requestOf(style, "one", body, stream), headers);
  const asked = world.asked.map(({ body, provider }) =>
    `${JSON.parse(body).model.split("-")[0]} ${provider}`
  );
  assertEquals(asked, expected.tried, `${style} ${answer.text}`);
  assertEquals(answer.status === 200, expected.answers !== undefined, answer.text);
  if (answer.status === 200) assertEquals(answer.text.includes('"cost":'), tellsCost, answer.text);
  const receipts = await world.receipts(accountId);
  assertEquals(receipts.length, expected.tried.length === 0 ? 0 : 1, "one receipt of a call");
  const [receipt] = receipts;
  if (receipt !== undefined) {
    assertEquals(
      receipt.attempts.map(({ route }) => route.replace(/^(.)\/(\w+)-at-.$/, "$2 $1")),
      expected.tried,
    );
    const model = models.find(({ id }) => id === expected.answers);
    const cost = model === undefined ? 0 : 12 * model.vndPerMtok;
    assertEquals(receipt.costMicroVnd, BigInt(cost));
    assert(receipt.costMicroVnd <= (receipt.heldMicroVnd ?? 0n), "at most what was held");
    if (model !== undefined) {
      assertEquals(receipt.model, model.id);
      const price = applyPrice({ unit: "token", vndPerMtok: model.vndPerMtok });
      assertEquals(receipt.price, price);
    }
  }
  const { wallet } = world.gateway.assembled.gateway;
  assertEquals((await wallet.balance(accountId)).reservedMicroVnd, 0n);
}

const call = { said, faults, form: fc.constantFrom(...forms), stream: fc.boolean() };

/** A route that failed for a reason of its own is tried later by the next calls. */
function teaches({ tried }: Expected, faultAt: (route: string) => Fault): boolean {
  return tried.some((route) => /^(down|limited)$/.test(faultAt(route) ?? ""));
}

Deno.test("the routes that are tried, the model and the charge are those of the rules", async () => {
  await using world = await open();
  await fc.assert(
    fc.asyncProperty(fc.record(call), async ({ said, faults, form, stream }) => {
      for (const [i, provider] of providers.entries()) world.faults.set(provider, faults[i]);
      const faultAt = (route: string) => world.faults.get(route.slice(-1));
      const expected = expectedOf(said, faultAt);
      for (const style of preferringStyles) {
        const customer = await world.gateway.customer(1_000);
        await check(world, customer, { style, form, said, stream, expected });
        if (teaches(expected, faultAt)) await world.reopen();
      }
      await world.checkBooks();
    }),
    { numRuns: 200 },
  );
});

/** What an organisation, a team or a key has set. */
interface Settings extends Said {
  readonly cost_in_usage?: boolean;
}

/** The rules of docs/routing.md for settings: all bounds hold, and the nearest of the rest; the request is the nearest. */
function merged(levels: readonly (Settings | undefined)[]): Settings {
  const said = levels.filter((level) => level !== undefined);
  const nearest = <Name extends keyof Settings>(name: Name) =>
    said.findLast((level) => level[name] !== undefined)?.[name];
  const common = (name: "only" | "regions") => {
    const lists = said.flatMap((level) => level[name] === undefined ? [] : [level[name]]);
    return lists.length === 0
      ? undefined
      : lists[0]!.filter((one) => lists.every((list) => list.includes(one)));
  };
  const prices = said.flatMap(({ max_price: most }) => most === undefined ? [] : [most.prompt]);
  return defined(
    {
      models: nearest("models"),
      order: nearest("order"),
      allow_fallbacks: nearest("allow_fallbacks"),
      only: common("only"),
      regions: common("regions"),
      ignore: said.flatMap(({ ignore = [] }) => ignore),
      data_collection: said.some((level) => level.data_collection === "deny") ? "deny" : undefined,
      zdr: said.some(({ zdr }) => zdr === true),
      max_price: prices.length === 0 ? undefined : { prompt: Math.min(...prices) },
    } as const,
  );
}

/** Settings as the store has them. */
function stored({ data_collection, zdr, max_price: most, ...level }: Settings): CallSettings {
  const { allow_fallbacks: allowFallbacks, cost_in_usage: tellsCost, sort: _, ...same } = level;
  return {
    ...same,
    ...defined({ allowFallbacks, tellsCost }),
    ...(data_collection === "deny" && { forbidsTraining: true }),
    ...(zdr === true && { forbidsRetention: true }),
    ...(most !== undefined && { maxPrice: { prompt: parseVnd(String(most.prompt)) ?? 0n } }),
  };
}

Deno.test("settings of an organisation, a team and a key bound and fill what a request says", async () => {
  await using world = await open();
  const level = fc.option(
    fc.record({
      ...saidMembers,
      cost_in_usage: fc.boolean(),
    }, { requiredKeys: [] }),
    { nil: undefined },
  );
  const cases = fc.record({
    ...call,
    said: fc.option(said, { nil: {} }),
    levels: fc.tuple(level, level, level),
  });
  await fc.assert(
    fc.asyncProperty(cases, async ({ said, faults, form, stream, levels }) => {
      for (const [i, provider] of providers.entries()) world.faults.set(provider, faults[i]);
      const faultAt = (route: string) => world.faults.get(route.slice(-1));
      const expected = expectedOf(merged([...levels, said]), faultAt);
      const tellsCost = levels.findLast((one) => one?.cost_in_usage !== undefined)?.cost_in_usage;
      for (const style of preferringStyles) {
        const customer = await customerWith(world, levels);
        await check(world, customer, {
          style,
          form,
          said,
          stream,
          expected,
          ...defined({ tellsCost }),
        });
        if (teaches(expected, faultAt)) await world.reopen();
      }
      await world.checkBooks();
    }),
    { numRuns: 100 },
  );
});

/** A customer with settings of the organisation, the team of its key, and the key. */
async function customerWith(
  { gateway }: PreferringWorld,
  [organisation, team, ofKey]: readonly (Settings | undefined)[],
) {
  const { kv } = gateway;
  const customer = await gateway.customer(1_000);
  const { accountId } = customer;
  const nowMs = Date.UTC(2026, 10, 28, 3);
  const made = await createTeam(kv, accountId, { name: "Search", nowMs });
  if (typeof made === "string") throw new Error(made);
  const set = (teamId: TeamId | undefined, level: Settings | undefined) =>
    setCallSettings(kv, accountId, { teamId, calls: level && stored(level), nowMs });
  assert(await set(undefined, organisation) && await set(made.id, team));
  const [key] = await listApiKeys(kv, accountId);
  await updateApiKey(kv, accountId, key!.id, () => ({
    name: "test",
    teamId: made.id,
    ...defined({ calls: ofKey && stored(ofKey) }),
  }));
  await gateway.assembled.gateway.control.refresh();
  return customer;
}
