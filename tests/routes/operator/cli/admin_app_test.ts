import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import type { Hono } from "hono";
import { fromVnd } from "../../../../core/billing/money/micro_vnd.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import { newMasterKey, readMasterKeys } from "../../../../core/people/api_keys/seal.ts";
import { noCampaignFields, readCampaign } from "../../../../core/trade/credits/campaign_form.ts";
import { creditOperationId } from "../../../../core/trade/bank/bank_notice.ts";
import { openControl } from "../../../../kv/engine/control/control.ts";
import { daySumKey } from "../../../../kv/engine/schema/keys.ts";
import { mailQueue } from "../../../../kv/engine/outbox/outbox.ts";
import { claimDue } from "../../../../kv/engine/outbox/outbox_claims.ts";
import { bury } from "../../../../kv/engine/outbox/outbox_dead_letters.ts";
import {
  listAuditLines,
  type OperatorAct,
  operatorProgram,
} from "../../../../kv/people/audit/operator_audit.ts";
import { forgetPerson } from "../../../../kv/people/deletion/account_deletion.ts";
import { makeCampaign } from "../../../../kv/money/credits/campaigns.ts";
import { credit } from "../../../../kv/money/ledger/ledger.ts";
import { refundOperationId } from "../../../../kv/money/ledger/refunds.ts";
import { requestApproval } from "../../../../kv/services/operations/approvals.ts";
import { LiveVault } from "../../../../kv/services/vault/live_vault.ts";
import { openWalletEngine } from "../../../../kv/money/wallet/mod.ts";
import { noUsage } from "../../../../kv/money/receipts/day_sums.ts";
import { createAdminApp } from "../../../../routes/operator/cli/app.ts";
import { commandForms, readAdminCommand } from "../../../../routes/operator/cli/command_forms.ts";
import { testConfig } from "../../../support/gateways/gateway_in_process.ts";
import { testKeyId } from "../../../support/worlds/money_world.ts";
import {
  notice,
  receivingAccount,
  type TopupWorld,
  topupWorld,
} from "../../../support/worlds/topup_world.ts";

/** The commands of the machine's owner on a small world. */
async function administered(run: (world: TopupWorld, app: Hono) => Promise<void>): Promise<void> {
  using kv = await Deno.openKv(":memory:");
  const world = topupWorld(kv);
  const clock = { nowMs: () => world.nowMs, monotonicMs: () => world.nowMs };
  const wallet = await openWalletEngine(kv, { clock });
  const control = await openControl(kv, clock);
  const masterKeys = await readMasterKeys(newMasterKey());
  const topup = { receivingAccounts: [receivingAccount], approvalAboveMicroVnd: 0n };
  try {
    const { readCatalog, fileContents, retention } = testConfig();
    const vault = new LiveVault({ kv, masterKeys });
    const editing = { kv, clock, read: readCatalog, vault, fileContents, refresh: control.refresh };
    const deps = {
      kv,
      clock,
      masterKeys,
      origin: "https://gw.example",
      control,
      wallet,
      topup,
      editing,
      parts: undefined,
      retention,
    };
    await run(world, createAdminApp(deps));
  } finally {
    control.close();
    await wallet.close();
  }
}

/** Runs what was typed after `deno task admin`. */
async function typed(app: Hono, line: string): Promise<{ status: number; said: string }> {
  const read = readAdminCommand(line.split(" "));
  if (read.kind !== "request") throw new Error(JSON.stringify(read));
  const { method, path, body, readsSecret } = read.request;
  const sent = readsSecret === undefined || typeof body !== "object"
    ? body
    : { ...body, secret: "sk-of-the-standard-input" };
  const response = await app.request(path, {
    method,
    ...(sent === undefined ? {} : { body: JSON.stringify(sent) }),
  });
  return { status: response.status, said: await response.text() };
}

const putBack = (app: Hono, name: string) =>
  app.request("/api/bank-notices/verdicts", {
    method: "POST",
    body: JSON.stringify({ notice: name, verdict: "return" }),
  });

