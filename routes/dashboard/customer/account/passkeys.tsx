/** The passkeys of a person: a card of `/account/security`, and its forms. */
import { type Context, Hono } from "hono";
import { requiresSecondFactor } from "../../../../kv/people/accounts/accounts.ts";
import { deviceName } from "../../../../core/people/accounts/session_rules.ts";
import {
  addPasskey,
  listPasskeys,
  maxPasskeyNameChars,
  type Passkey,
  passkeysPerAccount,
  removePasskey,
} from "../../../../kv/people/accounts/passkeys.ts";
import {
  getRecoveryCodes,
  makeRecoveryCodes,
} from "../../../../kv/people/accounts/recovery_codes.ts";
import {
  endIdleRecoveryCodes,
  hasApp,
  hasSecondFactor,
} from "../../../../kv/people/accounts/second_factor.ts";
import { personLines } from "../../../../kv/people/accounts/person_activity.ts";
import { closeSessionsOf } from "../../../../kv/people/accounts/sessions.ts";
import {
  passkeyObstacle,
  registrationOptions,
  verifyRegistration,
} from "../../../auth/passkeys.ts";
import { Card, DataTable, RowForm, TextField, Time } from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { doneBy } from "../../visitor/doer.ts";
import { securityPath } from "../../visitor/second_factor_gate.ts";
import { readForm } from "../../page/form_data.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import { answerOptions, holderOf, PasskeyForm } from "../sign_in/passkey.tsx";
import { mailFactorChange } from "../sign_in/second_factor.tsx";
import { requireFresh } from "./confirm.tsx";
import { securityTexts } from "./security_texts.ts";

const passkeysPath = `${securityPath}/passkeys`;

/** Content of the card. */
export interface PasskeysView {
  readonly visitor: Visitor;
  readonly baseUrl: string;
  readonly passkeys: readonly Passkey[];
  /** Changes need no further confirmation. */
  readonly fresh: boolean;
  /** The browser, which names a new passkey unless its owner does. */
  readonly device: string;
}

/** The card of the passkeys. */
export function PasskeysCard(view: PasskeysView) {
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
export function browserName(c: Context<DashboardEnv>): string {
  return deviceName(c.req.header("user-agent"));
}

/** The pages that a change of passkeys leads to. */
export interface AfterPasskeys {
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
export function createPasskeyForms(
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
