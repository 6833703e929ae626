/** The mails that a reader can switch off: a card of the account page, and the page that links in mails open. */
import { type Context, Hono } from "hono";
import type { MailKind } from "../../../../core/people/mail/mail.ts";
import {
  canSwitchOff,
  isMailKind,
  mailKindNames,
  mailKinds,
} from "../../../../core/people/mail/mail_kinds.ts";
import {
  readSwitchOffToken,
  type SwitchOff,
  switchOffPath,
} from "../../../../core/people/mail/switch_off.ts";
import {
  isOwnersAccount,
  switchMailOff,
  updateAccount,
  wantsMail,
} from "../../../../kv/people/accounts/accounts.ts";
import { unsubscribe } from "../../../../kv/people/operators/status_subscribers.ts";
import { countTryByAddress, rateRules } from "../../../auth/sign_in_budgets.ts";
import { Card, CheckboxField, Notice, PostForm, SubmitButton } from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { renderPage } from "../../frame/layout.tsx";
import { readForm } from "../../page/form_data.ts";
import type { PageDeclaration } from "../../page/page.ts";
import type { DashboardEnv, SignedIn, Visitor } from "../../page/visitor.ts";
import { deadEndPage } from "../sign_in/form_parts.tsx";
import { clientAddress, doneBy, whenceOf } from "../../visitor/doer.ts";
import { accountTexts } from "./texts.ts";

/** Most kinds of later versions that are kept beside those of this one. */
const maxUnknownKinds = 50;

/** Lists the kinds of mails that a person can get, in the order of the table; those that they ask for are none. */
function kindsFor({ isOperator }: SignedIn): MailKind[] {
  return mailKindNames.filter((kind) => {
    const { audience, always } = mailKinds[kind];
    return always !== "requested" &&
      (audience === "customer" || (audience === "operator" && isOperator));
  });
}

/** The card with a checkbox for each kind of mail. */
export function MailSwitches({ visitor, signedIn }: { visitor: Visitor; signedIn: SignedIn }) {
  const { locale } = visitor;
  const t = accountTexts[locale];
  const kinds = kindsFor(signedIn);
  return (
    <Card title={t.mails} id="mails">
      <p class="muted">{t.mailsText}</p>
      <PostForm visitor={visitor} action="/account/mails">
        <fieldset>
          <legend>{t.mailsWanted}</legend>
          {kinds.filter(canSwitchOff).map((kind) => (
            <CheckboxField
              name="mails"
              label={mailKinds[kind].name[locale]}
              value={kind}
              checked={wantsMail(signedIn.person, kind)}
            />
          ))}
        </fieldset>
        <fieldset>
          <legend>{t.mailsAlways}</legend>
          {kinds.filter((kind) => !canSwitchOff(kind)).map((kind) => (
            <CheckboxField
              name="always"
              label={mailKinds[kind].name[locale]}
              value={kind}
              checked
              disabled
            />
          ))}
        </fieldset>
        <p class="muted">{t.mailsAlwaysWhy}</p>
        <SubmitButton tone="plain">{t.mailsButton}</SubmitButton>
      </PostForm>
    </Card>
  );
}

/** Takes the checkboxes of the card. */
export async function saveMailSwitches(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const signedIn = c.get("signedIn");
  const wanted = (await readForm(c)).all("mails");
  const shown = kindsFor(signedIn).filter(canSwitchOff);
  const others = (signedIn.person.mailsOff ?? [])
    .filter((kind) => !isMailKind(kind) || !shown.includes(kind)).slice(0, maxUnknownKinds);
  const off = [...shown.filter((kind) => !wanted.includes(kind)), ...others];
  const done = { act: "mails_changed", ...doneBy(c, deps.clock.nowMs()) } as const;
  await updateAccount(deps.kv, signedIn.person.id, {
    mailsOff: off.length === 0 ? undefined : off,
  }, isOwnersAccount(signedIn.person) ? done : undefined);
  return c.redirect("/account?done=mails", 303);
}

/** Mails that a link switches off; `undefined` if the gateway did not sign it. */
async function switchOffOf(
  c: Context<DashboardEnv>,
  { masterKeys }: DashboardDeps,
): Promise<SwitchOff | undefined> {
  const what = await readSwitchOffToken(masterKeys, c.req.query("token") ?? "");
  return what !== undefined && canSwitchOff(what.mailKind) ? what : undefined;
}

function deadLinkPage(c: Context<DashboardEnv>) {
  const t = accountTexts[c.get("visitor").locale];
  const way = { href: "/account#mails", text: t.mailsInAccount };
  return deadEndPage(c, { title: t.mailsOffTitle, why: t.mailsOffDead, way });
}

function nameOf({ mailKind, subject }: SwitchOff, visitor: Visitor): string {
  return subject.kind === "subscriber"
    ? accountTexts[visitor.locale].mailsOfIncidents
    : mailKinds[mailKind].name[visitor.locale];
}

/** Asks for the click: programs that look at links in mails must not switch anything off. */
async function askPage(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const visitor = c.get("visitor");
  const t = accountTexts[visitor.locale];
  const what = await switchOffOf(c, deps);
  if (what === undefined) return await deadLinkPage(c);
  const token = encodeURIComponent(c.req.query("token") ?? "");
  return await renderPage(
    c,
    { title: t.mailsOffTitle, narrow: true },
    <Card>
      <p>{t.mailsOffAsk(nameOf(what, visitor))}</p>
      <PostForm visitor={visitor} action={`${switchOffPath}?token=${token}`}>
        <SubmitButton>{t.mailsOffButton}</SubmitButton>
      </PostForm>
    </Card>,
  );
}

/** Switches off: the button of the page, or the POST of a mail client (RFC 8058). Again, it changes nothing. */
async function switchOff(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const visitor = c.get("visitor");
  const t = accountTexts[visitor.locale];
  const { kv, clock } = deps;
  const what = await switchOffOf(c, deps);
  const address = clientAddress(c);
  const tries = await countTryByAddress(kv, rateRules.mailsOffByAddress, address, clock.nowMs());
  if (what === undefined || !tries.allowed) return await deadLinkPage(c);
  const { subject, mailKind } = what;
  if (subject.kind === "subscriber") await unsubscribe(kv, subject.addressHash);
  else {
    const by = { kind: "stranger", ...whenceOf(c) } as const;
    await switchMailOff(kv, subject.accountId, mailKind, { by, nowMs: clock.nowMs() });
  }
  const way = subject.kind === "subscriber"
    ? { href: "/incident-mails", text: t.mailsSubscribeAgain }
    : { href: "/account#mails", text: t.mailsInAccount };
  return await renderPage(
    c,
    { title: t.mailsOffTitle, narrow: true },
    <Card>
      <Notice tone="success">{t.mailsOffDone(nameOf(what, visitor))}</Notice>
      <p>
        <a href={way.href}>{way.text}</a>
      </p>
    </Card>,
  );
}

/** The page of the links. Mail clients send its form without cookies and without a token of a page. */
export const mailsOffPages: PageDeclaration<DashboardDeps> = {
  isPublicForm: true,
  isHarmlessForm: true,
  routes: (deps) =>
    new Hono<DashboardEnv>()
      .get(switchOffPath, (c) => askPage(c, deps))
      .post(switchOffPath, (c) => switchOff(c, deps)),
};
