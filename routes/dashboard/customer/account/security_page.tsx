/** `/account/security`: the second factors of a person, their recovery codes and passkeys. */
import { type Context, Hono } from "hono";
import { raw } from "hono/html";
import { deviceName, isFresh } from "../../../../core/people/accounts/session_rules.ts";
import { requiresSecondFactor } from "../../../../kv/people/accounts/accounts.ts";
import {
  getRecoveryCodes,
  makeRecoveryCodes,
  type RecoveryCodes,
} from "../../../../kv/people/accounts/recovery_codes.ts";
import {
  endApp,
  endIdleRecoveryCodes,
  getSecondFactor,
  hasApp,
  hasSecondFactor,
  type SecondFactor,
  useCode,
} from "../../../../kv/people/accounts/second_factor.ts";
import { personLines } from "../../../../kv/people/accounts/person_activity.ts";
import {
  addPasskey,
  hasPasskey,
  listPasskeys,
  maxPasskeyNameChars,
  type Passkey,
  passkeysPerAccount,
  removePasskey,
} from "../../../../kv/people/accounts/passkeys.ts";
import { closeSessionsOf } from "../../../../kv/people/accounts/sessions.ts";
import { checkCode, countCodeTry, factorOf, totpUri } from "../../../auth/one_time_codes.ts";
import {
  Badge,
  Card,
  CopyButton,
  CopyRow,
  DataTable,
  Fact,
  Notice,
  PostForm,
  RowForm,
  SubmitButton,
  TextField,
  Time,
} from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { readForm } from "../../page/form_data.ts";
import { securityPath } from "../../visitor/second_factor_gate.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import {
  CodeField,
  mailFactorChange,
  RecoveryCodeField,
  useShownCode,
} from "../sign_in/second_factor.tsx";
import { clientAddress, doneBy } from "../../visitor/doer.ts";
import { signInTexts } from "../sign_in/texts.ts";
import { renderQr } from "../../../http/qr_code.ts";
import { confirmAddress, requireFresh } from "./confirm.tsx";
import { securityTexts } from "./security_texts.ts";
import {
  passkeyObstacle,
  registrationOptions,
  verifyRegistration,
} from "../../../auth/passkeys.ts";
import { answerOptions, holderOf, PasskeyForm } from "../sign_in/passkey.tsx";

const appPath = `${securityPath}/app`;

/** The messages that a redirect back to the page can show. */
const announcements = {
  app: "appOn",
  "app-off": "appWasOff",
  passkey: "passkeyWasAdded",
  "passkey-removed": "passkeyWasRemoved",
} as const;

/** Content of the cards. */
interface SecurityView {
  readonly visitor: Visitor;
  readonly app: SecondFactor | undefined;
  readonly codes: RecoveryCodes | undefined;
  /** Changes need no further confirmation. */
  readonly fresh: boolean;
  readonly isOperator: boolean;
  /** The address, as commands of the server name the account. */
  readonly name: string;
}

async function securityPage(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  problem?: string,
) {
  const visitor = c.get("visitor");
  const t = securityTexts[visitor.locale];
  const { person: account, session, isOperator } = c.get("signedIn");
  const [app, codes, passkeys] = await Promise.all([
    getSecondFactor(deps.kv, account.id),
    getRecoveryCodes(deps.kv, account.id),
    listPasskeys(deps.kv, account.id),
  ]);
  const done = Object.entries(announcements).find(([name]) => name === c.req.query("done"));
  const view: SecurityView = {
    visitor,
    app: app.value?.confirmedAtMs === undefined ? undefined : app.value,
    codes,
    fresh: isFresh(session, deps.clock.nowMs()),
    isOperator,
    name: account.email ?? account.id,
  };
  return await renderPage(
    c,
    {
      title: t.title,
      lead: t.lead,
      scripts: ["passkey.js"],
      status: problem === undefined ? 200 : 422,
    },
    <>
      {problem !== undefined && <Notice tone="danger">{problem}</Notice>}
      {done !== undefined && <Notice tone="success">{t[done[1]]}</Notice>}
      {requiresSecondFactor(c.get("signedIn").account) && view.app === undefined &&
        passkeys.length === 0 && <Notice tone="warning">{t.required}</Notice>}
      {!view.fresh && (
        <Notice tone="info">
          {t.confirmFirst} <a href={confirmAddress(securityPath)}>{t.confirmTitle}</a>
        </Notice>
      )}
      <AppCard {...view} />
      <PasskeysCard
        visitor={visitor}
        baseUrl={deps.baseUrl}
        passkeys={passkeys}
        fresh={view.fresh}
        device={browserName(c)}
      />
      {(view.app !== undefined || passkeys.length > 0) && <CodesCard {...view} />}
      <p class="below-card">
        <a href="/account">{t.back}</a>
      </p>
    </>,
  );
}

