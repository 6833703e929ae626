/**
 * Random sequences of what operators do, each on a page, by the operators' API and by a command, on a store for each way:
 * all three take or refuse the same input, write the same audit lines, and leave the same rows.
 *
 * `SEED=… deno task test:only tests/routes/operator/operations/three_ways_test.ts` repeats a run; fast-check shrinks it.
 */
import type { Hono } from "hono";
import { assert, assertEquals } from "../../../support/assert.ts";
import { recordOf } from "../../../../core/lib/base/record_of.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";
import { createAccount } from "../../../../kv/people/accounts/accounts.ts";
import {
  commandLine,
  listAuditLines,
  operatorProgram,
} from "../../../../kv/people/audit/operator_audit.ts";
import {
  type OperationName,
  operationNames,
  operationPaths,
} from "../../../../routes/operator/operations/contract/paths.ts";
import { operations } from "../../../../routes/operator/operations/operations.ts";
import type { PageVisitor } from "../../../support/browser/page_visitor.ts";
import * as fc from "../../../support/property.ts";
import {
  answerOf,
  requestFor,
  served,
  triedBy,
  triedIn,
  typed,
} from "../../../support/worlds/operator_ways.ts";
import { notice } from "../../../support/worlds/topup_world.ts";
import { type OperatorWorld, operatorWorld } from "../../../support/worlds/operator_world.ts";

const sequences = fc.casesOf(40);

const maxSteps = 14;

/** One way on its own store. */
interface Way {
  readonly world: OperatorWorld;
  readonly staff: PageVisitor;
  /** Requests of programs, and those that commands send. */
  readonly api: Hono;
  readonly commands: Hono;
  readonly accountIds: readonly string[];
}

/** A form as a page sends it. */
type Form = readonly [path: string, fields: Record<string, string>];

/** How an operation is done by each way. `input` has the ids of one store. */
interface Driver {
  /** Any input, right or wrong; ids stand for things by their number. */
  readonly any: fc.Arbitrary<JsonObject>;
  readonly form: (input: JsonObject) => Form;
  /** What is typed after `deno task admin`; absent: no command does it. */
  readonly args?: (input: JsonObject) => readonly string[];
  /** What a command reads from the standard input. */
  readonly secret?: (input: JsonObject) => string;
}

const text = (value: Json | undefined) => String(value ?? "");

const anyProse = fc.constantFrom(
  "Tết 🎉",
  "two\r\nlines",
  "  blanks around  ",
  "x".repeat(500),
  "",
  " \t ",
  "x".repeat(501),
  "a\u0000b",
  "a\u202eb",
  "x".repeat(2_001),
);

const anyNumber = fc.nat({ max: 3 });

/** What was made first, or is not there. */
const anyMade = fc.constantFrom(0, 0, 0, 9);

const anyCount = fc.constantFrom(1, 2, 0, 10_001);

const anyFlag = fc.boolean();

const anyLimit = fc.constantFrom(1, 60, "none", -1, 1.5, 1e13);

/** The limits as the page has them: `0` is no limit. */
function limitTexts(limits: unknown, absent: string): Record<string, string> {
  const values: Record<string, unknown> = Object(limits);
  return recordOf(["requestsPerMinute", "tokensPerMinute", "callsAtOnce"], (name) => {
    const value = values[name];
    return value === undefined ? absent : value === "none" ? "0" : String(value);
  });
}

/** All kinds of campaigns, and slips in each field. */
const anyCampaign = fc.record({
  kind: fc.constantFrom("voucher", "signup", "bonus", "gift"),
  name: fc.constantFrom("Tết", "", "a\nb", "x".repeat(81)),
  amount: fc.constantFrom("20k", "20.000", "0", "1e3", "99tr"),
  budget: fc.constantFrom("100k", "", "10"),
});

const campaignFieldsOf = ({ kind, name, amount, budget }: JsonObject) => ({
  kind: text(kind),
  name: text(name),
  amount: text(amount),
  budget: text(budget),
});

