/**
 * Random sequences of what operators do with money, by each way beside a model: what was credited, debited, assigned or
 * approved is so once; nobody moves more alone than one may, approves what they asked for, or moves money of their own;
 * a program moves nothing. The model knows the rules of docs/topup.md and no code of the gateway.
 *
 * `SEED=… deno task test:only tests/routes/operator/operations/money_ways_test.ts` repeats a run.
 */
import type { Hono } from "hono";
import { assert, assertEquals } from "../../../support/assert.ts";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { noCampaignFields, readCampaign } from "../../../../core/trade/credits/campaign_form.ts";
import type { Json } from "../../../../core/lib/json/json.ts";
import { type CampaignId, newId, parseId } from "../../../../core/lib/ids/ids.ts";
import { findAccountByEmail } from "../../../../kv/people/accounts/accounts.ts";
import {
  commandLine,
  listAuditLines,
  operatorProgram,
} from "../../../../kv/people/audit/operator_audit.ts";
import { getCampaign, makeCampaign } from "../../../../kv/money/credits/campaigns.ts";
import { getBankNotice } from "../../../../kv/money/payments/bank_notices.ts";
import { listApprovals } from "../../../../kv/services/operations/approvals.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import {
  type OperationName,
  operationPaths,
} from "../../../../routes/operator/operations/contract/paths.ts";
import { confirmed, markOn } from "../../../support/browser/confirmed.ts";
import type { Page, PageVisitor } from "../../../support/browser/page_visitor.ts";
import * as fc from "../../../support/property.ts";
import { answerOf, served, triedIn, typed } from "../../../support/worlds/operator_ways.ts";
import { type OperatorWorld, operatorWorld } from "../../../support/worlds/operator_world.ts";
import { notice } from "../../../support/worlds/topup_world.ts";

const sequences = fc.casesOf(25);

const maxSteps = 24;

/** The sum that one operator may move alone into or out of one account. */
const limitVnd = 5_000_000;

type Person = "staff" | "second";

/** What somebody tries. Accounts: two customers, the wallet of `staff`, and one that is not there. */
type Step =
  | { act: "adjust"; by: Person; account: number; vnd: number; form: number }
  | { act: "assign"; by: Person; notice: number; account: number }
  | { act: "decide"; by: Person; request: number; verdict: "approve" | "refuse" }
  | { act: "resolve"; by: Person; notice: number; verdict: "ignore" | "start_refund" | "return" }
  | { act: "refunded"; by: Person; notice: number }
  | { act: "agree"; by: Person; campaign: number };

const by = fc.constantFrom<Person>("staff", "second");
const account = fc.constantFrom(0, 0, 0, 1, 2, 3);
const noticeNumber = fc.nat({ max: 3 });
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    act: fc.constant("adjust"),
    by,
    account,
    vnd: fc.constantFrom(2_000_000, 3_000_000, 7_000_000, -1_000_000, -3_000_000, -6_000_000),
    form: fc.nat({ max: 9 }),
  }),
  fc.record({ act: fc.constant("assign"), by, notice: noticeNumber, account }),
  fc.record({
    act: fc.constant("decide"),
    by,
    request: fc.nat({ max: 4 }),
    verdict: fc.constantFrom("approve", "approve", "refuse"),
  }),
  fc.record({
    act: fc.constant("resolve"),
    by,
    notice: noticeNumber,
    verdict: fc.constantFrom("ignore", "start_refund", "return"),
  }),
  fc.record({ act: fc.constant("refunded"), by, notice: noticeNumber }),
  fc.record({ act: fc.constant("agree"), by, campaign: fc.nat({ max: 1 }) }),
);

// The model.

/** Sums of the notices that wait. */
const noticeSums = [500_000, 4_000_000, 6_000_000, 3_000_000] as const;

type NoticeState = "review" | "ignored" | "refund_pending" | "refunded" | "credited";

interface Request {
  readonly by: Person;
  readonly account: number;
  readonly vnd: number;
  /** The notice that it credits; absent: a correction. */
  readonly notice?: number;
  state: "pending" | "approved" | "refused";
}