Deno.test("a notice that the machine took for a duplicate is put back by the command line", () =>
  administered(async (world, app) => {
    await world.intake.take(notice("nap tien", { reference: "R1" }), "{}");
    const joined = notice("nap tien", { source: "casso", id: "c:1", reference: "R1" });
    await world.intake.take(joined, "{}");
    const done = await putBack(app, "casso:c:1");
    assertEquals([done.status, (await done.json()).state.kind], [200, "review"]);
    const [line] = await listAuditLines(world.kv, { count: 1 });
    assertEquals([line?.act, line?.operatorEmail, line?.operatorId], [
      "notice_returned",
      "command line",
      undefined,
    ]);
    const refusals = [
      ["casso:c:1", 400, "its state does not allow this"],
      ["casso:nothing", 404, "there is no such notice"],
      ["nobody:1", 400, "Not a bank notice"],
    ] as const;
    for (const [name, status, why] of refusals) {
      const refused = await putBack(app, name);
      assertEquals(refused.status, status);
      assertStringIncludes((await refused.json()).error.message, why);
    }
    assertEquals(await world.findings(), []);
  }));

Deno.test("maintenance turned by the command line is in the audit log", () =>
  administered(async (world, app) => {
    const turn = (body: unknown) =>
      app.request("/maintenance", { method: "POST", body: JSON.stringify(body) });
    assertEquals((await turn({ on: true, message: "back at six" })).status, 200);
    assertEquals((await turn({ on: false })).status, 200);
    const lines = await listAuditLines(world.kv, { count: 10 });
    assertEquals(
      lines.map(({ operatorEmail, subject, detail }) => [operatorEmail, subject, detail]),
      [
        ["command line", "off", ""],
        ["command line", "on", "back at six"],
      ],
    );
  }));

Deno.test("money is not moved by hand under an operation id of the gateway's own", () =>
  administered(async (world, app) => {
    const ann = await world.customer("ann");
    const event = notice((await world.order(ann)).code);
    const move = (operationId: string, vnd = "200000") =>
      app.request(`/api/accounts/${ann.id}/credit`, {
        method: "POST",
        body: JSON.stringify({ vnd, reason: "bank is late", operationId }),
      });
    const refund = refundOperationId(newId("request", 1));
    const own = [creditOperationId(event), refund, "adj:form-1234", "demo:acc_1"];
    for (const operationId of own) {
      const refused = await move(operationId);
      assertEquals(refused.status, 400, operationId);
      assertStringIncludes((await refused.json()).error.message, "the gateway's own");
      assertEquals((await move(operationId, "-5")).status, 400, operationId);
    }
    assertEquals(await world.balanceVnd(ann.id), 0);
    assertEquals((await move("late-bank-1")).status, 200);
    await world.intake.take(event, "{}");
    assertEquals(await world.balanceVnd(ann.id), 400_000);
    assertEquals(await world.findings(), []);
  }));

Deno.test("an operation id is a line that the store keeps as it is, so that verification finds its movement", () =>
  administered(async (world, app) => {
    const ann = await world.customer("ann");
    const move = (operationId: string, reason = "bank is late") =>
      app.request(`/api/accounts/${ann.id}/credit`, {
        method: "POST",
        body: JSON.stringify({ vnd: "5000", reason, operationId }),
      });
    for (const id of ["late-1\ud83d", "late-1\u0000", "late\n-bank", "        ", "short"]) {
      const refused = await move(id);
      assertEquals(refused.status, 400, JSON.stringify(id));
      assertEquals((await refused.json()).error.param, "operationId", JSON.stringify(id));
    }
    for (const reason of ["   ", "a\u0000bc", "ab", "x".repeat(501)]) {
      assertEquals((await move("late-bank-1", reason)).status, 400, JSON.stringify(reason));
    }
    assertEquals((await move(" muộn-🏦-1 ")).status, 200);
    assertEquals((await (await move("muộn-🏦-1")).json()).status, "duplicate");
    assertEquals(await world.balanceVnd(ann.id), 5_000);
    assertEquals(await world.findings(), []);
  }));