const anyKeyName = fc.constantFrom("first", "second", "UPPER", "x".repeat(31));
const anySecret = fc.constantFrom(
  "sk-0123456789abcdef",
  "another-secret-0123456789",
  "",
  "with space",
);

/** Two of the same sum, one of another, one that is not there, and no notice. */
const anyNotice = fc.constantFrom("sepay:101", "sepay:102", "sepay:103", "sepay:104", "bank:101");

const anyNote = fc.constantFrom("not a top-up", "two\r\nlines", "", "a\u202eb", "x".repeat(501));

const wordsOfVerdict: Readonly<Record<string, string>> = {
  duplicate: "duplicate",
  ignore: "ignore",
  start_refund: "refund",
  finish_refund: "refunded",
  return: "return",
};

const drivers: Readonly<Partial<Record<OperationName, Driver>>> = {
  "maintenance.set": {
    any: fc.oneof(
      fc.record({ on: fc.constant(true), message: anyProse }),
      fc.constant({ on: false }),
    ),
    form: ({ on, message }) => [
      "/operator/service/maintenance",
      on === true ? { on: "yes", message: text(message) } : { on: "no" },
    ],
    args: ({ on, message }) =>
      on === true ? ["maintenance", "on", `--message=${text(message)}`] : ["maintenance", "off"],
  },
  "accounts.block": {
    any: fc.record({ account: anyNumber, blocked: anyFlag, reason: anyProse }),
    form: ({ account, blocked, reason }) => [
      `/operator/accounts/${text(account)}/${blocked === true ? "block" : "unblock"}`,
      { reason: text(reason) },
    ],
  },
  "accounts.sign_out": {
    any: fc.record({ account: anyNumber, reason: anyProse }),
    form: ({ account, reason }) => [
      `/operator/accounts/${text(account)}/sign-out`,
      { reason: text(reason) },
    ],
  },
  "accounts.limits": {
    any: fc.record({
      account: anyNumber,
      limits: fc.record(
        { requestsPerMinute: anyLimit, tokensPerMinute: anyLimit, callsAtOnce: anyLimit },
        { requiredKeys: [] },
      ),
      models: fc.constantFrom<JsonObject>(
        {},
        { "premium-1": { requestsPerMinute: 7, callsAtOnce: "none" } },
        { "no-such-model": { requestsPerMinute: 7 } },
      ),
      reason: anyProse,
    }),
    form: ({ account, limits, models, reason }) => [`/operator/accounts/${text(account)}/limits`, {
      ...limitTexts(limits, ""),
      models: Object.entries(Object(models)).map(([id, of]) =>
        [id, ...Object.values(limitTexts(of, "-"))].join(" ")
      ).join("\n"),
      reason: text(reason),
    }],
  },
  "accounts.note": {
    any: fc.record({ account: anyNumber, text: anyProse }),
    form: (input) => [`/operator/accounts/${text(input["account"])}/note`, {
      text: text(input["text"]),
    }],
    args: (input) => ["account", "note", text(input["account"]), `--text=${text(input["text"])}`],
  },
  "announcements.publish": {
    any: fc.record({
      kind: fc.constantFrom("incident", "maintenance", "party"),
      title: fc.constantFrom("Slow", " ", "a\nb", "x".repeat(121)),
      text: anyProse,
      startsAt: fc.constantFrom(
        "2026-12-01T22:00+07:00",
        "tomorrow+07:00",
        "2029-12-01T22:00+07:00",
      ),
    }, { requiredKeys: ["kind", "title", "text"] }),
    form: ({ kind, title, startsAt, ...input }) => ["/operator/announcements", {
      kind: text(kind),
      title: text(title),
      text: text(input["text"]),
      // The field has Vietnam time.
      starts: text(startsAt).replace("+07:00", ""),
    }],
  },
  "announcements.update": {
    any: fc.record({ announcement: anyMade, text: anyProse, ends: anyFlag }),
    form: ({ announcement, ends, ...input }) => [
      `/operator/announcements/${text(announcement)}`,
      { text: text(input["text"]), ends: ends === true ? "yes" : "no" },
    ],
  },
  "campaigns.make": {
    any: anyCampaign,
    form: (input) => ["/operator/campaigns", campaignFieldsOf(input)],
    args: ({ kind, name, amount, budget }) => [
      "campaign",
      "make",
      text(kind),
      text(name),
      `--amount=${text(amount)}`,
      `--budget=${text(budget)}`,
    ],
  },
  "campaigns.pause": {
    any: fc.record({ campaign: anyMade, paused: anyFlag }),
    form: ({ campaign, paused }) => [
      `/operator/campaigns/${text(campaign)}/${paused === true ? "pause" : "resume"}`,
      {},
    ],
    args: ({ campaign, paused }) => [
      "campaign",
      paused === true ? "pause" : "resume",
      text(campaign),
    ],
  },
  "campaigns.codes": {
    any: fc.record({ campaign: anyMade, count: anyCount, uses: anyCount }),
    form: ({ campaign, count, uses }) => [
      `/operator/campaigns/${text(campaign)}/codes.csv`,
      { count: text(count), uses: text(uses) },
    ],
    args: ({ campaign, count, uses }) => [
      "campaign",
      "codes",
      text(campaign),
      text(count),
      `--uses=${text(uses)}`,
    ],
  },
  "notices.resolve": {
    any: fc.oneof(
      fc.record({ notice: anyNotice, verdict: fc.constant("return") }),
      fc.record({ notice: anyNotice, verdict: fc.constant("duplicate"), of: anyNotice }),
      fc.record({
        notice: anyNotice,
        verdict: fc.constantFrom("ignore", "start_refund", "finish_refund"),
        note: anyNote,
      }),
    ),
    form: ({ notice, ...fields }) => [
      `/operator/notices/${text(notice).replace(":", "/")}/resolve`,
      Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, text(value)])),
    ],
    args: ({ notice, verdict, of, note }) => [
      "notice",
      wordsOfVerdict[text(verdict)] ?? "",
      text(notice),
      ...of === undefined ? [] : [text(of)],
      ...note === undefined
        ? []
        : [`--${verdict === "finish_refund" ? "reference" : "note"}=${text(note)}`],
    ],
  },
  "notices.set_aside": {
    any: fc.record({ source: fc.constantFrom("sepay", "bank"), hash: anyMade, note: anyNote }),
    form: ({ source, hash, note }) => ["/operator/review/unreadable", {
      source: text(source),
      hash: text(hash),
      note: text(note),
    }],
  },
  "provider_keys.add": {
    any: fc.record({ name: anyKeyName, secret: anySecret }),
    form: ({ name, secret }) => ["/operator/provider-keys", {
      name: text(name),
      secret: text(secret),
    }],
    args: ({ name }) => ["provider-key", "add", text(name)],
    secret: ({ secret }) => text(secret),
  },
  "provider_keys.replace": {
    any: fc.record({ key: anyKeyName, secret: anySecret }),
    form: ({ key, secret }) => [`/operator/provider-keys/${text(key)}`, { secret: text(secret) }],
    args: ({ key }) => ["provider-key", "replace", text(key)],
    secret: ({ secret }) => text(secret),
  },
  "provider_keys.remove": {
    any: fc.record({ key: anyKeyName, force: anyFlag }),
    form: ({ key, force }) => [
      `/operator/provider-keys/${text(key)}/remove`,
      force === true ? { force: "yes" } : {},
    ],
    args: ({ key, force }) => [
      "provider-key",
      "remove",
      text(key),
      ...force === true ? ["--force"] : [],
    ],
  },
  "provider_keys.reseal": {
    any: fc.constant({}),
    form: () => ["/operator/provider-key-seals", {}],
    args: () => ["provider-key", "reseal"],
  },
};

