/**
 * Acts on API keys have one outcome by whatever way they are done: random sequences of them are performed as operations
 * and, each in an organisation of its own, by pages, by the management API and by the command line.
 */
import type { z } from "zod";
import * as fc from "../../support/property.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { isJsonObject, type JsonObject } from "../../../core/lib/json/json.ts";
import { Deadlines } from "../../../core/lib/time/deadlines.ts";
import type { Role } from "../../../core/people/organisations/acts.ts";
import { dayMs, hourMs } from "../../../core/lib/time/durations.ts";
import type { Account } from "../../../kv/people/accounts/accounts.ts";
import { apiKeyKey } from "../../../kv/engine/schema/keys.ts";
import { createApiKey } from "../../../kv/people/api_keys/api_key_changes.ts";
import {
  type ApiKeyRecord,
  getApiKey,
  isActive,
  listApiKeys,
} from "../../../kv/people/api_keys/api_keys.ts";
import { findActivity } from "../../../kv/people/audit/account_activity.ts";
import { webhookEvents } from "../../../kv/people/webhooks/events.ts";
import { claimDue } from "../../../kv/engine/outbox/outbox_claims.ts";
import { createManagementKey } from "../../../kv/people/management_keys/management_keys.ts";
import { keyMoverNames, type KeyMovers } from "../../../kv/people/organisations/key_rules.ts";
import { createTeam, type Team } from "../../../kv/people/organisations/teams.ts";
import { LiveVault } from "../../../kv/services/vault/live_vault.ts";
import { openControl } from "../../../kv/engine/control/control.ts";
import {
  keyChange,
  keyCreation,
  type KeyLimitName,
  keyLimitNames,
  keyRevocation,
  keyRotation,
  limitMember,
} from "../../../routes/acts/keys.ts";
import { type Operation, perform } from "../../../routes/acts/operation.ts";
import type { ActName } from "../../../routes/acts/spending.ts";
import {
  emptyKeyForm,
  keyFormOf,
  type KeyFormValues,
} from "../../../routes/dashboard/customer/keys/key_form.tsx";
import { createManagementApi } from "../../../routes/management_api/management_api.ts";
import { createAdminApp } from "../../../routes/operator/cli/app.ts";
import type { TestBrowser } from "../../support/browser/test_browser.ts";
import { testConfig } from "../../support/gateways/gateway_in_process.ts";
import { openCompany } from "../../support/worlds/company_world.ts";
import { type DashboardWorld, openDashboardWorld } from "../../support/worlds/dashboard_world.ts";
import { topupSettings } from "../../support/worlds/topup_settings.ts";
import { ownerOf } from "../../support/worlds/acting.ts";

// What is asked for, as no way writes it.

/** Settings of a key; what is absent is left out, and an empty one clears. */
interface Wish {
  readonly name?: string;
  readonly team?: "own" | "foreign" | "no id" | "";
  readonly expiry?: string;
  readonly models?: readonly string[];
  readonly ips?: readonly string[];
  readonly reading?: "account" | "own";
  readonly limits?: { readonly [Name in KeyLimitName]?: number };
}

type Step =
  | { readonly act: "create"; readonly wish: Wish & { readonly name: string } }
  | { readonly act: "change"; readonly at: number; readonly wish: Wish }
  | { readonly act: "rotate"; readonly at: number; readonly hours: number }
  | { readonly act: "revoke"; readonly at: number }
  | { readonly act: "wait"; readonly ms: number };

const names = ["prod", "Máy chủ", "  two   words ", "👩‍💻", "x".repeat(60), "x".repeat(61), "", " "]
  .concat(["a\u0000b", "a\u202eb", "a\u200bb", "a\u00a0b", "<b>", "😀".repeat(60)]);