Deno.test("a body that is no JSON is the sender's fault, whichever command it is for", () =>
  administered(async (world, app) => {
    const { id } = await world.customer("ann");
    const paths = [
      "/accounts",
      `/accounts/${id}/keys`,
      `/api/accounts/${id}/credit`,
      "/verify/reseal",
      "/sums/rebuild",
      "/archive",
      "/maintenance",
    ];
    for (const path of paths) {
      const refused = await app.request(path, { method: "POST", body: "{" });
      assertEquals(
        [refused.status, (await refused.json()).error.code],
        [400, "invalid_json"],
        path,
      );
    }
  }));

Deno.test("work that was given up is listed, tried again and forgotten by the command line", () =>
  administered(async ({ kv, nowMs }, app) => {
    const mailTo = (to: string) => ({ kind: "password_changed", to, locale: "en" });
    const signUp = { ...mailTo("new@example.com"), kind: "sign_up", passwordHash: "s3cret" };
    const unreadable = { kind: "of another version" };
    const payloads = { one: mailTo("ann@example.com"), two: signUp, three: unreadable };
    const write = kv.atomic();
    for (const [id, payload] of Object.entries(payloads)) {
      const row = { payload, createdAtMs: nowMs, attempts: 8 };
      bury(write, mailQueue, { id, row, reason: "MailError", nowMs });
    }
    await write.commit();

    const listed = await typed(app, "outbox list");
    assert(!listed.said.includes("s3cret"), listed.said);
    const letters = JSON.parse(listed.said).data;
    assertEquals(letters.map(({ letter }: { letter: string }) => letter), [
      "mail:one",
      "mail:three",
      "mail:two",
    ]);
    assertEquals([letters[0].reason, letters[0].attempts, letters[0].payload.to], [
      "MailError",
      8,
      "ann@example.com",
    ]);

    assertEquals((await typed(app, "outbox revive mail:one")).status, 200);
    const [claim] = await claimDue(kv, mailQueue, { nowMs, count: 8 });
    assertEquals([claim?.id, claim?.attempt], ["one", 1]);
    const refusals = [
      ["outbox revive mail:one", "there is no such letter"],
      ["outbox revive mail:three", "it cannot be read"],
      ["outbox revive pigeons:one", "Not a dead letter"],
      ["outbox forget mail", "Not a dead letter"],
      ["outbox forget mail:one", "there is no such letter"],
    ] as const;
    for (const [line, why] of refusals) {
      const refused = await typed(app, line);
      assert([400, 404].includes(refused.status), line);
      assertStringIncludes(refused.said, why);
    }
    assertEquals((await typed(app, "outbox forget mail:three")).status, 200);
    assertEquals(JSON.parse((await typed(app, "outbox list")).said).data.length, 1);
    const lines = await listAuditLines(kv, { count: 10 });
    assertEquals(lines.map(({ act, operatorEmail }) => [act, operatorEmail]), [
      ["letter_forgotten", "command line"],
      ["letter_revived", "command line"],
    ]);
  }));

/** The act of which a command leaves one line; or why it leaves none. */
type Line = OperatorAct | { readonly none: string };

const reads = { none: "it changes nothing" };
const repairs = { none: "it makes what rows say already, and no decision" };
const ofCatalogue = { none: "its lines are those of versions, which other tests see" };