function AppCard(view: SecurityView) {
  const { visitor, app, fresh } = view;
  const { locale } = visitor;
  const t = securityTexts[locale];
  return (
    <Card
      title={t.app}
      actions={app === undefined
        ? <Badge tone="neutral">{t.off}</Badge>
        : <Badge tone="good">{t.on}</Badge>}
    >
      <p class="muted">{t.appText}</p>
      {app === undefined ? fresh && <a class="button" href={appPath}>{t.appSetUp}</a> : (
        <>
          <dl class="facts">
            <Fact name={t.appSince}>
              <Time atMs={app.confirmedAtMs ?? app.createdAtMs} locale={locale} />
            </Fact>
          </dl>
          <AppOff {...view} />
        </>
      )}
    </Card>
  );
}

/** The form that switches the app off; operators are told the command of the server. */
function AppOff({ visitor, isOperator, name }: SecurityView) {
  const t = securityTexts[visitor.locale];
  const action = `${appPath}/off`;
  if (isOperator) {
    return (
      <p>
        {t.appOffOperator} <code>deno task admin second-factor forget {name}</code>
      </p>
    );
  }
  return (
    <details>
      <summary>{t.appOff}</summary>
      <p class="muted">{t.appOffText}</p>
      <PostForm visitor={visitor} action={action}>
        <CodeField visitor={visitor} />
        <SubmitButton tone="danger">{t.appOffButton}</SubmitButton>
      </PostForm>
      <details>
        <summary>{t.appOffByRecovery}</summary>
        <PostForm visitor={visitor} action={action}>
          <RecoveryCodeField visitor={visitor} />
          <SubmitButton tone="danger">{t.appOffButton}</SubmitButton>
        </PostForm>
      </details>
    </details>
  );
}

function CodesCard({ visitor, codes, fresh }: SecurityView) {
  const t = securityTexts[visitor.locale];
  const left = codes?.hashes.length ?? 0;
  return (
    <Card
      title={t.codes}
      actions={
        <Badge tone={left > 2 ? "neutral" : "busy"}>
          {codes === undefined ? t.codesNone : t.codesLeft(left)}
        </Badge>
      }
    >
      <p class="muted">{t.codesText}</p>
      {fresh && (
        <PostForm
          visitor={visitor}
          action={`${securityPath}/recovery-codes`}
          confirm={codes === undefined ? undefined : t.codesNewConfirm}
        >
          <SubmitButton tone="plain">{t.codesNew}</SubmitButton>
        </PostForm>
      )}
    </Card>
  );
}

/** Shows new codes, once: the answer to the form that made them. */
function codesPage(c: Context<DashboardEnv>, codes: readonly string[], notice?: string) {
  const { locale } = c.get("visitor");
  const t = securityTexts[locale];
  return renderPage(
    c,
    { title: t.codesTitle, narrow: true },
    <Card>
      {notice !== undefined && <Notice tone="success">{notice}</Notice>}
      <p>{t.codesOnce}</p>
      <ol class="recovery-codes">
        {codes.map((code) => (
          <li>
            <code>{code}</code>
          </li>
        ))}
      </ol>
      <p>
        <CopyButton text={codes.join("\n")} what={t.codesWhat} locale={locale} />
      </p>
      <a class="button wide-button" href={securityPath}>{t.codesSaved}</a>
    </Card>,
  );
}