Deno.test("each operation that acts is tried by each way, here or beside a model, or has a reason", () => {
  const acting = operationNames.filter((name) => operations[name].effect === "acts");
  assertEquals(Object.keys(triedBy).sort(), acting.toSorted());
  assertEquals(Object.keys(drivers).sort(), triedIn("three_ways"));
});

/** Three accounts; the fourth is nobody's. */
async function openWay(world: OperatorWorld): Promise<Way> {
  const { nowMs } = world.world;
  const accountIds: string[] = [];
  for (const name of ["ann", "bob", "eve"]) {
    const email = `${name}@example.com`;
    accountIds.push((await createAccount(world.deps.kv, { nowMs, email })).id);
  }
  // Notices of all stores have the same ids and sums.
  for (const [id, amountVnd] of [["101", 50_000], ["102", 50_000], ["103", 70_000]] as const) {
    await world.world.intake.take(notice("nap tien", { id, amountVnd, reference: id }), "{}");
  }
  await world.world.intake.keepUnreadable("sepay", "field id", "{}");
  return {
    world,
    staff: await world.operator("staff"),
    api: served(world, operatorProgram),
    commands: served(world, commandLine),
    accountIds: [...accountIds, newId("account", nowMs)],
  };
}

async function idsOf(way: Way, name: OperationName, id = "id"): Promise<readonly string[]> {
  const { data } = await (await answerOf(way.api, "GET", operationPaths[name].path)).json();
  return data.map((row: Record<string, string>) => row[id]);
}