const lineOfCommand: Readonly<Record<string, Line>> = {
  "doctor": reads,
  "account list": reads,
  "account create": "account_made",
  "account show": reads,
  "account notes": reads,
  "account note": "note_added",
  "key create": "api_key_made",
  "key revoke": "api_key_revoked",
  "second-factor forget": "second_factor_forgotten",
  "credit": "wallet_adjusted",
  "campaign list": reads,
  "campaign make": "campaign_made",
  "campaign pause": "campaign_paused",
  "campaign resume": "campaign_resumed",
  "campaign approve": "campaign_approved",
  "campaign codes": "vouchers_made",
  "verify": reads,
  "margins": reads,
  "provider-sheet": reads,
  "proof-keys rotate": "proof_key_made",
  "reseal-secrets": "secrets_resealed",
  "reseal": { none: "tests/kv/services/verify/reseal_test.ts sees its line" },
  "sandbox void": "wallet_adjusted",
  "tables": reads,
  "archive": repairs,
  "retention": { none: "tests/routes/operator/cli/commands/retention_test.ts sees its lines" },
  "export": reads,
  "sums rebuild": repairs,
  "outbox list": reads,
  "outbox revive": "letter_revived",
  "outbox forget": "letter_forgotten",
  "approval list": reads,
  "approval approve": "wallet_adjusted",
  "approval refuse": "adjustment_refused",
  "notice list": reads,
  "notice assign": "notice_assigned",
  "notice duplicate": "notice_marked_duplicate",
  "notice ignore": "notice_ignored",
  "notice refund": "notice_refund_started",
  "notice refunded": "notice_refunded",
  "notice return": "notice_returned",
  "backup": reads,
  "restore": { none: "it fills an empty store with the lines of another" },
  "catalog show": reads,
  "catalog apply": ofCatalogue,
  "catalog history": reads,
  "catalog rollback": ofCatalogue,
  "catalog withdraw": ofCatalogue,
  "provider-key list": reads,
  "provider-key add": "provider_key_added",
  "provider-key replace": "provider_key_replaced",
  "provider-key remove": "provider_key_removed",
  "provider-key reseal": { none: "tests/kv/services/vault/stored_keys_test.ts sees its lines" },
  "maintenance on": "maintenance_changed",
  "maintenance off": "maintenance_changed",
  "route test": { none: "tests/routes/operator/operations/route_tests_test.ts sees its line" },
};