const wish = fc.record({
  name: fc.constantFrom(...names),
  team: fc.constantFrom("own", "own", "foreign", "no id", "" as const),
  expiry: fc.constantFrom("", "2026-11-19", "2026-11-20", "2026-11-21", "2999-12-31", "soon"),
  models: fc.subarray(["premium-1", "premium-1-fast", "image-1"])
    .chain((some) => fc.constantFrom(some, some, some, [...some, "no-such-model"])),
  ips: fc.constantFrom(
    [],
    ["203.0.113.7"],
    ["10.0.0.0/8", "2001:db8::/32"],
    ["10.0.0.0/8", "10.0.0.0/8"],
    ["10.0.0.0/8", "300.1.1.1"],
    Array.from({ length: 51 }, (_, at) => `10.0.0.${at}`),
  ),
  reading: fc.constantFrom("account", "own"),
  limits: fc.dictionary(
    fc.constantFrom(...keyLimitNames),
    fc.constantFrom(1, 600, 999_999_999, 1_000_000_000_000, 1_000_000_000_001, 0, -5, 1.5),
    { maxKeys: 3 },
  ),
}, { requiredKeys: [] }) as fc.Arbitrary<Wish>;

const at = fc.nat({ max: 20 });

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    act: fc.constant("create" as const),
    wish: fc.tuple(wish, fc.constantFrom("prod", "dev", ...names))
      .map(([some, name]) => ({ ...some, name })),
  }),
  fc.record({ act: fc.constant("change" as const), at, wish }),
  fc.record({
    act: fc.constant("rotate" as const),
    at,
    hours: fc.constantFrom(0, 1, 24, 168, 169, -1, 1.5),
  }),
  fc.record({ act: fc.constant("revoke" as const), at }),
  fc.record({ act: fc.constant("wait" as const), ms: fc.constantFrom(hourMs, dayMs) }),
);

// What comes of it.

/** `fields`: the members of the input at fault, or else why nothing was done. */
type Outcome = { readonly done: true } | { readonly done: false; readonly fields: string };

const done: Outcome = { done: true };
const notDone = (...fields: readonly string[]): Outcome => ({
  done: false,
  fields: [...new Set(fields)].sort().join(),
});

/** An organisation in which all is done by one way. */
interface Way {
  readonly account: Account;
  readonly team: Team;
  readonly foreignTeam: Team;
  readonly make: (wish: Wish) => Promise<Outcome>;
  readonly change: (key: ApiKeyRecord, wish: Wish) => Promise<Outcome>;
  readonly rotate: (key: ApiKeyRecord, hours: number) => Promise<Outcome>;
  readonly revoke: (key: ApiKeyRecord) => Promise<Outcome>;
}

type Base = Pick<Way, "account" | "team" | "foreignTeam"> & { readonly browser: TestBrowser };

function teamIdOf(team: Wish["team"], { team: own, foreignTeam }: Base): string {
  return team === "own" ? own.id : team === "foreign" ? foreignTeam.id : team ?? "";
}

/** The end of a day in Vietnam. */
function momentOf(day: string): string | null {
  if (day === "") return null;
  const startMs = Date.parse(`${day}T00:00:00+07:00`);
  return Number.isNaN(startMs) ? day : new Date(startMs + dayMs).toISOString();
}

const orNull = (some: readonly string[]) => some.length === 0 ? null : some;

/** The input of the operations; `nameOf` is how a way writes the names of members. */
function inputOf(
  { name, team, expiry, models, ips, reading, limits }: Wish,
  base: Base,
  nameOf = (name: string) => name,
): JsonObject {
  const teamId = teamIdOf(team, base);
  const members = {
    name,
    teamId: team === undefined ? undefined : teamId === "" ? null : teamId,
    expiresAt: expiry === undefined ? undefined : momentOf(expiry),
    allowedModels: models && orNull(models),
    allowedIps: ips && orNull(ips),
    readsOnlyOwnCalls: reading && reading === "own",
    limits: limits && Object.fromEntries(
      keyLimitNames.filter((limit) => limits[limit] !== undefined)
        .map((limit) => [nameOf(limitMember(limit)), limits[limit]]),
    ),
  };
  const written: unknown = JSON.parse(JSON.stringify(
    Object.fromEntries(Object.entries(members).map(([member, value]) => [nameOf(member), value])),
  ));
  assert(isJsonObject(written));
  return written;
}

