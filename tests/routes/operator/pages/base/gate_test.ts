import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { newMasterKey, readMasterKeys } from "../../../../../core/people/api_keys/seal.ts";
import { findAccountByEmail } from "../../../../../kv/people/accounts/accounts.ts";
import { commandLine, listAuditLines } from "../../../../../kv/people/audit/operator_audit.ts";
import { secondFactorKey } from "../../../../../kv/engine/schema/keys.ts";
import {
  forgetSecondFactor,
  type SecondFactor,
} from "../../../../../kv/people/accounts/second_factor.ts";
import { createOperatorPages } from "../../../../../routes/operator/pages/operator_pages.ts";
import { codeFor, operatorWorld, secretOn } from "../../../../support/worlds/operator_world.ts";
import { pageApp, visit } from "../../../../support/browser/page_visitor.ts";

const paths = [
  "/operator",
  "/operator/review",
  "/operator/bank",
  "/operator/bank/topups.csv",
  "/operator/accounts",
  "/operator/approvals",
  "/operator/invoices",
  "/operator/service",
  "/operator/provider-routes",
  "/operator/audit",
  "/operator/notices/sepay/1",
];
const acts = [
  "/operator/verify",
  "/operator/bank/import",
  "/operator/bank/poll",
  "/operator/bank/check",
  "/operator/invoices/export",
  "/operator/service/maintenance",
  "/operator/provider-routes/switch",
  "/operator/catalogue/test",
  "/operator/notices/sepay/1/assign",
  "/operator/notices/sepay/1/resolve",
  "/operator/approvals/apr_1/approve",
  "/operator/accounts/acc_1/adjust",
  "/operator/accounts/acc_1/block",
];

Deno.test("for customers the operator's pages do not exist; visitors without a session are sent to sign in", () =>
  operatorWorld(async ({ world, as }) => {
    const ann = await as(await world.customer("ann"));
    const stranger = await as(undefined);
    for (const path of [...paths, "/operator/second-factor"]) {
      assertEquals((await ann.get(path)).status, 404, path);
      const redirect = await stranger.get(path);
      assertEquals(redirect.status, 303, path);
      assertStringIncludes(redirect.location ?? "", "/sign-in");
    }
    for (const path of acts) assertEquals((await ann.post(path)).status, 404, path);
  }));

Deno.test("without the second factor an operator gets no further than its page", () =>
  operatorWorld(async ({ world, as }) => {
    const staff = await as(await world.customer("staff"));
    for (const path of paths) {
      const redirect = await staff.get(path);
      assertEquals([redirect.status, redirect.location], [
        303,
        `/operator/second-factor?next=${encodeURIComponent(path)}`,
      ]);
    }
    for (const path of acts) {
      const redirect = await staff.post(path);
      assertEquals([redirect.status, redirect.location], [303, "/operator/second-factor"], path);
    }
    assertEquals(await listAuditLines(world.kv, { count: 9 }), []);
  }));

Deno.test("the first visit enrols; the right code leads to the requested page", () =>
  operatorWorld(async ({ world, as }) => {
    const staff = await as(await world.customer("staff"));
    const page = await staff.get("/operator/second-factor?next=%2Foperator%2Freview");
    const secret = secretOn(page);
    assert(secret !== undefined);
    assertStringIncludes(page.text, "<svg");
    const entered = await staff.post("/operator/second-factor?next=%2Foperator%2Freview", {
      code: codeFor(secret, world.nowMs),
    });
    assertEquals(entered.location, "/operator/review");
    assertEquals((await staff.get("/operator/review")).status, 200);
    // The secret is never shown again, and lies sealed in the store.
    assertEquals(secretOn(await staff.get("/operator/second-factor")), undefined);
    const account = await findAccountByEmail(world.kv, "staff@example.com");
    const { value } = await world.kv.get<SecondFactor>(secondFactorKey(account!.id));
    assert(value !== null && !JSON.stringify(value).includes(secret));
    assertEquals((await listAuditLines(world.kv, { count: 9 })).map(({ act }) => act), [
      "second_factor_enrolled",
    ]);
  }));

Deno.test("a wrong code is refused and audited; the next page is never on another site", () =>
  operatorWorld(async ({ world, as }) => {
    const staff = await as(await world.customer("staff"));
    const secret = secretOn(await staff.get("/operator/second-factor"))!;
    for (const code of ["", "000000", "12345", "abcdef", codeFor(secret, world.nowMs - 120_000)]) {
      assertEquals((await staff.post("/operator/second-factor", { code })).status, 400, code);
    }
    assertEquals((await listAuditLines(world.kv, { count: 9 })).map(({ act }) => act), [
      "second_factor_failed",
      "second_factor_failed",
      "second_factor_failed",
      "second_factor_failed",
      "second_factor_failed",
    ]);
    const path = `/operator/second-factor?next=${encodeURIComponent("//evil.example/")}`;
    const entered = await staff.post(path, { code: codeFor(secret, world.nowMs) });
    assertEquals([entered.status, entered.location], [303, "/operator"]);
  }));

