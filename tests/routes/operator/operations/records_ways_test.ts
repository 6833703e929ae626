/**
 * Random sequences of what operators do with the catalogue, routes, requests for invoices and dead letters: each step on
 * a page, by the operators' API or by a command, at one of two instances on one store or at both at the same moment. After
 * each step the store is what a model says (`tests/support/worlds/operator_records_model.ts`), and the audit log has its
 * lines.
 *
 * `SEED=… deno task test:only tests/routes/operator/operations/records_ways_test.ts` repeats a run.
 */
import type { Hono } from "hono";
import { assert, assertEquals } from "../../../support/assert.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import { newMasterKey, readMasterKeys } from "../../../../core/people/api_keys/seal.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { mailQueue } from "../../../../kv/engine/outbox/outbox.ts";
import { bury } from "../../../../kv/engine/outbox/outbox_dead_letters.ts";
import { outboxQueuePrefix } from "../../../../kv/engine/schema/keys.ts";
import { readMargins } from "../../../../kv/money/costs/margins.ts";
import type { TopupOrder } from "../../../../kv/money/payments/topups.ts";
import { commandLine, listAuditLines } from "../../../../kv/people/audit/operator_audit.ts";
import { findAccountByEmail } from "../../../../kv/people/accounts/accounts.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { operationDepsOf } from "../../../../routes/operator/operations/contract/operation.ts";
import {
  formsOf,
  type LoadedPage,
  type TestBrowser,
} from "../../../support/browser/test_browser.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import * as fc from "../../../support/property.ts";
import { costedFile } from "../../../support/worlds/costed_calls.ts";
import { askForInvoice, issued, paidOrder } from "../../../support/worlds/invoice_requests.ts";
import { operatorSession } from "../../../support/worlds/operated_gateway.ts";
import {
  type Act,
  anyAct,
  anyStep,
  contentsNames,
  type Doer,
  type From,
  letterNames,
  orderCount,
  RecordsModel,
  routeIds,
  type Step,
} from "../../../support/worlds/operator_records_model.ts";
import { requestFor, served, triedIn, typed } from "../../../support/worlds/operator_ways.ts";
import { type TopupWorld, topupWorld } from "../../../support/worlds/topup_world.ts";
import { type Instance, openInstance, publicUrl } from "../../../support/worlds/two_instances.ts";

const sequences = fc.casesOf(60);

const maxSteps = 32;

/** Between two steps: a sequence without pauses is within a minute. */
const stepMs = 100;

const operatorKey = "operator-key-of-a-test-0123456789";
const email = "staff@example.com";

/** Two models of a fresh install, with costs; the first one has the name of some contents. */
function catalogue(contents: number): JsonObject {
  const file = costedFile();
  const models = file.models.filter(({ id }: { id: string }) =>
    id === "premium-1" || id === "image-1"
  );
  const displayName = contentsNames[contents];
  Object.assign(models[0], displayName === undefined ? { contextWindow: -1 } : { displayName });
  return { ...file, models };
}

interface World extends AsyncDisposable {
  readonly kv: Deno.Kv;
  readonly time: ManualTime;
  readonly instances: readonly [Instance, Instance];
  readonly browsers: readonly TestBrowser[];
  readonly commands: readonly Hono[];
  readonly csrf: string;
  readonly bank: TopupWorld;
  readonly orders: readonly TopupOrder[];
  readonly invoices: string[];
}