async function setUpPage(c: Context<DashboardEnv>, deps: DashboardDeps, problem?: string) {
  const visitor = c.get("visitor");
  const t = securityTexts[visitor.locale];
  const { person: account } = c.get("signedIn");
  const factor = await factorOf(deps, account.id);
  if (factor.kind === "unreadable") return await securityPage(c, deps, t.unreadable);
  if (factor.kind === "busy") return await securityPage(c, deps, t.busy);
  if (factor.confirmed) return c.redirect(securityPath, 303);
  const uri = totpUri(factor.secret, account.email ?? account.id, new URL(deps.baseUrl).host);
  return await renderPage(
    c,
    { title: t.setUpTitle, narrow: true, status: problem === undefined ? 200 : 422 },
    <Card>
      {problem !== undefined && <Notice tone="danger">{problem}</Notice>}
      <p>{t.scan}</p>
      <div class="qr" role="img" aria-label={t.qrLabel}>{raw(renderQr(uri))}</div>
      <CopyRow label={t.secret} value={factor.secret} locale={visitor.locale} />
      <PostForm visitor={visitor} action={appPath}>
        <CodeField visitor={visitor} autofocus />
        <SubmitButton>{t.confirmApp}</SubmitButton>
      </PostForm>
    </Card>,
  );
}

/** Takes the first code of a new app. Sessions that were opened without a second factor end, but for this one. */
async function confirmApp(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const { locale } = c.get("visitor");
  const t = signInTexts[locale];
  const { person: account, session } = c.get("signedIn");
  const nowMs = deps.clock.nowMs();
  const tries = await countCodeTry(deps.kv, account.id, clientAddress(c), nowMs);
  if (!tries.allowed) return await setUpPage(c, deps, t.tooMany(tries.retryAfterSeconds));
  const checked = await checkCode(deps, account.id, (await readForm(c)).text("code"));
  if (checked.kind !== "right") return await setUpPage(c, deps, t.codeWrong);
  if (checked.entry.value.confirmedAtMs !== undefined) return c.redirect(securityPath, 303);
  const isFirst = !await hasPasskey(deps.kv, account.id);
  const made = await getRecoveryCodes(deps.kv, account.id) === undefined
    ? await makeRecoveryCodes(account.id, nowMs)
    : undefined;
  const done = doneBy(c, nowMs);
  const addLines = await personLines(deps.kv, account.id, "app_added", done);
  const isUsed = await useCode(
    deps.kv,
    checked.entry,
    { step: checked.step, nowMs },
    (operation) => {
      made?.addTo(operation);
      addLines(operation);
    },
  );
  if (!isUsed) {
    return await setUpPage(c, deps, t.codeWrong);
  }
  if (isFirst) await closeSessionsOf(deps.kv, account.id, session.id);
  await mailFactorChange(deps, account, "app_added");
  const notice = securityTexts[locale][isFirst ? "firstAppOn" : "appOn"];
  return made === undefined
    ? c.redirect(`${securityPath}?done=app`, 303)
    : await codesPage(c, made.codes, notice);
}

async function switchAppOff(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const { person: account, account: organisation, isOperator } = c.get("signedIn");
  // What opens the operator's pages is not undone by a session of the customer's.
  if (isOperator) return c.redirect(securityPath, 303);
  if (requiresSecondFactor(organisation) && !await hasPasskey(deps.kv, account.id)) {
    return await securityPage(c, deps, securityTexts[c.get("visitor").locale].lastOne);
  }
  const shown = await useShownCode(c, deps, account);
  if (!shown.ok) return await securityPage(c, deps, shown.why);
  await endApp(deps.kv, account.id, doneBy(c, deps.clock.nowMs()));
  await mailFactorChange(deps, account, "app_removed");
  return c.redirect(`${securityPath}?done=app-off`, 303);
}

async function renewCodes(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const { person: account } = c.get("signedIn");
  if (!await hasSecondFactor(deps.kv, account.id)) return c.redirect(securityPath, 303);
  const nowMs = deps.clock.nowMs();
  const { codes, addTo } = await makeRecoveryCodes(account.id, nowMs);
  const atomic = deps.kv.atomic();
  addTo(atomic);
  (await personLines(deps.kv, account.id, "recovery_codes_made", doneBy(c, nowMs)))(atomic);
  await atomic.commit();
  await mailFactorChange(deps, account, "codes_made");
  return await codesPage(c, codes);
}

