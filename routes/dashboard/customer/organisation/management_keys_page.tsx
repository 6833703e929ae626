/** `/organisation/management-keys`: keys of the management API, made, listed and revoked. */
import { type Context, Hono } from "hono";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { maxNameChars, parseName } from "../../../../core/lib/base/names.ts";
import { countTry } from "../../../../kv/people/accounts/rate_limits.ts";
import {
  createManagementKey,
  listManagementKeys,
  type ManagementKey,
  managementRoles,
  revokeManagementKey,
} from "../../../../kv/people/management_keys/management_keys.ts";
import { rateRules } from "../../../auth/sign_in_budgets.ts";
import {
  Badge,
  Card,
  CopyButton,
  DataTable,
  Notice,
  PostForm,
  RowForm,
  SelectField,
  SubmitButton,
  TextField,
  Time,
} from "../../components/mod.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardDeps } from "../../page/deps.ts";
import { readForm } from "../../page/form_data.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import { doneBy } from "../../visitor/doer.ts";
import { roleNames } from "../../text/role_names.ts";
import { organisationTexts } from "./texts.ts";

interface KeysState {
  readonly notice?: string;
  readonly problem?: string;
  readonly nameError?: string;
  /** The secret that was just made. */
  readonly secret?: string;
}

async function keysPage(
  c: Context<DashboardEnv>,
  { kv }: DashboardDeps,
  state: KeysState = {},
): Promise<Response> {
  const visitor = c.get("visitor");
  const { locale } = visitor;
  const t = organisationTexts[locale];
  const keys = await listManagementKeys(kv, c.get("signedIn").account.id);
  const failed = state.problem !== undefined || state.nameError !== undefined;
  return await renderPage(
    c,
    {
      title: t.managementKeys,
      lead: t.managementLead,
      status: failed ? 422 : 200,
      actions: <a href="/docs/api/organisation">{t.managementDocs}</a>,
    },
    <>
      {state.notice !== undefined && <Notice tone="success">{state.notice}</Notice>}
      {state.problem !== undefined && <Notice tone="danger">{state.problem}</Notice>}
      {state.secret !== undefined && (
        <Card>
          <Notice tone="success">{t.madeText}</Notice>
          <code class="secret" id="secret">{state.secret}</code>
          <div class="actions">
            <CopyButton text={state.secret} what={t.key} locale={locale} />
          </div>
        </Card>
      )}
      <Card title={t.newManagementKey}>
        <PostForm
          visitor={visitor}
          action="/organisation/management-keys"
          class="inline-form"
        >
          <TextField
            name="name"
            label={t.managementName}
            maxlength={maxNameChars}
            required
            error={state.nameError}
          />
          <SelectField
            name="role"
            label={t.managementRole}
            value="admin"
            options={managementRoles.map((role) => ({
              value: role,
              label: roleNames[locale][role],
            }))}
          />
          <SubmitButton>{t.make}</SubmitButton>
        </PostForm>
      </Card>
      <Card title={t.managementKeys}>
        <KeyTable visitor={visitor} keys={keys} />
      </Card>
      <p>
        <a href="/organisation">← {t.backToOrganisation}</a>
      </p>
    </>,
  );
}

function KeyTable({ visitor, keys }: {
  readonly visitor: Visitor;
  readonly keys: readonly ManagementKey[];
}) {
  const { locale } = visitor;
  const t = organisationTexts[locale];
  return (
    <DataTable
      label={t.managementKeys}
      rows={keys}
      empty={<p>{t.noManagementKeys}</p>}
      columns={[
        { head: t.managementName, kind: "long", cell: ({ name }) => name },
        { head: t.key, kind: "one-line", cell: ({ masked }) => <code>{masked}</code> },
        { head: t.managementRole, cell: ({ role }) => roleNames[locale][role] },
        {
          head: t.madeAt,
          kind: "one-line",
          wideOnly: true,
          cell: ({ createdAtMs }) => <Time atMs={createdAtMs} locale={locale} dateOnly />,
        },
        {
          head: t.acts,
          hiddenHead: true,
          kind: "buttons",
          cell: ({ id, name, revokedAtMs }) =>
            revokedAtMs !== undefined ? <Badge tone="neutral">{t.revoked}</Badge> : (
              <RowForm
                visitor={visitor}
                action="/organisation/management-keys/revoke"
                confirm={t.revokeSure(name)}
                field={["key", id]}
                label={t.revokeOne(name)}
              >
                {t.revoke}
              </RowForm>
            ),
        },
      ]}
    />
  );
}

async function makeKey(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<Response> {
  const t = organisationTexts[c.get("visitor").locale];
  const { account, person } = c.get("signedIn");
  const nowMs = deps.clock.nowMs();
  const tries = await countTry(deps.kv, rateRules.changesByAccount, person.id, nowMs);
  if (!tries.allowed) {
    return await keysPage(c, deps, { problem: t.tooMany(tries.retryAfterSeconds) });
  }
  const form = await readForm(c);
  const name = parseName(form.text("name"));
  const role = managementRoles.find((one) => one === form.text("role"));
  if (name === undefined) return await keysPage(c, deps, { nameError: t.nameInvalid });
  if (role === undefined) return await keysPage(c, deps, { problem: t.roleInvalid });
  const made = await createManagementKey(deps.kv, account.id, {
    name,
    role,
    memberId: person.id,
    ...doneBy(c, nowMs),
  });
  return made === "too_many"
    ? await keysPage(c, deps, { problem: t.tooManyManagementKeys })
    : await keysPage(c, deps, { secret: made.secret });
}

async function revokeKey(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<Response> {
  const t = organisationTexts[c.get("visitor").locale];
  const id = parseId("managementKey", (await readForm(c)).text("key"));
  const { account } = c.get("signedIn");
  const done = doneBy(c, deps.clock.nowMs());
  if (id !== undefined) await revokeManagementKey(deps.kv, account.id, id, done);
  return await keysPage(c, deps, { notice: t.managementRevoked });
}

/** Registers the pages of management keys. */
export function createManagementKeyPages(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .get("/organisation/management-keys", (c) => keysPage(c, deps))
    .post("/organisation/management-keys", (c) => makeKey(c, deps))
    .post("/organisation/management-keys/revoke", (c) => revokeKey(c, deps));
}
