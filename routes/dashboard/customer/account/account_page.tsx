/** `/account`: the account's data, credentials, sessions and deletion. */
import type { Context } from "hono";
import type { Session } from "../../../../core/people/accounts/session_rules.ts";
import { formatMoney, formatMoneyShort } from "../../../../core/billing/money/display.ts";
import { formatVnd } from "../../../../core/billing/money/micro_vnd.ts";
import type { ClosingObstacle } from "../../../../kv/services/operations/account_closing.ts";
import {
  type BuyerForm,
  buyerFormOf,
  type BuyerProblem,
} from "../../../../core/trade/invoices/invoice.ts";
import { getPasswordHash } from "../../../../kv/people/accounts/account_credentials.ts";
import { getInvoiceSettings } from "../../../../kv/money/invoices/invoices.ts";
import { listSessions } from "../../../../kv/people/accounts/sessions.ts";
import {
  AskSupport,
  Badge,
  Card,
  CheckboxField,
  DataTable,
  Fact,
  Icon,
  Notice,
  PasswordField,
  PostForm,
  RowForm,
  SubmitButton,
  TextField,
  Time,
} from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { BuyerFields } from "../invoices/invoices_form.tsx";
import { renderPage } from "../../frame/layout.tsx";
import { signInTexts } from "../sign_in/texts.ts";
import { mayVisit } from "../../page/page_acts.ts";
import type { DashboardEnv, SignedIn, Visitor } from "../../page/visitor.ts";
import { MailSwitches } from "./mail_switches.tsx";
import { hasSecondFactor } from "../../../../kv/people/accounts/second_factor.ts";
import { SecurityCard } from "./security_page.tsx";
import { accountTexts } from "./texts.ts";
import { type Account, requiresSecondFactor } from "../../../../kv/people/accounts/accounts.ts";
import { securityTexts } from "./security_texts.ts";

/** The path that takes the form of {@linkcode RequirementCard}. */
export const requirementPath = "/account/second-factor";

/** The card with the switch that makes a second factor a condition of everything else. */
function RequirementCard({ visitor, account }: { visitor: Visitor; account: Account }) {
  const t = securityTexts[visitor.locale];
  const isOn = requiresSecondFactor(account);
  return (
    <Card
      title={t.requirement}
      id="second-factor"
      actions={<Badge tone={isOn ? "good" : "neutral"}>{isOn ? t.on : t.off}</Badge>}
    >
      <p class="muted">{t.requirementText}</p>
      <PostForm
        visitor={visitor}
        action={requirementPath}
        confirm={isOn ? t.requirementEndConfirm : t.requirementBeginConfirm}
      >
        <input type="hidden" name="required" value={isOn ? "no" : "yes"} />
        <SubmitButton tone="plain">{isOn ? t.requirementEnd : t.requirementBegin}</SubmitButton>
      </PostForm>
    </Card>
  );
}

// The form of the usual invoice details: tax code, name, address and mail.

/** The card with the form of the invoice details. */
function InvoiceDetailsCard({ visitor, form, problems }: {
  visitor: Visitor;
  form: BuyerForm;
  problems: readonly BuyerProblem[];
}) {
  const { locale } = visitor;
  const t = accountTexts[locale];
  return (
    <Card title={t.invoice} id="invoice-details">
      <p class="muted">{t.invoiceText}</p>
      <PostForm visitor={visitor} action="/account/invoice">
        <BuyerFields form={form} problems={problems} locale={locale} optional />
        <SubmitButton tone="plain">{t.invoiceButton}</SubmitButton>
      </PostForm>
    </Card>
  );
}

/** The result of the act before the page is shown. */
export interface AccountPageState {
  readonly notice?: string;
  readonly errors?: {
    readonly newEmail?: string;
    readonly emailPassword?: string;
    readonly currentPassword?: string;
    readonly newPassword?: string;
    readonly confirmation?: string;
    readonly deletionPassword?: string;
    readonly giveUp?: string;
    /** Obstacles that have to end before the account can be deleted. */
    readonly obstacles?: readonly ClosingObstacle[];
  };
  /** The invoice details as posted, and what is wrong with them. */
  readonly invoice?: { readonly form: BuyerForm; readonly problems: readonly BuyerProblem[] };
  /** Why nothing was done, if no field is at fault. */
  readonly problem?: string;
}

interface PartProps {
  readonly visitor: Visitor;
  readonly signedIn: SignedIn;
  readonly errors: NonNullable<AccountPageState["errors"]>;
}