/** The card of the account page that leads here. */
export function SecurityCard({ visitor, isOn }: { visitor: Visitor; isOn: boolean }) {
  const t = securityTexts[visitor.locale];
  return (
    <Card
      title={t.card}
      actions={<Badge tone={isOn ? "good" : "neutral"}>{isOn ? t.on : t.off}</Badge>}
    >
      <p class="muted">{isOn ? t.cardOn : t.cardOff}</p>
      <a class="button outline secondary" href={securityPath}>{t.manage}</a>
    </Card>
  );
}

// The passkeys of a person: a card of `/account/security`, and its forms.

const passkeysPath = `${securityPath}/passkeys`;

/** Content of the card. */
interface PasskeysView {
  readonly visitor: Visitor;
  readonly baseUrl: string;
  readonly passkeys: readonly Passkey[];
  /** Changes need no further confirmation. */
  readonly fresh: boolean;
  /** The browser, which names a new passkey unless its owner does. */
  readonly device: string;
}

/** The card of the passkeys. */
function PasskeysCard(view: PasskeysView) {
  const { visitor, passkeys, fresh, baseUrl } = view;
  const { locale } = visitor;
  const t = securityTexts[locale];
  const obstacle = passkeyObstacle(baseUrl);
  return (
    <Card title={t.passkeys} id="passkeys">
      <p class="muted">{t.passkeysText}</p>
      {passkeys.length > 0 && (
        <DataTable
          label={t.passkeys}
          rows={passkeys}
          columns={[
            { head: t.passkeyName, cell: ({ name }) => name },
            {
              head: t.passkeyAdded,
              kind: "one-line",
              cell: ({ createdAtMs }) => <Time atMs={createdAtMs} locale={locale} relative />,
            },
            {
              head: t.passkeyUsed,
              kind: "one-line",
              cell: ({ lastUsedAtMs }) =>
                lastUsedAtMs === undefined
                  ? t.passkeyNeverUsed
                  : <Time atMs={lastUsedAtMs} locale={locale} relative />,
            },
            {
              head: t.passkeyRemove,
              hiddenHead: true,
              kind: "buttons",
              cell: (passkey) => fresh && <RemoveForm passkey={passkey} visitor={visitor} />,
            },
          ]}
        />
      )}
      {obstacle !== undefined && <p>{t.passkeyObstacles[obstacle](baseUrl)}</p>}
      {obstacle === undefined && fresh && passkeys.length < passkeysPerAccount && (
        <AddForm {...view} />
      )}
    </Card>
  );
}

function AddForm({ visitor, baseUrl, device }: PasskeysView) {
  const t = securityTexts[visitor.locale];
  return (
    <>
      <p data-passkey-missing>{t.passkeyMissing(baseUrl)}</p>
      <PasskeyForm
        visitor={visitor}
        baseUrl={baseUrl}
        action={passkeysPath}
        act="create"
        tone="plain"
        button={t.passkeyAdd}
      >
        <TextField
          name="name"
          label={t.passkeyName}
          hint={t.passkeyNameHint}
          value={device}
          maxlength={maxPasskeyNameChars}
          autocomplete="off"
        />
      </PasskeyForm>
    </>
  );
}

function RemoveForm({ passkey, visitor }: { passkey: Passkey; visitor: Visitor }) {
  const t = securityTexts[visitor.locale];
  return (
    <RowForm
      visitor={visitor}
      action={`${passkeysPath}/remove`}
      confirm={t.passkeyRemoveConfirm(passkey.name)}
      field={["passkey", passkey.id]}
      label={t.passkeyRemoveLabel(passkey.name)}
    >
      {t.passkeyRemove}
    </RowForm>
  );
}

/** Names the browser of a request, for the field of the name. */
function browserName(c: Context<DashboardEnv>): string {
  return deviceName(c.req.header("user-agent"));
}

/** The pages that a change of passkeys leads to. */
interface AfterPasskeys {
  /** Shows the page with what went wrong. */
  readonly refused: (c: Context<DashboardEnv>, problem: string) => Promise<Response>;
  /** Shows new recovery codes. */
  readonly codes: (
    c: Context<DashboardEnv>,
    codes: readonly string[],
    notice: string,
  ) => Promise<Response>;
}

/**
 * Adds a passkey. The first second factor of an account comes with recovery codes, and signs out the sessions that
 * were opened without one.
 */