/** The fields of the form once a person has filled it in. */
function filledForm(wish: Wish, shown: KeyFormValues, base: Base): [string, string][] {
  const { name, team, expiry, models, ips, reading, limits } = wish;
  const values: Readonly<Record<string, string | readonly string[]>> = {
    ...shown,
    ...(name !== undefined && { name }),
    ...(team !== undefined && { team: teamIdOf(team, base) }),
    ...(expiry !== undefined && { expiry }),
    ...(ips !== undefined && { ips: ips.join("\n") }),
    ...(models !== undefined && { models }),
    ...(reading !== undefined && { reading }),
    ...(limits !== undefined &&
      Object.fromEntries(keyLimitNames.map((limit) => [limit, String(limits[limit] ?? "")]))),
  };
  return Object.entries(values).flatMap(([field, value]) =>
    [value].flat().map((one): [string, string] => [field, one])
  );
}

/** How the form names a member of the input. */
function formField(member: string): string {
  const [head = "", limit = ""] = member.split(".");
  if (head === "limits") return keyLimitNames.find((name) => limitMember(name) === limit) ?? limit;
  const fields: Record<string, string> = {
    teamId: "team",
    expiresAt: "expiry",
    allowedIps: "ips",
    allowedModels: "models",
  };
  return fields[head] ?? head;
}

/** The reason of an error about no member. */
function reasonOf(message: string): string {
  if (message === keyCreation.refusals.full.message) return "full";
  assertEquals(message, keyChange.refusals.ended.message);
  return "ended";
}

const snake = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const camel = (name: string) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

/** The world with one organisation for each way. */
async function openWays() {
  const world = await openDashboardWorld({ topup: topupSettings() });
  const { kv, time } = world;
  const base = async (name: string): Promise<Base> => {
    const { browser, account } = await world.signIn(`${name}@example.com`);
    const other = await world.signIn(`other-${name}@example.com`);
    const nowMs = time.nowMs();
    const team = await createTeam(kv, account.id, { name: "t", nowMs });
    const foreignTeam = await createTeam(kv, other.account.id, { name: "t", nowMs });
    assert(typeof team === "object" && typeof foreignTeam === "object");
    return { account, browser, team, foreignTeam };
  };
  const byOperation = operationWay(world, await base("operation"));
  const page = await base("page");
  const byCommand = await commandWay(world, await base("command"));
  return {
    world,
    byOperation,
    byPage: pageWay(page),
    byApi: await apiWay(world, await base("api")),
    byCommand: byCommand.way,
    page: page.browser,
    async [Symbol.asyncDispose]() {
      byCommand.close();
      await world[Symbol.asyncDispose]();
    },
  };
}

function operationWay({ deps, time }: DashboardWorld, base: Base): Way {
  const { account } = base;
  const acting = () => ownerOf(account, time.nowMs(), { formId: crypto.randomUUID() });
  const run = async <Name extends ActName, Input extends z.ZodType, Body, Why extends string>(
    operation: Operation<Name, Input, Body, Why>,
    sent: unknown,
  ): Promise<Outcome> => {
    const newest = async () => (await findActivity(deps.kv, account.id, { count: 1 })).lines[0];
    const before = await newest();
    const outcome = await perform(deps, acting(), operation, sent);
    const line = await newest();
    const isLogged = line !== undefined && line.id !== before?.id;
    assert(!isLogged || (outcome.ok && line.act === operation.line), line?.act);
    if (outcome.ok) return done;
    if ("why" in outcome) {
      return notDone(operation.refusals[outcome.why].field ?? outcome.why);
    }
    return outcome.common === "input"
      ? notDone(...outcome.issues.map(({ field }) => field))
      : notDone(outcome.common);
  };
  return {
    ...base,
    make: (wish) => run(keyCreation, inputOf(wish, base)),
    change: ({ id }, wish) => run(keyChange, { ...inputOf(wish, base), id }),
    rotate: ({ id }, graceHours) => run(keyRotation, { id, graceHours }),
    revoke: ({ id }) => run(keyRevocation, { id }),
  };
}