interface Model {
  /** Commands are of the owner of the machine, whom no limit and no second person binds. */
  readonly isOwner: boolean;
  readonly balances: number[];
  readonly notices: NoticeState[];
  readonly requests: Request[];
  /** By the number of a form: what it has moved or asked for. */
  readonly forms: Map<number, { account: number; vnd: number; request?: number }>;
  /** What one has moved alone, by person, account and direction. */
  readonly alone: Map<string, number>;
  readonly agreed: boolean[];
}

function newModel(isOwner: boolean): Model {
  return {
    isOwner,
    balances: [0, 0, 0],
    notices: noticeSums.map(() => "review"),
    // The first waits in each store before anybody acts.
    requests: [{ by: "staff", account: 1, vnd: 8_000_000, state: "pending" }],
    forms: new Map(),
    alone: new Map(),
    agreed: [false, false],
  };
}

const ofStaff = 2;

/** Whether one may move a sum alone; then it is counted. */
function countsAlone(model: Model, person: Person, to: number, vnd: number): boolean {
  const key = `${person} ${to} ${vnd > 0}`;
  const sum = (model.alone.get(key) ?? 0) + Math.abs(vnd);
  if (sum > limitVnd) return false;
  model.alone.set(key, sum);
  return true;
}

function adjusts(model: Model, { by, account, vnd, form }: Extract<Step, { act: "adjust" }>) {
  const balance = model.balances[account];
  if (balance === undefined) return false;
  const earlier = model.forms.get(form);
  const isSame = earlier?.account === account && earlier.vnd === vnd;
  // What a form has moved or asked for is so once, whoever sends it again.
  if (earlier !== undefined && (earlier.request === undefined || isSame)) {
    return isSame && (earlier.request === undefined || !(account === ofStaff && by === "staff"));
  }
  if (!model.isOwner && account === ofStaff && by === "staff") return false;
  if (earlier !== undefined) return false;
  const alone = model.alone.get(`${by} ${account} ${vnd > 0}`) ?? 0;
  if (!model.isOwner && alone + Math.abs(vnd) > limitVnd) {
    model.forms.set(form, { account, vnd, request: model.requests.length });
    model.requests.push({ by, account, vnd, state: "pending" });
    return true;
  }
  if (balance + vnd < 0) return false;
  if (!model.isOwner) countsAlone(model, by, account, vnd);
  model.balances[account] = balance + vnd;
  model.forms.set(form, { account, vnd });
  return true;
}

const isOpen = (state: NoticeState | undefined) => state === "review" || state === "ignored";

function assigns(model: Model, { by, account, notice }: Extract<Step, { act: "assign" }>) {
  const balance = model.balances[account];
  const vnd = noticeSums[notice];
  if (balance === undefined || vnd === undefined || !isOpen(model.notices[notice])) return false;
  if (!model.isOwner && account === ofStaff && by === "staff") return false;
  if (!model.isOwner && !countsAlone(model, by, account, vnd)) {
    model.requests.push({ by, account, vnd, notice, state: "pending" });
    return true;
  }
  model.balances[account] = balance + vnd;
  model.notices[notice] = "credited";
  return true;
}

function decides(model: Model, { by, request, verdict }: Extract<Step, { act: "decide" }>) {
  const asked = model.requests[request];
  if (asked === undefined || asked.state !== "pending") return false;
  if (verdict === "refuse") {
    asked.state = "refused";
    return true;
  }
  const balance = model.balances[asked.account] ?? 0;
  if (!model.isOwner && asked.by === by) return false;
  if (!model.isOwner && asked.account === ofStaff && by === "staff") return false;
  if (asked.notice !== undefined && !isOpen(model.notices[asked.notice])) return false;
  if (balance + asked.vnd < 0) return false;
  asked.state = "approved";
  model.balances[asked.account] = balance + asked.vnd;
  if (asked.notice !== undefined) model.notices[asked.notice] = "credited";
  return true;
}