Deno.test("each command that changes something leaves one line of the owner of the machine", () =>
  administered(async (world, app) => {
    const { kv, nowMs } = world;
    assertEquals(
      commandForms.map(({ words }) => words.join(" ")).toSorted(),
      Object.keys(lineOfCommand).toSorted(),
    );
    const seen = new Set<string>();
    const run = async (command: string, rest: string, of = { status: 200 }) => {
      const before = await listAuditLines(kv, { count: 100 });
      const { status, said } = await typed(app, `${command} ${rest}`.trim());
      assertEquals(status, of.status, `${command}: ${said}`);
      const fresh = (await listAuditLines(kv, { count: 100 })).slice(
        0,
        -before.length || undefined,
      );
      const line = lineOfCommand[command];
      const wanted = status === 200 && typeof line === "string" ? [[line, "command line"]] : [];
      assertEquals(fresh.map((one) => [one.act, one.operatorEmail]), wanted, command);
      assert(!fresh.some(({ subject, detail }) => `${subject} ${detail}`.includes("@")), command);
      if (wanted.length > 0) seen.add(command);
      return JSON.parse(said);
    };
    const to = "ann@example.com";
    const { id: account } = await run("account create", `--email ${to}`);
    await run("account create", `--email ${to}`, { status: 400 });
    await run("account create", "--email nobody", { status: 400 });
    await run("account show", to);
    await run("account note", `${to} --text vip`);
    await run("account notes", to);
    const { id: key } = await run("key create", to);
    await run("key revoke", `${to} ${key}`);
    await run("second-factor forget", to);
    const gone = await world.customer("gone");
    await forgetPerson(kv, gone.id, nowMs);
    await run("key create", gone.id, { status: 404 });
    await run("key create", `${to} --name ${"x".repeat(61)}`, { status: 400 });
    await run("credit", `${gone.id} 5000 --reason late-bank`, { status: 400 });
    await run("credit", `${to} 5000 --reason late-bank`);
    await run("campaign list", "");
    const campaign = await run("campaign make", "voucher Tet --amount 20000 --budget 100000");
    for (const act of ["pause", "resume"]) await run(`campaign ${act}`, campaign.id);
    const terms = readCampaign({
      ...noCampaignFields,
      kind: "signup",
      name: "Tet",
      amount: "20k",
      budget: "1tr",
    }, nowMs);
    assert(terms.ok);
    const program = { operator: operatorProgram, nowMs, limitMicroVnd: 0n };
    await run("campaign approve", (await makeCampaign(kv, terms.terms, program)).id);
    await run("campaign codes", `${campaign.id} 2`);
    const play = { accountId: account, kind: "demo" as const, reason: "play", atMs: nowMs };
    await credit(kv, { ...play, amountMicroVnd: 1n, operationId: `demo:${account}` });
    await run("proof-keys rotate", "");
    await run("reseal-secrets", "");
    await run("sandbox void", "");
    const mail = { kind: "password_changed", to, locale: "en" };
    for (const id of ["one", "two"]) {
      const row = { payload: mail, createdAtMs: nowMs, attempts: 8 };
      await bury(kv.atomic(), mailQueue, { id, row, reason: "MailError", nowMs }).commit();
    }
    await run("outbox revive", "mail:one");
    await run("outbox forget", "mail:two");
    await world.intake.take(notice("nap tien", { reference: "R9" }), "{}");
    await world.intake.take(
      notice("nap tien", { source: "casso", id: "c:9", reference: "R9" }),
      "{}",
    );
    await run("notice return", "casso:c:9");
    await run("notice list", "");
    await run("notice refund", "casso:c:9 --note no-customer");
    await run("notice refunded", "casso:c:9 --reference FT26334");
    await run("notice refunded", "casso:c:9 --reference FT26334", { status: 400 });
    for (const id of ["s:1", "s:2", "s:3"]) {
      await world.intake.take(notice("nap tien", { id, reference: id }), "{}");
    }
    await run("notice assign", `sepay:s:1 ${to} --reason found`);
    await run("notice assign", `sepay:s:1 ${to} --reason again`, { status: 400 });
    await run("notice duplicate", "sepay:s:2 sepay:s:3");
    await run("notice ignore", "sepay:s:3 --note not-ours");
    const staff = await world.customer("staff");
    const asked = async (reason: string) => {
      const requestedBy = { accountId: staff.id, email: "staff@example.com" };
      const amountMicroVnd = fromVnd(7_000_000);
      const made = await requestApproval(
        kv,
        { kind: "adjust", accountId: account, amountMicroVnd, reason },
        { operator: requestedBy, nowMs, balanceOf: () => Promise.resolve(0n), formId: reason },
      );
      assert(made.ok);
      return made.approval.id;
    };
    await run("approval list", "");
    const agreed = await asked("first");
    const { decidedBy, state } = await run("approval approve", agreed);
    assertEquals([decidedBy, state], [{ email: "command line" }, "approved"]);
    await run("approval approve", agreed, { status: 400 });
    await run("approval refuse", await asked("second"));
    for (const act of ["add", "replace", "remove"]) await run(`provider-key ${act}`, "main");
    await run("provider-key list", "");
    for (const turned of ["on", "off"]) await run(`maintenance ${turned}`, "");
    const acting = Object.entries(lineOfCommand).filter(([, line]) => typeof line === "string");
    assertEquals([...seen].toSorted(), acting.map(([command]) => command).toSorted());
    assertEquals(await world.findings(), []);
  }));

Deno.test("wrong day sums are rebuilt by the command line, of one account or of all", () =>
  administered(async (world, app) => {
    const { kv } = world;
    const accounts = [await world.customer("ann"), await world.customer("bob")];
    const damage = async () => {
      for (const { id } of accounts) {
        await kv.set(daySumKey(id, "2026-11-20", testKeyId, "ghost"), { ...noUsage, calls: 9 });
      }
    };
    const isRight = async () => JSON.parse((await typed(app, "verify")).said).ok;
    await damage();
    assertEquals(await isRight(), false);
    const one = await typed(app, `sums rebuild --account ${accounts[0]?.email}`);
    assertEquals(JSON.parse(one.said), { accounts: 1, corrected: 1, moving: [] });
    assertEquals(await isRight(), false);
    const all = await typed(app, "sums rebuild");
    assertEquals(JSON.parse(all.said), { accounts: 2, corrected: 1, moving: [] });
    assertEquals(await isRight(), true);
    assertEquals((await typed(app, "sums rebuild --account nobody@example.com")).status, 404);
  }));