/** The input with the ids of a store in the place of numbers. */
async function inputOf(way: Way, input: JsonObject): Promise<JsonObject> {
  const { account, announcement, campaign, hash } = input;
  const gone = (kind: "announcement" | "campaign") => newId(kind, 0);
  return {
    ...input,
    ...(account !== undefined && { account: way.accountIds[Number(account)] ?? "" }),
    ...(announcement !== undefined && {
      announcement: (await idsOf(way, "announcements.list"))[Number(announcement)] ??
        gone("announcement"),
    }),
    ...(hash !== undefined && {
      hash: (await idsOf(way, "notices.unreadable", "hash"))[Number(hash)] ?? "0",
    }),
    ...(campaign !== undefined && {
      campaign: (await idsOf(way, "campaigns.list"))[Number(campaign)] ?? gone("campaign"),
    }),
  };
}

/** Whether a page took the form. */
async function byPage({ staff }: Way, { form }: Driver, input: JsonObject): Promise<boolean> {
  const [path, fields] = form(input);
  const { status, text } = await staff.post(path, fields);
  assert(status < 500, `${path}: ${status} ${text.slice(0, 300)}`);
  return status < 400;
}

async function byApi({ api }: Way, name: OperationName, input: JsonObject): Promise<boolean> {
  const { method, path, body } = requestFor(name, input);
  const { status } = await answerOf(api, method, path, body);
  assert(status < 500, `${name}: ${status}`);
  return status < 400;
}

/** What no command does is done by the API. */
async function byCommand(
  way: Way,
  name: OperationName,
  { args, secret }: Driver,
  input: JsonObject,
): Promise<boolean> {
  if (args === undefined) return await byApi(way, name, input);
  const read = secret && { secret: secret(input) };
  const answer = await typed(way.commands, args(input), read);
  if (answer === undefined) return false;
  const { status } = answer;
  assert(status < 500, `${name}: ${status}`);
  return status < 400;
}

/** Ids of things, which are random. */
const anyId = /\b(?:acc|ann|cmp|key|vch|aud)_[0-9A-Za-z]{8,}/g;

/**
 * What differs by design: who acted; and that a program has not the authority of a person, so that what it promises
 * waits for an operator.
 */