function pageWay(base: Base): Way {
  const { browser, team } = base;
  const post = async (path: string, fields: [string, string][]): Promise<Outcome> => {
    const { text } = await browser.get("/keys/new");
    const csrf = /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? "";
    const answer = await browser.post(path, [
      ["csrf", csrf],
      ["form", crypto.randomUUID()],
      ...fields,
    ]);
    const location = answer.headers.get("location");
    if (location === "/keys") return done;
    if (location !== null) return notDone("ended");
    const wrong = [...answer.text.matchAll(/class="field-error" id="(\w+)-error"/g)];
    if (answer.status === 200) {
      assertEquals(wrong, []);
      return done;
    }
    assertEquals(answer.status, 422);
    return answer.text.includes("An account can have")
      ? notDone("full")
      : notDone(...wrong.map(([, field = ""]) => field));
  };
  return {
    ...base,
    make: (wish) => post("/keys", filledForm(wish, emptyKeyForm, base)),
    change: (key, wish) => {
      const shown = keyFormOf(key, { teams: [team], locale: "en" });
      return post(`/keys/${key.id}`, filledForm(wish, shown, base));
    },
    rotate: ({ id }, hours) => post(`/keys/${id}/rotate`, [["grace", String(hours)]]),
    revoke: ({ id }) => post(`/keys/${id}/revoke`, []),
  };
}