Deno.test("codes are limited: after six tries even the right one waits", () =>
  operatorWorld(async ({ world, as }) => {
    const staff = await as(await world.customer("staff"));
    const secret = secretOn(await staff.get("/operator/second-factor"))!;
    for (let count = 0; count < 6; count++) {
      await staff.post("/operator/second-factor", { code: "000000" });
    }
    const right = () => codeFor(secret, world.nowMs);
    const refused = await staff.post("/operator/second-factor", { code: right() });
    assertStringIncludes(refused.text, "Too many wrong codes");
    world.nowMs += 600_000;
    assertEquals((await staff.post("/operator/second-factor", { code: right() })).status, 303);
  }));

Deno.test("a code counts once, and a session does not lend its pass to another", () =>
  operatorWorld(async ({ world, as }) => {
    const account = await world.customer("staff");
    const [first, second] = [await as(account), await as(account)];
    const secret = secretOn(await first.get("/operator/second-factor"))!;
    const code = codeFor(secret, world.nowMs);
    assertEquals((await first.post("/operator/second-factor", { code })).status, 303);
    assertEquals((await second.get("/operator")).status, 303);
    assertEquals((await second.post("/operator/second-factor", { code })).status, 400);
    world.nowMs += 30_000;
    const next = codeFor(secret, world.nowMs);
    assertEquals((await second.post("/operator/second-factor", { code: next })).status, 303);
    assertEquals((await second.get("/operator")).status, 200);
  }));

Deno.test("the same code at the same moment lets one of two in", () =>
  operatorWorld(async ({ world, as }) => {
    const account = await world.customer("staff");
    const [first, second] = [await as(account), await as(account)];
    const secret = secretOn(await first.get("/operator/second-factor"))!;
    const code = codeFor(secret, world.nowMs);
    const both = await Promise.all(
      [first, second].map((browser) => browser.post("/operator/second-factor", { code })),
    );
    assertEquals(both.map(({ status }) => status).toSorted(), [303, 400]);
  }));

Deno.test("the pass ends after twelve hours", () =>
  operatorWorld(async ({ world, operator }) => {
    const staff = await operator("staff");
    world.nowMs += 12 * 3_600_000 - 1;
    assertEquals((await staff.get("/operator")).status, 200);
    world.nowMs += 1;
    assertEquals((await staff.get("/operator")).status, 303);
  }));

Deno.test("a forgotten factor is enrolled again, with another secret", () =>
  operatorWorld(async ({ world, as }) => {
    const account = await world.customer("staff");
    const staff = await as(account);
    const secret = secretOn(await staff.get("/operator/second-factor"))!;
    await staff.post("/operator/second-factor", { code: codeFor(secret, world.nowMs) });
    await forgetSecondFactor(world.kv, account.id, { operator: commandLine, nowMs: world.nowMs });
    const fresh = secretOn(await staff.get("/operator/second-factor"));
    assert(fresh !== undefined && fresh !== secret);
  }));

Deno.test("under another master key the page explains it, also for the right code", () =>
  operatorWorld(async ({ world, deps, as }) => {
    const account = await world.customer("staff");
    const staff = await as(account);
    const secret = secretOn(await staff.get("/operator/second-factor"))!;
    await staff.post("/operator/second-factor", { code: codeFor(secret, world.nowMs) });
    world.nowMs += 60_000;
    const moved = { ...deps, masterKeys: await readMasterKeys(newMasterKey()) };
    const app = pageApp(moved, createOperatorPages(moved));
    const words = {
      en: "sealed with a master key that this server does not have",
      vi: "khoá chủ mà máy chủ này không có",
    } as const;
    for (const locale of ["en", "vi"] as const) {
      const browser = await visit(app, moved, account, locale);
      const page = await browser.get("/operator/second-factor");
      const code = codeFor(secret, world.nowMs);
      const refused = await browser.post("/operator/second-factor", { code });
      assertEquals([page.status, refused.status], [200, 400]);
      for (const { text } of [page, refused]) {
        assertStringIncludes(text, words[locale]);
        assertStringIncludes(text, "deno task admin second-factor forget staff@example.com");
        assert(!text.includes('name="code"'), "a form that refuses every code");
      }
    }
    // Nobody failed: the audit log has the enrolment only.
    assertEquals((await listAuditLines(world.kv, { count: 9 })).map(({ act }) => act), [
      "second_factor_enrolled",
    ]);
    await forgetSecondFactor(world.kv, account.id, { operator: commandLine, nowMs: world.nowMs });
    const browser = await visit(app, moved, account);
    assert(secretOn(await browser.get("/operator/second-factor")) !== undefined);
  }));

Deno.test("an enrolment begun under another master key starts again, and says so", () =>
  operatorWorld(async ({ world, deps, as }) => {
    const account = await world.customer("staff");
    const secret = secretOn(await (await as(account)).get("/operator/second-factor"))!;
    const moved = { ...deps, masterKeys: await readMasterKeys(newMasterKey()) };
    const browser = await visit(pageApp(moved, createOperatorPages(moved)), moved, account);
    const code = codeFor(secret, world.nowMs);
    const refused = await browser.post("/operator/second-factor", { code });
    assertStringIncludes(refused.text, "Scan the new one");
    const fresh = secretOn(refused);
    assert(fresh !== undefined && fresh !== secret);
    const entered = await browser.post("/operator/second-factor", {
      code: codeFor(fresh, world.nowMs),
    });
    assertEquals(entered.status, 303);
  }));
