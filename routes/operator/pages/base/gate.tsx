/**
 * Admits to the operator's pages: an account named in `GATEWAY_OPERATORS` whose session has entered a one-time code in
 * the last twelve hours. For all others the pages do not exist.
 */
import { Hono, type MiddlewareHandler } from "hono";
import { raw } from "hono/html";
import { returnPath } from "../../../../core/people/accounts/return_path.ts";
import { open, seal } from "../../../../core/people/api_keys/seal.ts";
import { writeAuditLine } from "../../../../kv/people/audit/operator_audit.ts";
import { addressBlock } from "../../../../core/net/addresses/ip_address.ts";
import { countTry, type RateRule } from "../../../../kv/people/accounts/rate_limits.ts";
import {
  getSecondFactor,
  hasPassedSecondFactor,
  offerSecondFactor,
  passSecondFactor,
} from "../../../../kv/people/accounts/second_factor.ts";
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
import { renderQr } from "../../../dashboard/customer/wallet/wallet_qr.ts";
import type { DashboardEnv } from "../../../dashboard/page/visitor.ts";
import type { OperatorDeps } from "./deps.ts";
import { type OperatorContext, operatorOf } from "./frame.tsx";
import { frameTexts } from "./texts.ts";
import { newTotpSecret, totpStep, totpUri } from "./totp.ts";

const factorPath = "/operator/second-factor";
/**
 * Tries of one-time codes: a million codes exist and three are valid at any time, so six tries in ten minutes are not
 * enough to guess one.
 */
const codeRule: RateRule = { name: "second_factor", count: 6, windowMs: 600_000 };

/** Admits operators; all others get a 404. */
const requireOperator: MiddlewareHandler<DashboardEnv> = async (c, next) => {
  if (!c.get("signedIn").isOperator) return await notFoundPage(c);
  return await next();
};

/** Admits sessions that have entered a code. */
function requireSecondFactor(deps: OperatorDeps): MiddlewareHandler<DashboardEnv> {
  return async (c, next) => {
    const { account, session } = c.get("signedIn");
    const nowMs = deps.clock.nowMs();
    if (await hasPassedSecondFactor(deps.kv, session.id, account.id, nowMs)) return await next();
    const back = c.req.method === "GET" ? `?next=${encodeURIComponent(c.get("visitor").path)}` : "";
    return c.redirect(`${factorPath}${back}`, 303);
  };
}

function sealOwner(accountId: string): string {
  return `second_factor/${accountId}`;
}

/** The second factor of the visitor. */
type Factor =
  | { readonly kind: "known"; readonly secret: string; readonly confirmed: boolean }
  /** Sealed with a master key that is gone: no code can be verified, and only the machine's owner can help. */
  | { readonly kind: "unreadable" }
  /** Another request changed it at this moment. */
  | { readonly kind: "busy" };

/** Reads the stored second factor, or offers a new one until one is confirmed. */
async function factorOf(c: OperatorContext, deps: OperatorDeps): Promise<Factor> {
  const { id } = c.get("signedIn").account;
  const { value } = await getSecondFactor(deps.kv, id);
  if (value !== null) {
    const secret = await open(deps.masterKeys, value.sealedSecret, sealOwner(id));
    const confirmed = value.confirmedAtMs !== undefined;
    if (secret !== undefined) return { kind: "known", secret, confirmed };
    if (confirmed) return { kind: "unreadable" };
  }
  const secret = newTotpSecret();
  const sealed = await seal(deps.masterKeys, secret, sealOwner(id));
  const kept = await offerSecondFactor(deps.kv, id, sealed, deps.clock.nowMs());
  return kept ? { kind: "known", secret, confirmed: false } : { kind: "busy" };
}

/** The page shown in place of a form that would refuse every code. */
async function unreadablePage(c: OperatorContext) {
  const t = frameTexts[c.get("visitor").locale].factor;
  const { id, email } = c.get("signedIn").account;
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
  const factor = await factorOf(c, deps);
  const email = c.get("signedIn").account.email ?? "";
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

async function checkCode(c: OperatorContext, deps: OperatorDeps) {
  const t = frameTexts[c.get("visitor").locale].factor;
  const { account, session } = c.get("signedIn");
  const operator = operatorOf(c);
  const nowMs = deps.clock.nowMs();
  const byAccount = await countTry(deps.kv, codeRule, account.id, nowMs);
  const byAddress = await countTry(deps.kv, codeRule, addressBlock(session.address), nowMs);
  if (!byAccount.allowed || !byAddress.allowed) return await factorPage(c, deps, t.tooMany);
  const entry = await getSecondFactor(deps.kv, account.id);
  const secret = entry.value === null
    ? undefined
    : await open(deps.masterKeys, entry.value.sealedSecret, sealOwner(account.id));
  // There is no readable secret: the page explains what to do, whatever was typed.
  if (secret === undefined) return await factorPage(c, deps, t.anew);
  const code = (await readForm(c)).text("code");
  const step = totpStep(secret, code, nowMs);
  const passed = entry.value !== null && step !== undefined &&
    await passSecondFactor(deps.kv, entry, { operator, sessionId: session.id, step, nowMs });
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
  app.post(factorPath, (c) => checkCode(c, deps));
  app.use("/operator", requireSecondFactor(deps));
  app.use("/operator/*", requireSecondFactor(deps));
  return app;
}