function resolves(model: Model, { notice, verdict }: Extract<Step, { act: "resolve" }>) {
  const state = model.notices[notice];
  const isTaken = verdict === "return"
    ? state === "ignored" || state === "refund_pending"
    : state === "review";
  if (!isTaken) return false;
  const next = { ignore: "ignored", start_refund: "refund_pending", return: "review" } as const;
  model.notices[notice] = next[verdict];
  return true;
}

/** Does a step in the model. */
function follows(model: Model, step: Step): boolean {
  switch (step.act) {
    case "adjust":
      return adjusts(model, step);
    case "assign":
      return assigns(model, step);
    case "decide":
      return decides(model, step);
    case "resolve":
      return resolves(model, step);
    case "refunded":
      if (model.notices[step.notice] !== "refund_pending") return false;
      model.notices[step.notice] = "refunded";
      return true;
    case "agree":
      if (model.agreed[step.campaign] === true) return false;
      model.agreed[step.campaign] = true;
      return true;
  }
}

// The ways.

interface Way {
  readonly world: OperatorWorld;
  readonly browsers: Readonly<Record<Person, PageVisitor>>;
  readonly api: Hono;
  readonly commands: Hono;
  readonly accounts: readonly string[];
  readonly campaigns: readonly CampaignId[];
}

/** The ids of the operation are the same in each store, and those of forms. */
const formOf = (form: number) => `00000000-0000-4000-8000-00000000000${form}`;
const noticeOf = (number: number) => `sepay:${100 + number}`;

async function openWay(world: OperatorWorld): Promise<Way> {
  const { kv } = world.deps;
  const { nowMs } = world.world;
  const browsers = { staff: await world.operator("staff"), second: await world.operator("second") };
  const ann = await world.world.customer("ann");
  const bob = await world.world.customer("bob");
  const staff = await findAccountByEmail(kv, "staff@example.com");
  assert(staff !== undefined);
  for (const [at, amountVnd] of noticeSums.entries()) {
    const id = String(100 + at);
    await world.world.intake.take(notice("nap tien", { id, amountVnd, reference: id }), "{}");
  }
  const terms = readCampaign({
    ...noCampaignFields,
    kind: "voucher",
    name: "Tet",
    amount: "20k",
    budget: "1tr",
  }, nowMs);
  assert(terms.ok);
  const program = { operator: operatorProgram, nowMs, limitMicroVnd: 0n };
  const campaigns = [
    await makeCampaign(kv, terms.terms, program),
    await makeCampaign(kv, terms.terms, program),
  ].map(({ id }) => id);
  // The request of `staff` that waits first.
  const asked = await confirmed(browsers.staff, `/operator/accounts/${bob.id}/adjust`, {
    amount: "8000000",
    reason: "contract",
    form: crypto.randomUUID(),
  });
  assertEquals(asked.location, "/operator/approvals?done=asked");
  return {
    world,
    browsers,
    api: served(world, operatorProgram),
    commands: served(world, commandLine),
    accounts: [ann.id, bob.id, staff.id, newId("account", nowMs)],
    campaigns,
  };
}

/** The requests of a store, oldest first. */
async function requestsOf({ world }: Way) {
  return (await listApprovals(world.deps.kv, 100)).toReversed();
}

/**
 * Sends a form with the mark of what it rests on. Who may not move the money is shown none: the form is then forged with
 * the mark that the other operator sees, so that the rule itself is asked and not the page.
 */
async function withMark(
  way: Way,
  person: Person,
  look: (browser: PageVisitor) => Promise<Page>,
  send: (browser: PageVisitor, seen: string) => Promise<Page>,
): Promise<Page> {
  const own = await look(way.browsers[person]);
  if (own.status === 303) return own;
  const other = person === "staff" ? "second" : "staff";
  const seen = markOn(own) ?? markOn(await look(way.browsers[other]));
  return seen === undefined ? own : await send(way.browsers[person], seen);
}