async function apiWay(world: DashboardWorld, base: Base): Promise<Way> {
  const { deps, time, kv } = world;
  const app = createManagementApi({
    ...deps,
    deadlines: new Deadlines({ clock: time, timer: time }),
    keysPerMember: 10,
    spendGranted: "first",
    resolveTxt: () => Promise.resolve([]),
  });
  const { account } = base;
  const made = await createManagementKey(kv, account.id, {
    name: "admin",
    role: "admin",
    memberId: account.id,
    nowMs: time.nowMs(),
  });
  assert(made !== "too_many");
  const send = async (method: string, path: string, body?: JsonObject): Promise<Outcome> => {
    const answer = await app.request(`/v1/organisation/keys${path}`, {
      method,
      headers: { authorization: `Bearer ${made.secret}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const { error } = await answer.json();
    if (answer.status === 200) return done;
    assertEquals(answer.status, 400, JSON.stringify(error));
    if (error.param === null) return notDone(reasonOf(error.message));
    assert(error.message.startsWith(`${error.param}: `), error.message);
    // What was never sent is not named.
    assert((String(error.param).split(".")[0] ?? "") in (body ?? {}), error.param);
    return notDone(camel(error.param));
  };
  return {
    ...base,
    make: (wish) => send("POST", "", inputOf(wish, base, snake)),
    change: ({ id }, wish) => send("PATCH", `/${id}`, inputOf(wish, base, snake)),
    rotate: ({ id }, hours) => send("POST", `/${id}/rotate`, { grace_hours: hours }),
    revoke: ({ id }) => send("DELETE", `/${id}`),
  };
}

/** The command line makes keys and revokes them; in place of what it does not do, nothing happens. */
async function commandWay({ kv, deps, time, wallet }: DashboardWorld, base: Base) {
  const control = await openControl(kv, time);
  const { readCatalog, fileContents, retention, topup } = testConfig();
  const { masterKeys } = deps;
  const vault = new LiveVault({ kv, masterKeys });
  const app = createAdminApp({
    kv,
    clock: time,
    masterKeys,
    origin: "https://gw.example",
    control,
    wallet,
    topup,
    editing: { kv, clock: time, read: readCatalog, vault, fileContents, refresh: control.refresh },
    parts: undefined,
    retention,
  });
  const path = `/accounts/${base.account.id}/keys`;
  const send = async (method: string, url: string, body?: JsonObject): Promise<Outcome> => {
    const init = { method, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const answer = await app.request(url, init);
    const { error } = await answer.json();
    if (answer.status === 200) return done;
    assertEquals(answer.status, 400, JSON.stringify(error));
    return notDone(error.param ?? reasonOf(error.message));
  };
  const nothing = () => Promise.reject(new Error("There is no such command"));
  const way: Way = {
    ...base,
    make: ({ name = "" }) => send("POST", path, { name }),
    change: nothing,
    rotate: nothing,
    revoke: ({ id }) => send("DELETE", `${path}/${id}`),
  };
  return { way, close: () => control.close() };
}

// The comparison.

/** What is stored of the keys of an organisation, without what differs by chance. */
async function storedOf({ kv }: DashboardWorld, { account, team }: Way): Promise<unknown> {
  return (await listApiKeys(kv, account.id)).map(({ teamId, previous, ...key }) => {
    const { id: _id, accountId: _account, memberId: _member, madeByProgram: _program, ...rest } =
      key;
    const { masked: _masked, hash: _hash, sealed: _sealed, ...settings } = rest;
    return { ...settings, team: teamId === team.id ? "own" : teamId, oldUntil: previous?.untilMs };
  });
}

/** What acts leave: lines of the activity log, webhooks and mails, oldest first. */
async function tracesOf(world: DashboardWorld, ways: readonly Way[]): Promise<readonly unknown[]> {
  const { kv } = world;
  const claims = await claimDue(kv, webhookEvents, { nowMs: Date.UTC(3000, 0, 1), count: 200 });
  const mails = await world.deliver();
  return await Promise.all(ways.map(async ({ account }) => {
    const { lines } = await findActivity(kv, account.id, { count: 200 });
    const events = claims.filter(({ payload }) => payload.accountId === account.id);
    return {
      lines: lines.filter(({ act }) => act.startsWith("api_key")).map(({ act, before, after }) => [
        act,
        // The names of what differs, and of each key.
        Object.keys({ ...before, ...after }).sort().join(),
        after?.["name"],
      ]),
      events: events.map(({ payload: { event } }) => event.type).sort(),
      mails: mails.filter(({ to }) => to === account.email).map(({ subject }) => subject).sort(),
    };
  }));
}

async function keyAt({ kv }: DashboardWorld, { account }: Way, at: number) {
  const keys = await listApiKeys(kv, account.id);
  return keys[at % Math.max(1, keys.length)];
}

async function take(world: DashboardWorld, way: Way, step: Step): Promise<Outcome> {
  if (step.act === "wait") return done;
  if (step.act === "create") return await way.make(step.wish);
  const key = await keyAt(world, way, step.at);
  if (key === undefined) return done;
  switch (step.act) {
    case "change":
      return await way.change(key, step.wish);
    case "rotate":
      return await way.rotate(key, step.hours);
    case "revoke":
      return await way.revoke(key);
  }
}

/** Whether a page tells of an outcome all that is wrong. That of a key which has ended, and for hours, has no field. */
function pageAgrees(outcome: Outcome, told: Outcome, key: ApiKeyRecord | undefined, nowMs: number) {
  if (outcome.done || told.done) return outcome.done === told.done;
  const fields = outcome.fields.split(",");
  const hasFields = !fields.includes("graceHours") && (key === undefined || isActive(key, nowMs));
  return told.fields === (hasFields ? [...new Set(fields.map(formField))].sort().join() : "ended");
}

/** Whether a program is told of an outcome the first thing that is wrong. */
function apiAgrees(outcome: Outcome, told: Outcome): boolean {
  if (outcome.done || told.done) return outcome.done === told.done;
  return outcome.fields.split(",").includes(told.fields);
}

Deno.test("an act on keys has the same outcome by page, by API and as an operation", async () => {
  let refusals = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14 }), async (steps) => {
      await using ways = await openWays();
      const { world, byOperation, byPage, byApi } = ways;
      for (const step of steps) {
        if (step.act === "wait") world.time.advance(step.ms);
        const key = "at" in step ? await keyAt(world, byPage, step.at) : undefined;
        const outcome = await take(world, byOperation, step);
        if (!outcome.done) refusals++;
        const stored = await storedOf(world, byOperation);
        const page = await take(world, byPage, step);
        const api = await take(world, byApi, step);
        const what = JSON.stringify({ step, outcome, page, api });
        assert(pageAgrees(outcome, page, key, world.time.nowMs()), what);
        assert(apiAgrees(outcome, api), what);
        assertEquals(await storedOf(world, byPage), stored, what);
        assertEquals(await storedOf(world, byApi), stored, what);
      }
      const [operation, page, api] = await tracesOf(world, [byOperation, byPage, byApi]);
      assertEquals(page, operation);
      assertEquals(api, operation);
    }),
    { numRuns: 40 },
  );
  assert(refusals > 0);
});

Deno.test("the command line makes and revokes keys as the operations do", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.constantFrom("prod", ...names), fc.nat({ max: 9 })), { maxLength: 24 }),
      async (steps) => {
        await using ways = await openWays();
        const { world, byOperation, byCommand } = ways;
        for (const asked of steps) {
          const step: Step = typeof asked === "number"
            ? { act: "revoke", at: asked }
            : { act: "create", wish: { name: asked } };
          const outcome = await take(world, byOperation, step);
          assertEquals(await take(world, byCommand, step), outcome, JSON.stringify(step));
          assertEquals(await storedOf(world, byCommand), await storedOf(world, byOperation));
        }
      },
    ),
    { numRuns: 10 },
  );
});

Deno.test("a form that is sent as it is shown changes nothing, also of what it cannot show", async () => {
  await using ways = await openWays();
  const { world, byPage, page } = ways;
  const { kv, time } = world;
  const made = await createApiKey(kv, world.deps.masterKeys, byPage.account.id, {
    name: "by a program",
    nowMs: time.nowMs(),
    expiresAtMs: time.nowMs() + 12_345_678,
    dailyLimitMicroVnd: 1_500_000n,
    allowedModels: ["premium-1-fast", "premium-1"],
    readsOnlyOwnCalls: true,
  });
  assert(made.ok);
  const path = `/keys/${made.record.id}`;
  const versionOf = async () => (await kv.get(apiKeyKey(byPage.account.id, made.record.id)));
  const before = await versionOf();
  const shown = await page.get(path);
  assertEquals((await page.submit(shown, path)).status, 200);
  assertEquals(await versionOf(), before, "no instance is woken");
  assertEquals((await page.submit(shown, path, { name: "renamed" })).status, 200);
  const after = await getApiKey(kv, byPage.account.id, made.record.id);
  assertEquals(after, { ...made.record, name: "renamed" });
});

Deno.test("a key that has ended is not changed, so that nobody has more active keys than are allowed", async () => {
  await using ways = await openWays();
  const { world, byApi, byOperation } = ways;
  for (const way of [byApi, byOperation]) await way.make({ name: "k", expiry: "2026-11-20" });
  world.time.advance(dayMs);
  for (const way of [byApi, byOperation]) {
    const [key] = await listApiKeys(world.kv, way.account.id);
    assert(key !== undefined);
    assertEquals(await way.change(key, { expiry: "2999-12-31" }), notDone("ended"));
    assertEquals(await way.rotate(key, 0), notDone("ended"));
    assertEquals(await way.revoke(key), done);
  }
});

/** Whether a role moves a key that it has made between teams, by the rule of the organisation. */
const moves: Readonly<Record<KeyMovers, readonly Role[]>> = {
  admins: ["owner", "admin"],
  makers: ["owner", "admin", "developer"],
};

for (const movers of keyMoverNames) {
  Deno.test(`where keys are moved by ${movers}, ${moves[movers].join(", ")} move own keys`, async () => {
    await using world = await openDashboardWorld();
    const { kv, deps, time } = world;
    const { account, members } = await openCompany(world);
    const { browser: admin } = members.admin;
    const nowMs = time.nowMs();
    const rule = await admin.submit(await admin.get("/organisation"), "/organisation/key-rules", {
      movedBy: movers,
    });
    assertEquals(rule.headers.get("location"), "/organisation?done=keyRules");
    const [from, to] = [
      await createTeam(kv, account.id, { name: "from", nowMs }),
      await createTeam(kv, account.id, { name: "to", nowMs }),
    ];
    assert(typeof from === "object" && typeof to === "object");
    for (const role of ["owner", "admin", "developer"] as const) {
      const { person, browser } = members[role];
      const options = { name: role, teamId: from.id, memberId: person.id, nowMs };
      const made = await createApiKey(kv, deps.masterKeys, account.id, options);
      assert(made.ok);
      const teamOf = async () => (await getApiKey(kv, account.id, made.record.id))?.teamId;
      const path = `/keys/${made.record.id}`;
      const isAllowed = moves[movers].includes(role);
      const shown = await browser.get(path);
      assertEquals(/<select[^>]* name="team"/.test(shown.text), isAllowed, role);
      // Without the field the key stays where it is; with a forged one, too.
      assertEquals((await browser.submit(shown, path, { name: "other" })).status, 200);
      assertEquals(await teamOf(), from.id);
      for (const team of [to.id, ""]) {
        const { status } = await browser.submit(shown, path, { name: "other", team });
        assertEquals(status, isAllowed ? 200 : 422, role);
        assertEquals(await teamOf(), isAllowed ? team || undefined : from.id, role);
      }
    }
  });
}