/** Shows the account with the result of the last act. */
export async function accountPage(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  state: AccountPageState = {},
): Promise<Response> {
  const visitor = c.get("visitor");
  const signedIn = c.get("signedIn");
  const t = accountTexts[visitor.locale];
  const { account, person } = signedIn;
  const [hash, sessions, balance, invoiceSettings, isTwoFactor] = await Promise.all([
    getPasswordHash(deps.kv, person.id),
    listSessions(deps.kv, person.id, deps.clock.nowMs()),
    deps.wallet.balance(account.id),
    getInvoiceSettings(deps.kv, account.id),
    hasSecondFactor(deps.kv, person.id),
  ]);
  const failed = state.errors !== undefined || state.invoice !== undefined;
  const part: PartProps = { visitor, signedIn, errors: state.errors ?? {} };
  return await renderPage(
    c,
    { title: t.title, status: failed ? 422 : 200 },
    <>
      {state.problem !== undefined && <Notice tone="danger">{state.problem}</Notice>}
      {state.notice !== undefined && <Notice tone="success">{state.notice}</Notice>}
      <Card>
        <dl class="facts">
          <Fact name={t.email}>{person.email}</Fact>
          <Fact name={t.accountId}>
            <code>{person.id}</code>
          </Fact>
          <Fact name={t.since}>
            <Time atMs={person.createdAtMs} locale={visitor.locale} dateOnly />
          </Fact>
        </dl>
      </Card>
      <div class="columns">
        <SecurityCard visitor={visitor} isOn={isTwoFactor} />
        {mayVisit(signedIn, requirementPath, "POST") && (
          <RequirementCard visitor={visitor} account={account} />
        )}
      </div>
      <Sessions {...part} sessions={sessions} />
      <div class="columns">
        <PasswordCard {...part} hasPassword={hash !== undefined} />
        {hash !== undefined && <EmailCard {...part} />}
      </div>
      {deps.offers.invoices && mayVisit(signedIn, "/account/invoice", "POST") && (
        <InvoiceDetailsCard
          visitor={visitor}
          form={state.invoice?.form ?? buyerFormOf(invoiceSettings, undefined)}
          problems={state.invoice?.problems ?? []}
        />
      )}
      <MailSwitches visitor={visitor} signedIn={signedIn} />
      {mayVisit(signedIn, "/account/data.ndjson") && (
        <Card title={t.data} id="data">
          <p class="muted">{t.dataText}</p>
          <a href="/account/data.ndjson" class="button outline secondary small" download>
            <Icon name="download" /> {t.dataButton}
          </a>
        </Card>
      )}
      {account.id === person.id && (
        <DeletionCard
          {...part}
          balanceMicroVnd={signedIn.role === "owner" ? balance.totalMicroVnd : 0n}
          hasPassword={hash !== undefined}
        />
      )}
    </>,
  );
}

/** Says what a session has shown: one thing, or two. */
function methodText(
  { method, secondFactor }: Session,
  t: typeof accountTexts["en"],
): string {
  const first = t.methods[method];
  return secondFactor === undefined ? first : `${first} + ${t.secondFactors[secondFactor]}`;
}

function Sessions({ visitor, signedIn, sessions }: PartProps & { sessions: readonly Session[] }) {
  const { locale } = visitor;
  const t = accountTexts[locale];
  return (
    <Card
      title={t.sessions}
      actions={sessions.length > 1 && (
        <PostForm
          visitor={visitor}
          action="/account/sessions/sign-out-others"
          confirm={t.signOutOthersConfirm}
        >
          <SubmitButton tone="plain" small>{t.signOutOthers}</SubmitButton>
        </PostForm>
      )}
    >
      <p class="muted">{t.sessionsText}</p>
      <DataTable
        label={t.sessions}
        rows={sessions}
        columns={[
          { head: t.device, cell: (session) => session.device || t.unknownDevice },
          { head: t.address, cell: (session) => session.address },
          { head: t.method, wideOnly: true, cell: (session) => methodText(session, t) },
          {
            head: t.signedInAt,
            kind: "one-line",
            wideOnly: true,
            cell: (session) => <Time atMs={session.createdAtMs} locale={locale} relative />,
          },
          {
            head: t.lastSeen,
            kind: "one-line",
            cell: (session) => <Time atMs={session.lastSeenAtMs} locale={locale} relative />,
          },
          {
            head: t.signOutOne,
            hiddenHead: true,
            kind: "buttons",
            cell: (session) =>
              session.id === signedIn.session.id
                ? <Badge tone="good">{t.here}</Badge>
                : <SignOutForm session={session} visitor={visitor} />,
          },
        ]}
      />
    </Card>
  );
}