async function byPage(way: Way, step: Step): Promise<boolean> {
  const browser = way.browsers[step.by];
  const moved = (path: string, fields: Record<string, string>) =>
    withMark(
      way,
      step.by,
      (one) => one.post(path, fields),
      (one, seen) => one.post(path, { ...fields, seen }),
    );
  const at = (number: number) => `/operator/notices/${noticeOf(number).replace(":", "/")}`;
  const sent = async () => {
    switch (step.act) {
      case "adjust":
        return await moved(`/operator/accounts/${way.accounts[step.account]}/adjust`, {
          amount: String(step.vnd),
          reason: "late bank",
          form: formOf(step.form),
        });
      case "assign":
        return await moved(`${at(step.notice)}/assign`, {
          target: way.accounts[step.account] ?? "",
          reason: "late bank",
        });
      case "decide": {
        const id = (await requestsOf(way))[step.request]?.id ?? "apr_0";
        const path = `/operator/approvals/${id}`;
        return step.verdict === "refuse" ? await browser.post(`${path}/refuse`) : await withMark(
          way,
          step.by,
          (one) => one.get(path),
          (one, seen) => one.post(`${path}/approve`, { seen }),
        );
      }
      case "resolve":
        return await browser.post(`${at(step.notice)}/resolve`, {
          verdict: step.verdict,
          note: "late bank",
        });
      case "refunded":
        return await browser.post(`${at(step.notice)}/resolve`, {
          verdict: "finish_refund",
          note: "FT26334",
        });
      case "agree":
        return await browser.post(`/operator/campaigns/${way.campaigns[step.campaign]}/approve`);
    }
  };
  const { status, text } = await sent();
  assert(status < 500, `${status} ${text.slice(0, 200)}`);
  return status === 303;
}

/** The request of a program for a step. */
async function requestOf(
  way: Way,
  step: Step,
): Promise<readonly [name: OperationName, path: string, body: Json]> {
  const reason = "late bank";
  switch (step.act) {
    case "adjust": {
      const account = way.accounts[step.account] ?? "";
      const body = { vnd: String(step.vnd), reason, operationId: formOf(step.form) };
      return ["accounts.adjust", `/api/accounts/${account}/credit`, body];
    }
    case "assign": {
      const body = { notice: noticeOf(step.notice), target: way.accounts[step.account] ?? "" };
      return ["notices.assign", operationPaths["notices.assign"].path, { ...body, reason }];
    }
    case "decide": {
      const id = (await requestsOf(way))[step.request]?.id ?? "apr_0";
      return ["approvals.decide", `/api/approvals/${id}/decision`, { verdict: step.verdict }];
    }
    case "resolve":
    case "refunded": {
      const verdict = step.act === "refunded" ? "finish_refund" : step.verdict;
      const body = { notice: noticeOf(step.notice), verdict, note: "FT26334" };
      return ["notices.resolve", operationPaths["notices.resolve"].path, body];
    }
    case "agree": {
      const path = `/api/campaigns/${way.campaigns[step.campaign]}/approve`;
      return ["campaigns.approve", path, {}];
    }
  }
}

/** A program is refused what moves money, and a person does it in its place. */
async function byProgram(way: Way, step: Step): Promise<boolean> {
  const [name, path, body] = await requestOf(way, step);
  const { status } = await answerOf(way.api, "POST", path, body);
  if (name === "notices.resolve") return status === 200;
  assertEquals(status, 403, name);
  return await byPage(way, step);
}

async function byCommand(way: Way, step: Step): Promise<boolean> {
  const args = async () => {
    switch (step.act) {
      case "adjust":
        return [
          ...["credit", way.accounts[step.account] ?? "", String(step.vnd)],
          ...["--reason", "late bank", "--operation", formOf(step.form)],
        ];
      case "assign":
        return [
          ...["notice", "assign", noticeOf(step.notice), way.accounts[step.account] ?? ""],
          ...["--reason", "late bank"],
        ];
      case "decide":
        return ["approval", step.verdict, (await requestsOf(way))[step.request]?.id ?? "apr_0"];
      case "resolve":
        return step.verdict === "return" ? ["notice", "return", noticeOf(step.notice)] : [
          "notice",
          step.verdict === "ignore" ? "ignore" : "refund",
          ...[noticeOf(step.notice), "--note", "late bank"],
        ];
      case "refunded":
        return ["notice", "refunded", noticeOf(step.notice), "--reference", "FT26334"];
      case "agree":
        return ["campaign", "approve", way.campaigns[step.campaign] ?? ""];
    }
  };
  const answer = await typed(way.commands, await args());
  assert(answer !== undefined && answer.status < 500, JSON.stringify(step));
  return answer.status === 200;
}

