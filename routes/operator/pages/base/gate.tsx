/**
 * Admits to the operator's pages: an account named in `GATEWAY_OPERATORS` whose session has entered a one-time code in
 * the last twelve hours. For all others the pages do not exist.
 */
import { Hono, type MiddlewareHandler } from "hono";
import { raw } from "hono/html";
import { returnPath } from "../../../../core/people/accounts/email_address.ts";
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
import { renderQr } from "../../../dashboard/customer/wallet/wallet_order.tsx";
import type { DashboardEnv } from "../../../dashboard/page/visitor.ts";
import { type OperatorContext, type OperatorDeps, operatorOf } from "./frame.tsx";
import { frameTexts } from "./texts.ts";
import { Secret, TOTP } from "otpauth";

// Generates and verifies one-time codes (RFC 6238: SHA-1, six digits, 30 seconds, as all authenticator apps do).

const periodSeconds = 30;
/** Accepted steps before and after the current one, for clocks that are slightly off. */
const stepsOff = 1;

/** Generates a secret in base32 with the runtime's cryptographic randomness. */
function newTotpSecret(): string {
  return new Secret({ size: 20 }).base32;
}

function totpOf(secret: string, email: string, issuer: string): TOTP {
  return new TOTP({
    issuer,
    label: email,
    secret: Secret.fromBase32(secret),
    algorithm: "SHA1",
    digits: 6,
    period: periodSeconds,
  });
}

/** Builds the address in the QR code of an enrolment. */
function totpUri(secret: string, email: string, issuer: string): string {
  return totpOf(secret, email, issuer).toString();
}

/**
 * Verifies a code.
 *
 * @returns the time step it belongs to, so that it can be used up; `undefined` if it is wrong
 *
 * @example
 * ```ts
 * import { totpStep } from "./gate.tsx";
 * // RFC 6238, appendix B: the secret "12345678901234567890" at 59 s, last six digits.
 * const secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
 * if (totpStep(secret, "287082", 59_000) !== 1) throw new Error("the published code was refused");
 * if (totpStep(secret, "287083", 59_000) !== undefined) throw new Error("a wrong code was accepted");
 * ```
 */
export function totpStep(secret: string, code: string, nowMs: number): number | undefined {
  const token = code.replace(/\s/g, "");
  if (!/^\d{6}$/.test(token)) return undefined;
  const off = totpOf(secret, "", "").validate({ token, timestamp: nowMs, window: stepsOff });
  return off === null ? undefined : Math.floor(nowMs / 1_000 / periodSeconds) + off;
}

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
    const { person: account, session } = c.get("signedIn");
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
  const { id } = c.get("signedIn").person;
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
  const factor = await factorOf(c, deps);
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

async function checkCode(c: OperatorContext, deps: OperatorDeps) {
  const t = frameTexts[c.get("visitor").locale].factor;
  const { person: account, session } = c.get("signedIn");
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