const authority =
  /, waits for a second operator|"needsApproval":(?:true|false),|"accountId":"acc_\w+",(?="email":"staff)/g;

/** What an operator sees who only reads: the same of each store, but for who acted and for random ids. */
async function rowsOf(way: Way): Promise<unknown> {
  const known = new Map<string, string>();
  const plain = (value: unknown) =>
    JSON.parse(
      JSON.stringify(value).replaceAll(authority, "")
        .replaceAll(/staff@example\.com|operator key|command line/g, "operator")
        .replaceAll(anyId, (id) => {
          if (!known.has(id)) known.set(id, `#${known.size}`);
          return known.get(id) ?? "";
        }),
    );
  const lines = await listAuditLines(way.world.deps.kv, { count: 50 });
  const read: Record<string, unknown> = {};
  for (
    const name of [
      "announcements.list",
      "campaigns.list",
      "maintenance.show",
      "notices.list",
      "notices.unreadable",
    ] as const
  ) {
    read[name] = await (await answerOf(way.api, "GET", operationPaths[name].path)).json();
  }
  const keys = await answerOf(way.api, "GET", operationPaths["provider_keys.list"].path);
  for (const [at, id] of way.accountIds.slice(0, -1).entries()) {
    const notes = await answerOf(way.api, "GET", `/api/accounts/${id}/notes`);
    const shown = await answerOf(way.api, "GET", `/api/accounts/${id}`);
    read[`account ${at}`] = [await notes.json(), await shown.json()];
  }
  return plain({
    lines: lines.filter(({ act }) => !act.startsWith("second_factor"))
      .map(({ act, subject, detail, money }) => ({ act, subject, detail, money })),
    ...read,
    keys: await keys.json(),
  });
}

/** A step: which operation, and its input. */
interface Step {
  readonly name: OperationName;
  readonly input: JsonObject;
}

/** Each sequence begins with one of each thing that later steps change. */
const firstSteps: readonly Step[] = [
  {
    name: "campaigns.make",
    input: { kind: "voucher", name: "Tết", amount: "20k", budget: "100k" },
  },
  { name: "announcements.publish", input: { kind: "incident", title: "Slow", text: "Slow" } },
  { name: "provider_keys.add", input: { name: "first", secret: "sk-0123456789abcdef" } },
];

const anyStep: fc.Arbitrary<Step> = fc.oneof(
  ...operationNames.flatMap((name) => {
    const driver = drivers[name];
    return driver === undefined ? [] : [driver.any.map((input) => ({ name, input }))];
  }),
);

/** Does the steps by all three ways, and compares after each. */
async function follow(steps: readonly Step[], taken: Set<string>): Promise<void> {
  await operatorWorld((first) =>
    operatorWorld((second) =>
      operatorWorld(async (third) => {
        const ways = [await openWay(first), await openWay(second), await openWay(third)] as const;
        const [page, api, command] = ways;
        for (const { name, input } of [...firstSteps, ...steps]) {
          const driver = drivers[name];
          assert(driver !== undefined);
          for (const { world: { world } } of ways) world.nowMs += 1_000;
          const took = [
            await byPage(page, driver, await inputOf(page, input)),
            await byApi(api, name, await inputOf(api, input)),
            await byCommand(command, name, driver, await inputOf(command, input)),
          ];
          const what = `${name} ${JSON.stringify(input)}`;
          const isTaken = took[1] === true;
          assertEquals(took, [isTaken, isTaken, isTaken], `page, API, command: ${what}`);
          if (isTaken) taken.add(name);
          const rows = await rowsOf(api);
          assertEquals(await rowsOf(page), rows, `rows of the page: ${what}`);
          assertEquals(await rowsOf(command), rows, `rows of the command: ${what}`);
        }
      })
    )
  );
}

Deno.test("pages, the operators' API and commands do the same acts", async () => {
  const taken = new Set<string>();
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyStep, { minLength: maxSteps / 2, maxLength: maxSteps }),
      (steps) => follow(steps, taken),
    ),
    { numRuns: sequences },
  );
  assert(taken.size > 8, [...taken].join(", "));
});
