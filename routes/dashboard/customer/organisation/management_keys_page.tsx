/** `/organisation/management-keys`: keys of the management API, made, listed and revoked. */
import { type Context, Hono } from "hono";
import { maxNameChars } from "../../../../core/lib/base/names.ts";
import {
  listManagementKeys,
  type ManagementKey,
  managementRoles,
} from "../../../../kv/people/management_keys/management_keys.ts";
import { managementKeyCreation, managementKeyRevocation } from "../../../acts/management_keys.ts";
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
import { notAllowedPage } from "../../frame/error_pages.tsx";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardDeps } from "../../page/deps.ts";
import { readForm } from "../../page/form_data.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import { performForm, refusalView, spentProblem } from "../../visitor/acting.ts";
import { roleNames } from "../../text/role_names.ts";
import { RoleTable } from "./role_table.tsx";
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
        <RoleTable locale={locale} roles={managementRoles} />
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
  const { locale } = c.get("visitor");
  const t = organisationTexts[locale];
  const form = await readForm(c);
  const sent = { name: form.text("name"), role: form.text("role") };
  const outcome = await performForm(c, deps, managementKeyCreation, sent);
  if (outcome.ok) return await keysPage(c, deps, { secret: outcome.body.secret });
  const view = refusalView<"too_many", KeysState | undefined>(outcome, locale, {
    refusals: { too_many: { problem: t.tooManyManagementKeys } },
    fields: { name: { nameError: t.nameInvalid }, role: { problem: t.roleInvalid } },
    spent: (problem) => ({ problem }),
    otherwise: undefined,
  });
  return view === undefined ? await notAllowedPage(c) : await keysPage(c, deps, view);
}

async function revokeKey(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<Response> {
  const { locale } = c.get("visitor");
  const t = organisationTexts[locale];
  const sent = { id: (await readForm(c)).text("key") };
  const outcome = await performForm(c, deps, managementKeyRevocation, sent);
  if (outcome.ok) return await keysPage(c, deps, { notice: t.managementRevoked });
  return await keysPage(c, deps, {
    problem: spentProblem(outcome, locale) ?? t.managementKeyGone,
  });
}

/** Registers the pages of management keys. */
export function createManagementKeyPages(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .get("/organisation/management-keys", (c) => keysPage(c, deps))
    .post("/organisation/management-keys", (c) => makeKey(c, deps))
    .post("/organisation/management-keys/revoke", (c) => revokeKey(c, deps));
}
