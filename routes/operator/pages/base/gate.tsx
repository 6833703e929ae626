/**
 * Admits to the operator's pages: an account named in `GATEWAY_OPERATORS` whose session has entered a one-time code in
 * the last twelve hours. For all others the pages do not exist.
 */
import { Hono, type MiddlewareHandler } from "hono";
import { raw } from "hono/html";
import { returnPath } from "../../../../core/people/accounts/email_address.ts";
import { writeAuditLine } from "../../../../kv/people/audit/operator_audit.ts";
import {
  hasPassedSecondFactor,
  passSecondFactor,
} from "../../../../kv/people/accounts/second_factor.ts";
import { checkCode, countCodeTry, factorOf, totpUri } from "../../../auth/one_time_codes.ts";
import {
  Card,
  CopyRow,
  Notice,
  PostForm,
  SubmitButton,
  TextField,
} from "../../../dashboard/components/mod.ts";
import { notFoundPage } from "../../../dashboard/frame/error_pages.tsx";
import { readForm } from "../../../dashboard/page/form_data.ts";
import { requireAccount } from "../../../dashboard/visitor/identify.ts";
import { renderPage } from "../../../dashboard/frame/layout.tsx";
import { renderQr } from "../../../http/qr_code.ts";
import type { DashboardEnv } from "../../../dashboard/page/visitor.ts";
import { type OperatorContext, type OperatorDeps, operatorOf } from "./frame.tsx";
import { frameTexts } from "./texts.ts";

const factorPath = "/operator/second-factor";

/** Admits operators; all others get a 404. */
const requireOperator: MiddlewareHandler<DashboardEnv> = async (c, next) => {
  if (!c.get("signedIn").isOperator) return await notFoundPage(c);
  return await next();
};

/** Admits sessions that have entered a code. */
function requireSecondFactor(deps: OperatorDeps): MiddlewareHandler<DashboardEnv> {
  return async (c, next) => {
    const { person: account, session } = c.get("signedIn");
    const nowMs = deps.clock.nowMs();
    if (await hasPassedSecondFactor(deps.kv, session.id, account.id, nowMs)) return await next();
    const back = c.req.method === "GET" ? `?next=${encodeURIComponent(c.get("visitor").path)}` : "";
    return c.redirect(`${factorPath}${back}`, 303);
  };
}

/** The page shown in place of a form that would refuse every code. */
async function unreadablePage(c: OperatorContext) {
  const t = frameTexts[c.get("visitor").locale].factor;
  const { id, email } = c.get("signedIn").person;
  return await renderPage(
    c,
    { title: t.title, narrow: true, status: c.req.method === "GET" ? 200 : 400 },
    <Card>
      <Notice tone="danger">{t.unreadable}</Notice>
      <p>{t.unreadableText}</p>
      <code>deno task admin second-factor forget {email ?? id}</code>
    </Card>,
  );
}

async function factorPage(c: OperatorContext, deps: OperatorDeps, problem?: string) {
  const visitor = c.get("visitor");
  const t = frameTexts[visitor.locale].factor;
  const factor = await factorOf(deps, c.get("signedIn").person.id);
  const email = c.get("signedIn").person.email ?? "";
  const issuer = new URL(deps.baseUrl).host;
  const next = c.req.query("next");
  if (factor.kind === "unreadable") return await unreadablePage(c);
  const action = next === undefined ? factorPath : `${factorPath}?next=${encodeURIComponent(next)}`;
  return await renderPage(
    c,
    { title: t.title, lead: t.lead, narrow: true, status: problem === undefined ? 200 : 400 },
    <Card>
      {problem !== undefined && <Notice tone="danger">{problem}</Notice>}
      {factor.kind === "known" && !factor.confirmed && (
        <>
          <p>{t.enrol}</p>
          <div class="qr" role="img" aria-label={t.qrLabel}>
            {raw(renderQr(totpUri(factor.secret, email, issuer)))}
          </div>
          <CopyRow label={t.secret} value={factor.secret} locale={visitor.locale} />
        </>
      )}
      <PostForm visitor={visitor} action={action}>
        <TextField
          name="code"
          label={t.code}
          inputmode="numeric"
          autocomplete="one-time-code"
          required
          autofocus
          maxlength={8}
        />
        <SubmitButton>{t.send}</SubmitButton>
      </PostForm>
    </Card>,
  );
}

async function enterCode(c: OperatorContext, deps: OperatorDeps) {
  const t = frameTexts[c.get("visitor").locale].factor;
  const { person: account, session } = c.get("signedIn");
  const operator = operatorOf(c);
  const nowMs = deps.clock.nowMs();
  const tries = await countCodeTry(deps.kv, account.id, session.address, nowMs);
  if (!tries.allowed) return await factorPage(c, deps, t.tooMany);
  const checked = await checkCode(deps, account.id, (await readForm(c)).text("code"));
  // The page explains what to do, whatever was typed.
  if (checked.kind === "no_secret") return await factorPage(c, deps, t.anew);
  const passed = checked.kind === "right" &&
    await passSecondFactor(deps.kv, checked.entry, {
      operator,
      sessionId: session.id,
      step: checked.step,
      nowMs,
    });
  if (!passed) {
    const line = {
      act: "second_factor_failed",
      subject: account.id,
      detail: "",
      atMs: nowMs,
    } as const;
    await writeAuditLine(deps.kv, operator, line);
    return await factorPage(c, deps, t.wrong);
  }
  return c.redirect(returnPath(c.req.query("next"), "/operator"), 303);
}

/** Builds the guard of everything under `/operator` and the page that asks for the code. */
export function createOperatorGate(deps: OperatorDeps): Hono<DashboardEnv> {
  const app = new Hono<DashboardEnv>();
  app.use("/operator", requireAccount, requireOperator);
  app.use("/operator/*", requireAccount, requireOperator);
  app.get(factorPath, (c) => factorPage(c, deps));
  app.post(factorPath, (c) => enterCode(c, deps));
  app.use("/operator", requireSecondFactor(deps));
  app.use("/operator/*", requireSecondFactor(deps));
  return app;
}