function SignOutForm({ session, visitor }: { session: Session; visitor: Visitor }) {
  const t = accountTexts[visitor.locale];
  return (
    <RowForm
      visitor={visitor}
      action="/account/sessions/sign-out"
      field={["session", session.id]}
      label={t.signOutLabel(session.device || t.unknownDevice)}
    >
      {t.signOutOne}
    </RowForm>
  );
}

function PasswordCard({ visitor, errors, hasPassword }: PartProps & { hasPassword: boolean }) {
  const t = accountTexts[visitor.locale];
  if (!hasPassword) {
    return (
      <Card title={t.password}>
        <p class="muted">{t.noPassword}</p>
        <PostForm visitor={visitor} action="/account/password/link">
          <SubmitButton tone="plain">{t.setPassword}</SubmitButton>
        </PostForm>
      </Card>
    );
  }
  return (
    <Card title={t.password}>
      <p class="muted">{t.passwordText}</p>
      <PostForm visitor={visitor} action="/account/password">
        <PasswordField
          name="currentPassword"
          of="now"
          label={t.currentPassword}
          error={errors.currentPassword}
        />
        <PasswordField
          name="newPassword"
          of="future"
          label={t.newPassword}
          hint={signInTexts[visitor.locale].passwordHint}
          error={errors.newPassword}
        />
        <SubmitButton tone="plain">{t.passwordButton}</SubmitButton>
      </PostForm>
    </Card>
  );
}

function EmailCard({ visitor, errors }: PartProps) {
  const t = accountTexts[visitor.locale];
  return (
    <Card title={t.email}>
      <p class="muted">{t.emailText}</p>
      <PostForm visitor={visitor} action="/account/email">
        <TextField
          name="newEmail"
          type="email"
          label={t.newEmail}
          autocomplete="email"
          required
          error={errors.newEmail}
        />
        <PasswordField
          name="emailPassword"
          of="now"
          label={t.currentPassword}
          error={errors.emailPassword}
        />
        <SubmitButton tone="plain">{t.emailButton}</SubmitButton>
      </PostForm>
    </Card>
  );
}

function DeletionCard({ visitor, errors, balanceMicroVnd, hasPassword }: PartProps & {
  balanceMicroVnd: bigint;
  hasPassword: boolean;
}) {
  const t = accountTexts[visitor.locale];
  return (
    <details
      class="card"
      open={[errors.confirmation, errors.deletionPassword, errors.giveUp, errors.obstacles]
        .some((error) => error !== undefined)}
    >
      <summary>{t.deletion}</summary>
      <p>{t.deletionText}</p>
      <p>{t.deletionKeeps}</p>
      <ul>
        {t.deletionKept.map((line) => <li key={line}>{line}</li>)}
      </ul>
      {errors.obstacles !== undefined && (
        <Notice tone="danger" title={t.obstaclesTitle}>
          <ul>
            {errors.obstacles.map((obstacle) => <li key={obstacle}>{t.obstacles[obstacle]}</li>)}
          </ul>
        </Notice>
      )}
      {balanceMicroVnd > 0n && (
        <Notice tone="warning">
          {t.deletionBalance(formatMoneyShort(balanceMicroVnd, visitor.locale))}{" "}
          <AskSupport visitor={visitor}>{t.askForRefund}</AskSupport>
        </Notice>
      )}
      <PostForm visitor={visitor} action="/account/delete" confirm={t.deletionConfirm}>
        <TextField
          name="confirmation"
          label={t.deletionLabel}
          autocomplete="off"
          required
          error={errors.confirmation}
        />
        {hasPassword && (
          <PasswordField
            name="deletionPassword"
            of="now"
            label={t.currentPassword}
            error={errors.deletionPassword}
          />
        )}
        {balanceMicroVnd > 0n && (
          <CheckboxField
            name="giveUp"
            value={formatVnd(balanceMicroVnd)}
            label={t.giveUp(formatMoney(balanceMicroVnd, visitor.locale))}
            error={errors.giveUp}
          />
        )}
        <SubmitButton tone="danger">{t.deletionButton}</SubmitButton>
      </PostForm>
    </details>
  );
}