async function openWorld(): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const kv = stack.adopt(await Deno.openKv(":memory:"), (one) => one.close());
  const masterKeys = await readMasterKeys(newMasterKey());
  const time = new ManualTime(Date.parse("2026-11-20T14:03:30+07:00"));
  const shared = {
    kv,
    masterKeys,
    time,
    file: () => catalogue(0),
    env: { GATEWAY_OPERATORS: email, GATEWAY_OPERATOR_KEY: operatorKey },
  };
  const instances = [
    stack.use(await openInstance(shared)),
    stack.use(await openInstance(shared)),
  ] as const;
  const token = await operatorSession(instances[0].gateway, email);
  const browsers = instances.map((one) => one.browser());
  for (const browser of browsers) browser.cookies.set("__Host-session", token);
  const page = await browsers[0]?.get("/operator/catalogue");
  const fields = formsOf(page?.text ?? "").flatMap((form) => form.fields);
  const bank = topupWorld(kv);
  bank.nowMs = time.nowMs();
  const ann = await bank.customer("ann");
  const orders: TopupOrder[] = [];
  for (let at = 0; at < orderCount; at++) orders.push(await paidOrder(bank, ann));
  for (const id of ["one", "two", "three"]) {
    const payload = {
      kind: id === "three" ? "doves" : "password_changed",
      to: email,
      locale: "en",
    };
    const row = { payload, createdAtMs: time.nowMs(), attempts: 8 };
    const dead = { id, row, reason: "MailError", nowMs: time.nowMs() };
    await bury(kv.atomic(), mailQueue, dead).commit();
  }
  for await (const { key } of kv.list({ prefix: outboxQueuePrefix(mailQueue.name) })) {
    await kv.delete(key);
  }
  const owned = stack.move();
  return {
    kv,
    time,
    instances,
    browsers,
    commands: instances.map(({ gateway }) =>
      served({ deps: operationDepsOf(gateway.assembled.gateway) }, commandLine)
    ),
    csrf: fields.find(([name]) => name === "csrf")?.[1] ?? "",
    bank,
    orders,
    invoices: [],
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

// Acts, as forms, requests and commands.

/** How an act is sent. */
interface Sent {
  /** Absent: no page does it. */
  readonly form?: readonly [path: string, fields: Record<string, string>];
  /** Whether the page took it, where it does not lead elsewhere then. */
  readonly took?: (page: LoadedPage) => boolean;
  readonly input: JsonObject;
  /** What is typed after `deno task admin`; absent: no command does it. */
  readonly args?: readonly string[];
  /** What the command reads from a file. */
  readonly read?: JsonObject;
}

const goneInvoice = newId("invoice", 0);

function sentOf(world: World, model: RecordsModel, act: Act): Sent {
  switch (act.does) {
    case "catalog.apply":
    case "catalog.rollback":
    case "catalog.withdraw":
      return catalogueSent(model, act);
    case "routes.switch":
    case "routes.test":
      return routeSent(act);
    case "outbox.revive":
    case "outbox.forget": {
      const letter = letterNames[act.letter] ?? "";
      return { input: { letter }, args: ["outbox", act.does.slice("outbox.".length), letter] };
    }
    case "invoices.export": {
      const form = ["/operator/invoices/export", { format: "csv" }] as const;
      return { form, took: ({ status }) => status === 200, input: {} };
    }
    default: {
      const invoice = world.invoices[act.invoice] ?? goneInvoice;
      const given: Record<string, string> = act.does === "invoices.issue"
        ? { ...issued, series: act.series }
        : "reason" in act
        ? { reason: act.reason }
        : {};
      const states = { issue: "issued", send: "sent", reject: "rejected", replace: "replaced" };
      const to = Object.entries(states).find(([verb]) => act.does.endsWith(verb))?.[1] ?? "";
      return {
        form: [`/operator/invoices/${invoice}/move`, { to, ...given }],
        input: { invoice, ...given },
      };
    }
  }
}

function routeSent(act: Extract<Act, { does: `routes.${string}` }>): Sent {
  const route = routeIds[act.route] ?? "";
  if (act.does === "routes.switch") {
    const { action, reason } = act;
    return {
      form: ["/operator/provider-routes/switch", { route, action, reason }],
      input: { id: route, action, reason },
    };
  }
  const model = route === "sandbox/image-1" ? "image-1" : "premium-1";
  return {
    form: ["/operator/catalogue/test", { model, route }],
    took: ({ status, text }) => status === 200 && text.includes(`${route} works`),
    input: { model, route },
    args: ["route", "test", model, route],
  };
}

/** The moment of a step in Vietnam time, as a field of a page has it. */
function momentText(model: RecordsModel, from: From): string {
  return new Date(model.momentOf(from) + 7 * 3_600_000).toISOString().slice(0, 16);
}

function catalogueSent(
  model: RecordsModel,
  act: Extract<Act, { does: `catalog.${string}` }>,
): Sent {
  const newest = model.versions.length;
  const base = act.base === "none" ? "" : String(act.base === "newest" ? newest : newest - 1);
  const { reason } = act;
  const option = `--reason=${reason}`;
  if (act.does === "catalog.withdraw") {
    return {
      form: ["/operator/catalogue/withdraw", { base }],
      input: { reason },
      args: ["catalog", "withdraw", option],
    };
  }
  const isTimed = act.from !== "none";
  const moment = isTimed ? momentText(model, act.from) : "";
  const timed = isTimed ? { effective_from: `${moment}+07:00` } : {};
  const options = [option, ...isTimed ? [`--from=${moment}+07:00`] : []];
  if (act.does === "catalog.rollback") {
    const { version } = act;
    return {
      form: ["/operator/catalogue/rollback", { base, version: String(version), reason }],
      input: { version, reason, ...timed },
      args: ["catalog", "rollback", String(version), ...options],
    };
  }
  const catalog = catalogue(act.contents);
  const [entry] = Array.isArray(catalog["models"]) ? catalog["models"] : [];
  const json = JSON.stringify(entry);
  return {
    form: [
      "/operator/catalogue/apply",
      { base, edit: "model", name: "premium-1", json, reason, from: moment },
    ],
    input: { catalog, reason, ...timed },
    args: ["catalog", "apply", "FILE", ...options],
    read: { catalog },
  };
}

/** Who does an act that is sent by a way: the API does what a page or a command does not. */
function doerOf({ form, args }: Sent, { way }: Pick<Step, "way">): Doer {
  if (way === "page" && form !== undefined) return email;
  return way === "command" && args !== undefined ? "command line" : "operator key";
}

async function sendOnce(
  world: World,
  model: RecordsModel,
  step: Step & Act,
  at: 0 | 1,
): Promise<boolean> {
  const sent = sentOf(world, model, step);
  const { form, took, input, args, read } = sent;
  const doer = doerOf(sent, step);
  if (doer === email && form !== undefined) {
    const [path, fields] = form;
    const page = await world.browsers[at]?.post(path, { csrf: world.csrf, ...fields });
    assert(page !== undefined && page.status < 500, `${path}: ${page?.status} ${page?.text}`);
    return took?.(page) ?? page.status === 303;
  }
  const app = world.commands[at];
  if (doer === "command line" && args !== undefined && app !== undefined) {
    const answer = await typed(app, args, read);
    assert(answer === undefined || answer.status < 500, `${args.join(" ")}: ${answer?.status}`);
    return answer?.status === 200 && isDone(step, await answer.json());
  }
  const { method, path, body } = requestFor(step.does, input);
  const newest = model.versions.length;
  const base = "base" in step && step.base !== "none"
    ? { "if-match": `"${step.base === "newest" ? newest : newest - 1}"` }
    : {};
  const answer = await world.instances[at].fetch(
    new Request(`${publicUrl}/operator${path}`, {
      method,
      headers: { authorization: `Bearer ${operatorKey}`, ...base },
      body: JSON.stringify(body),
    }),
  );
  const told = await answer.json();
  assert(answer.status < 500, `${method} ${path}: ${JSON.stringify(told)}`);
  return answer.status === 200 && isDone(step, told);
}

/** A test of a route is sent, whatever its provider says; here it works. */
function isDone({ does }: Act, body: { readonly ok?: unknown }): boolean {
  return does !== "routes.test" || body.ok === true;
}

/** Acts of which the first one leaves nothing for the second. A command takes as seen what is the newest when it comes. */
function isExclusive(step: Step & Act, doer: Doer): boolean {
  if (step.does.startsWith("catalog.")) return doer !== "command line";
  return step.does.startsWith("outbox.") ||
    (step.does.startsWith("invoices.") && step.does !== "invoices.export");
}

/** Sends a step, and says whether it was taken. */
async function send(world: World, model: RecordsModel, step: Step): Promise<boolean> {
  if (step.does === "wait") {
    world.time.advance(3_600_000);
    return true;
  }
  if (step.does === "ask") {
    const order = world.orders[step.order];
    assert(order !== undefined);
    world.bank.nowMs = world.time.nowMs();
    const asked = await askForInvoice(world.bank, order.accountId, [order.code]);
    if (asked.ok) world.invoices.push(asked.invoice.id);
    return asked.ok;
  }
  if (step.does === "routes.test") {
    let took = 0;
    for (let at = 0; at < step.times; at++) {
      if (await sendOnce(world, model, step, step.instance)) took++;
    }
    return took === step.times;
  }
  const doer = doerOf(sentOf(world, model, step), step);
  if (step.raced && isExclusive(step, doer)) {
    const both = [sendOnce(world, model, step, 0), sendOnce(world, model, step, 1)];
    const took = (await Promise.all(both)).filter((one) => one).length;
    // The same rollback by one author in one millisecond is one version, which both answers have.
    const isOnce = step.does !== "catalog.rollback";
    assert(took < 2 || !isOnce, `both instances have done ${JSON.stringify(step)}`);
    return took > 0;
  }
  return await sendOnce(world, model, step, step.instance);
}

// The comparison.

async function read(world: World, path: string) {
  const request = new Request(`${publicUrl}/operator${path}`, {
    headers: { authorization: `Bearer ${operatorKey}` },
  });
  return await (await world.instances[0].fetch(request)).json();
}

/** What there is, in the words of the model. */
async function observed(world: World) {
  const { kv, invoices, instances } = world;
  const state = await read(world, "/catalog");
  const { data: versions } = await read(world, "/catalog/versions");
  const rows = await read(world, "/api/invoices");
  const letters = await read(world, "/api/outbox");
  const lines = await listAuditLines(kv, { count: 200 });
  const mails = await Array.fromAsync(kv.list({ prefix: outboxQueuePrefix(mailQueue.name) }));
  const named = (subject: string) => {
    const at = invoices.indexOf(subject);
    return at < 0 ? subject : `#${at}`;
  };
  return {
    versions: versions.map((one: Record<string, unknown>) => [one["author"], one["rollback_to"]]),
    inForce: state.version,
    waiting: state.scheduled?.version,
    served: instances.map(({ gateway: { assembled: { gateway } } }) =>
      gateway.catalog.current.find("premium-1")?.displayName
    ),
    switched: instances.map(({ gateway: { assembled: { gateway } } }) =>
      Object.fromEntries(
        gateway.router.reports().flatMap(({ route, switched }) =>
          switched === undefined ? [] : [[route.id, switched]]
        ),
      )
    ),
    invoices: invoices.map((id) =>
      rows.data.find((row: Record<string, unknown>) => row["reference_code"] === id)?.state
    ),
    letters: letters.data.map(({ letter }: { letter: string }) => letter).sort(),
    mails: mails.map(({ value }) => Object(value).payload?.kind).sort(),
    lines: lines.filter(({ act }) => !act.startsWith("second_factor")).toReversed()
      .map(({ act, subject, operatorEmail }) => `${act} ${named(subject)} ${operatorEmail}`),
  };
}

function expected(model: RecordsModel) {
  const { versions, inForce, waiting, switched, invoices, dead, mails, lines } = model;
  const served = contentsNames[versions[inForce - 1]?.contents ?? -1];
  const routes = Object.fromEntries([...switched].map(([at, state]) => [routeIds[at], state]));
  return {
    versions: versions.map(({ by, rollbackTo }) => [by, rollbackTo]).toReversed(),
    inForce,
    waiting,
    served: [served, served],
    switched: [routes, routes],
    invoices: invoices.map(({ state }) => state),
    letters: [...dead].map((at) => letterNames[at]).sort(),
    mails: [...mails].sort(),
    lines,
  };
}

/** Each sequence begins with requests for invoices, and an hour that a version waits for. */
async function follow(steps: readonly Step[], taken: Set<string>): Promise<void> {
  await using world = await openWorld();
  const model = new RecordsModel(world.time.nowMs());
  const by = { way: "api", instance: 0, raced: false } as const;
  const first: Step[] = [{ does: "ask", order: 0, ...by }, { does: "ask", order: 1, ...by }];
  for (const step of [...first, ...steps]) {
    const isEvent = step.does === "wait" || step.does === "ask";
    const doer = isEvent ? "operator key" : doerOf(sentOf(world, model, step), step);
    const what = JSON.stringify(step);
    const took = await send(world, model, step);
    assertEquals(took, model.apply(step, doer), what);
    for (const { gateway: { assembled } } of world.instances) {
      await assembled.gateway.control.refresh();
    }
    assertEquals<unknown>(await observed(world), expected(model), what);
    if (took) taken.add(step.does);
    world.time.advance(stepMs);
    model.nowMs += stepMs;
  }
  await verify(world, model);
}

/** At the end the tests of routes are costs that nobody was charged for, and the books verify. */
async function verify({ kv, time, instances }: World, { tested }: RecordsModel): Promise<void> {
  const { wallet } = instances[0].gateway.assembled.gateway;
  for (const one of instances) await one.gateway.assembled.gateway.wallet.indexOnce();
  const day = vietnamDay(time.nowMs());
  const { total } = await readMargins(kv, { fromDay: "2026-11-20", toDay: day });
  assertEquals([total.calls, total.revenueMicroVnd], [tested, 0n]);
  const staff = await findAccountByEmail(kv, email);
  assert(staff !== undefined);
  assertEquals((await wallet.balance(staff.id)).totalMicroVnd, 0n);
  assertEquals((await verifyStore(kv)).problems, []);
}

Deno.test("the model tries what the table of operations says", () => {
  assertEquals(Object.keys(anyAct).sort(), triedIn("records_ways"));
});

Deno.test("catalogue, routes, invoices and dead letters are what their model says, by any way", async () => {
  const taken = new Set<string>();
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyStep, { minLength: maxSteps / 2, maxLength: maxSteps, size: "max" }),
      (steps) => follow(steps, taken),
    ),
    { numRuns: sequences },
  );
  assert(taken.size > 9, [...taken].join(", "));
});