/** The operations that this model has alone; it resolves notices as `three_ways_test.ts` does. */
const modelled: Readonly<Record<Exclude<Step["act"], "resolve" | "refunded">, OperationName>> = {
  adjust: "accounts.adjust",
  assign: "notices.assign",
  decide: "approvals.decide",
  agree: "campaigns.approve",
};

Deno.test("the model tries what the table of operations says", () => {
  assertEquals(Object.values(modelled).sort(), triedIn("money_ways"));
});

// The comparison.

/** What a store has, in the words of the model. */
async function stateOf(way: Way) {
  const { kv, wallet } = way.world.deps;
  const balances: bigint[] = [];
  for (const text of way.accounts.slice(0, 3)) {
    const id = parseId("account", text);
    assert(id !== undefined);
    balances.push((await wallet.balance(id)).totalMicroVnd);
  }
  const notices: (string | undefined)[] = [];
  for (const at of noticeSums.keys()) {
    const { state } = (await getBankNotice(kv, { source: "sepay", id: String(100 + at) })).value ??
      {};
    notices.push(state?.kind);
  }
  const agreed: boolean[] = [];
  for (const id of way.campaigns) {
    agreed.push((await getCampaign(kv, id))?.approvedBy !== undefined);
  }
  const requests = (await requestsOf(way)).map(({ state, act, requestedBy }) => [
    state,
    act.amountMicroVnd,
    requestedBy.email,
  ]);
  return { balances, notices, agreed, requests };
}

function stateOfModel({ balances, notices, agreed, requests }: Model) {
  return {
    balances: balances.map(fromVnd),
    notices,
    agreed,
    requests: requests.map(({ state, vnd, by }) => [state, fromVnd(vnd), `${by}@example.com`]),
  };
}

/** Does the steps by one way and in its model, and compares after each. */
async function follow(
  steps: readonly Step[],
  { isOwner, send, taken }: {
    readonly isOwner: boolean;
    readonly send: (way: Way, step: Step) => Promise<boolean>;
    readonly taken: Set<string>;
  },
): Promise<void> {
  await operatorWorld(async (world) => {
    const way = await openWay(world);
    const model = newModel(isOwner);
    let lines = (await listAuditLines(world.deps.kv, { count: 200 })).length;
    for (const step of steps) {
      world.world.nowMs += 1_000;
      const what = JSON.stringify(step);
      const before = JSON.stringify(stateOfModel(model), plain);
      const isTaken = follows(model, step);
      assertEquals(await send(way, step), isTaken, what);
      assertEquals(await stateOf(way), stateOfModel(model), what);
      const changed = JSON.stringify(stateOfModel(model), plain) !== before;
      const now = (await listAuditLines(world.deps.kv, { count: 200 })).length;
      assertEquals(now - lines, changed ? 1 : 0, `lines of the audit log: ${what}`);
      lines = now;
      if (changed) taken.add(`${step.act} ${"verdict" in step ? step.verdict : ""}`);
    }
    assert((await verifyStore(world.deps.kv)).ok);
  });
}

function plain(_name: string, value: unknown): unknown {
  return typeof value === "bigint" ? `${value}` : value;
}

const ways = { "on pages": byPage, "by programs and pages": byProgram, "by commands": byCommand };

for (const [name, send] of Object.entries(ways)) {
  Deno.test(`money moves as the model says, once, ${name}`, async () => {
    const taken = new Set<string>();
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyStep, { minLength: maxSteps / 2, maxLength: maxSteps }),
        (steps) => follow(steps, { isOwner: send === byCommand, send, taken }),
      ),
      { numRuns: sequences },
    );
    assert(taken.size > 5, [...taken].join(", "));
  });
}
