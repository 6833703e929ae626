/**
 * Sign-in by a mailed link, without a password. It stays available while strangers who guess passwords have used up the
 * budget of tries.
 */
import { type Context, Hono } from "hono";
import { returnPath } from "../../../../core/people/accounts/email_address.ts";
import { countTryByAddress, linkWasUsed, rateRules } from "../../../auth/sign_in_budgets.ts";
import { Card, Notice, PostForm, SubmitButton } from "../../components/mod.ts";
import { readForm } from "../../page/form_data.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import type { SignInDeps } from "../../page/sign_in_deps.ts";
import { deadEndPage, formPage, NextField } from "./form_parts.tsx";
import { mailRequestPage, type RequestedMail, requestMail, TokenField } from "./mail_request.tsx";
import { findOpenable } from "./sign_up.tsx";
import { passFirstFactor } from "./start_session.ts";
import { clientAddress } from "../../visitor/doer.ts";
import { signInTexts } from "./texts.ts";
import type { PageDeclaration } from "../../page/page.ts";

const signInLink: RequestedMail = {
  kind: "sign_in_link",
  path: "/sign-in/link",
  rule: rateRules.linkByAddress,
  title: (t) => t.linkTitle,
  lead: (t) => t.linkLead,
  sent: (t, email) => t.sentLink(email),
  keepsNext: true,
  job: (mail) => ({ kind: "sign_in_link", ...mail }),
};

/** The button shown with a refused password try; the address is known, so one click is enough. */
export function LinkInstead({ email, next, visitor }: {
  email: string;
  next: string;
  visitor: Visitor;
}) {
  const t = signInTexts[visitor.locale];
  return (
    <PostForm visitor={visitor} action={signInLink.path} class="before-form">
      <NextField next={next} />
      <input type="hidden" name="email" value={email} />
      <p>{t.linkInstead}</p>
      <SubmitButton tone="plain">{t.linkButton}</SubmitButton>
    </PostForm>
  );
}

function enterPage(c: Context<DashboardEnv>, form: { token?: string; error?: string }) {
  const visitor = c.get("visitor");
  const t = signInTexts[visitor.locale];
  return formPage(
    c,
    { title: t.signInTitle, refused: form.error !== undefined },
    <Card>
      {form.error !== undefined && <Notice tone="danger">{form.error}</Notice>}
      <PostForm visitor={visitor} action="/sign-in/mail">
        <TokenField token={form.token} locale={visitor.locale} />
        <SubmitButton>{t.signInButton}</SubmitButton>
      </PostForm>
    </Card>,
  );
}

async function enter(c: Context<DashboardEnv>, deps: SignInDeps) {
  const t = signInTexts[c.get("visitor").locale];
  const token = (await readForm(c)).text("token");
  const nowMs = deps.clock.nowMs();
  const rule = rateRules.tokenByAddress;
  const tries = await countTryByAddress(deps.kv, rule, clientAddress(c), nowMs);
  if (!tries.allowed) {
    return await enterPage(c, { token, error: t.tooMany(tries.retryAfterSeconds) });
  }
  const found = await findOpenable(deps, "sign_in", token, nowMs);
  if (found === undefined || !await found.open.use()) {
    const way = { href: signInLink.path, text: t.startAgain };
    return await deadEndPage(c, { title: t.signInTitle, why: t.linkDead, way });
  }
  await linkWasUsed(deps.kv, found.account.email, nowMs);
  const next = returnPath(found.open.grant.next, "/");
  return await passFirstFactor(c, deps, found.account.id, { method: "mail", next });
}

/** Registers `/sign-in/link`, which requests the mail, and `/sign-in/mail`, where its link leads. */
function createMailLinkPages(deps: SignInDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .get(
      signInLink.path,
      (c) => mailRequestPage(c, signInLink, { next: returnPath(c.req.query("next"), "/") }),
    )
    .post(signInLink.path, (c) => requestMail(c, deps, signInLink))
    .get("/sign-in/mail", (c) => enterPage(c, {}))
    .post("/sign-in/mail", (c) => enter(c, deps));
}

export const mailLinkPages: PageDeclaration<SignInDeps> = {
  isPublicForm: true,
  routes: createMailLinkPages,
};