async function add(c: Context<DashboardEnv>, deps: DashboardDeps, after: AfterPasskeys) {
  const t = securityTexts[c.get("visitor").locale];
  const { person: account, session } = c.get("signedIn");
  const form = await readForm(c);
  const typed = form.text("name").slice(0, maxPasskeyNameChars);
  const name = typed === "" ? browserName(c) || t.passkey : typed;
  const holder = await holderOf(c, deps, "session");
  const passkey = await verifyRegistration(deps, form.exact("credential"), { name, holder });
  if (passkey === undefined) return await after.refused(c, t.passkeyRefused);
  const isFirst = !await hasSecondFactor(deps.kv, account.id);
  const made = await getRecoveryCodes(deps.kv, account.id) === undefined
    ? await makeRecoveryCodes(account.id, deps.clock.nowMs())
    : undefined;
  const done = doneBy(c, deps.clock.nowMs());
  const what = { after: { name } };
  const addLines = await personLines(deps.kv, account.id, "passkey_added", done, what);
  const isAdded = await addPasskey(deps.kv, account.id, passkey, (operation) => {
    made?.addTo(operation);
    addLines(operation);
  });
  if (!isAdded) {
    return await after.refused(c, t.passkeyRefused);
  }
  if (isFirst) await closeSessionsOf(deps.kv, account.id, session.id);
  await mailFactorChange(deps, account, "passkey_added");
  return made === undefined
    ? c.redirect(`${securityPath}?done=passkey`, 303)
    : await after.codes(c, made.codes, isFirst ? t.firstPasskeyAdded : t.passkeyWasAdded);
}

async function remove(c: Context<DashboardEnv>, deps: DashboardDeps, after: AfterPasskeys) {
  const t = securityTexts[c.get("visitor").locale];
  const { person, account } = c.get("signedIn");
  const id = (await readForm(c)).text("passkey");
  const passkeys = await listPasskeys(deps.kv, person.id);
  const passkey = passkeys.find((one) => one.id === id);
  if (passkey === undefined) return c.redirect(securityPath, 303);
  const isLast = passkeys.length === 1 && !await hasApp(deps.kv, person.id);
  if (isLast && requiresSecondFactor(account)) return await after.refused(c, t.lastOne);
  const done = doneBy(c, deps.clock.nowMs());
  const what = { before: { name: passkey.name } };
  const addLines = await personLines(deps.kv, person.id, "passkey_removed", done, what);
  await removePasskey(deps.kv, person.id, id, addLines);
  await endIdleRecoveryCodes(deps.kv, person.id);
  await mailFactorChange(deps, person, "passkey_removed");
  return c.redirect(`${securityPath}?done=passkey-removed`, 303);
}

/** Registers the forms of the card. */
function createPasskeyForms(
  deps: DashboardDeps,
  after: AfterPasskeys,
): Hono<DashboardEnv> {
  const fresh = requireFresh(deps);
  return new Hono<DashboardEnv>()
    .post(`${passkeysPath}/options`, fresh, (c) =>
      answerOptions(c, deps, async () => {
        const { id: accountId, email } = c.get("signedIn").person;
        const owner = { accountId, label: email ?? accountId };
        return await registrationOptions(deps, owner, await holderOf(c, deps, "session"));
      }))
    .post(passkeysPath, fresh, (c) => add(c, deps, after))
    .post(`${passkeysPath}/remove`, fresh, (c) => remove(c, deps, after));
}

/** Registers the page and its forms. */
export function createSecurityPages(deps: DashboardDeps): Hono<DashboardEnv> {
  const fresh = requireFresh(deps);
  const passkeyForms = createPasskeyForms(deps, {
    refused: (c, problem) => securityPage(c, deps, problem),
    codes: codesPage,
  });
  return new Hono<DashboardEnv>()
    .route("/", passkeyForms)
    .get(securityPath, (c) => securityPage(c, deps))
    .get(appPath, fresh, (c) => setUpPage(c, deps))
    .post(appPath, fresh, (c) => confirmApp(c, deps))
    .post(`${appPath}/off`, (c) => switchAppOff(c, deps))
    .post(`${securityPath}/recovery-codes`, fresh, (c) => renewCodes(c, deps));
}
