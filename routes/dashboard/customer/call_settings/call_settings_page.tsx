/** `/organisation/calls`: the settings of calls of an organisation, and with `?team=` those of a team. */
import { type Context, Hono } from "hono";
import { listTeams } from "../../../../kv/people/organisations/teams.ts";
import { callSettingsChange } from "../../../acts/call_settings.ts";
import { Card, Notice, PostForm, SaveBar } from "../../components/mod.ts";
import { notFoundPage } from "../../frame/error_pages.tsx";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardDeps } from "../../page/deps.ts";
import { readForm } from "../../page/form_data.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { performForm, spentProblem } from "../../visitor/acting.ts";
import {
  type CallSettingsErrors,
  callSettingsErrors,
  CallSettingsFields,
  type CallSettingsValues,
  callSettingsValues,
  readCallSettings,
  sentCallSettings,
} from "./call_settings_form.tsx";
import { callSettingsTexts } from "./texts.ts";

/** Path of the page. */
export const callSettingsPath = "/organisation/calls";

interface PageState {
  readonly form?: { readonly values: CallSettingsValues; readonly errors: CallSettingsErrors };
  readonly problem?: string;
}

async function settingsPage(
  c: Context<DashboardEnv>,
  { kv }: DashboardDeps,
  teamId: string,
  { form, problem }: PageState = {},
): Promise<Response> {
  const visitor = c.get("visitor");
  const { locale } = visitor;
  const { account } = c.get("signedIn");
  const t = callSettingsTexts[locale];
  const teams = await listTeams(kv, account.id);
  const team = teams.find(({ id }) => id === teamId);
  if (teamId !== "" && team === undefined) return await notFoundPage(c);
  const others = teams.filter(({ id }) => id !== teamId);
  return await renderPage(
    c,
    {
      title: t.title,
      lead: t.lead,
      status: form === undefined && problem === undefined ? 200 : 422,
    },
    <>
      {c.req.query("done") === "saved" && <Notice tone="success">{t.saved}</Notice>}
      {problem !== undefined && <Notice tone="danger">{problem}</Notice>}
      <Card title={team === undefined ? t.organisation : t.teamOf(team.name)}>
        <p class="muted">{team === undefined ? t.organisationText : t.teamText}</p>
        <PostForm visitor={visitor} action={callSettingsPath}>
          {team !== undefined && <input type="hidden" name="team" value={team.id} />}
          <CallSettingsFields
            values={form?.values ?? callSettingsValues((team ?? account).calls, locale)}
            errors={form?.errors ?? {}}
            locale={locale}
          />
          <SaveBar wrong={Object.keys(form?.errors ?? {}).length} locale={locale} />
        </PostForm>
      </Card>
      <ul>
        {team !== undefined && (
          <li>
            <a href={callSettingsPath}>{t.organisation}</a>
          </li>
        )}
        {others.map(({ id, name }) => (
          <li>
            <a href={`${callSettingsPath}?team=${id}`}>{t.teamOf(name)}</a>
          </li>
        ))}
      </ul>
      <p>
        <a href="/organisation">← {t.backToOrganisation}</a>
      </p>
    </>,
  );
}

async function changeSettings(c: Context<DashboardEnv>, deps: DashboardDeps): Promise<Response> {
  const { locale } = c.get("visitor");
  const posted = await readForm(c);
  const teamId = posted.text("team");
  const values = readCallSettings(posted);
  const outcome = await performForm(c, deps, callSettingsChange, {
    ...(teamId !== "" && { teamId }),
    calls: sentCallSettings(values),
  });
  if (outcome.ok) {
    const team = teamId === "" ? "" : `team=${teamId}&`;
    return c.redirect(`${callSettingsPath}?${team}done=saved`, 303);
  }
  const errors = callSettingsErrors(callSettingsChange, outcome, locale);
  if (errors !== undefined) {
    return await settingsPage(c, deps, teamId, { form: { values, errors } });
  }
  const problem = spentProblem(outcome, locale) ?? callSettingsTexts[locale].gone;
  return await settingsPage(c, deps, "", { problem });
}

/** Registers the page. */
export function createCallSettingsPages(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .get(callSettingsPath, (c) => settingsPage(c, deps, c.req.query("team") ?? ""))
    .post(callSettingsPath, (c) => changeSettings(c, deps));
}
