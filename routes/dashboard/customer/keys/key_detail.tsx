/** The page of one key: its usage, its secret, its settings, rotation and revocation. */
import type { Context } from "hono";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import { type ApiKeyRecord, isActive } from "../../../../kv/people/api_keys/api_keys.ts";
import { netCostMicroVnd, readUsage } from "../../../../kv/money/ledger/usage.ts";
import {
  Card,
  chartAssets,
  CopyButton,
  DayChart,
  FormIdField,
  Money,
  Notice,
  PasswordField,
  PostForm,
  SaveBar,
  SelectField,
  Stat,
  Stats,
  SubmitButton,
  Time,
} from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { formatCount } from "../../text/format.ts";
import { renderPage } from "../../frame/layout.tsx";
import { mayAct } from "../../../acts/operation.ts";
import { mayMoveKey } from "../../../acts/keys.ts";
import { actingOf } from "../../visitor/acting.ts";
import { shiftDay } from "../../../usage_api/range.ts";
import { dayBars, totalUsage, usageSince } from "../../../usage_api/summary.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import {
  type CallSettingsErrors,
  CallSettingsFields,
  type CallSettingsValues,
  callSettingsValues,
} from "../call_settings/call_settings_form.tsx";
import { callSettingsTexts } from "../call_settings/texts.ts";
import { LimitTable } from "../rate_limits/limit_table.tsx";
import { type LimitInUse, limitsInUse, periodLimitsInUse } from "../../page/rate_view.ts";
import { keyMember } from "../../../../core/limits/budgets.ts";
import { listTeams, type Team } from "../../../../kv/people/organisations/teams.ts";
import { periodLimitNames } from "../../../../core/limits/limit_table.ts";
import { KeyFields, type KeyFormErrors, keyFormOf, type KeyFormValues } from "./key_form.tsx";
import { appOfKey, KeyState } from "./key_list.tsx";
import { keyTexts } from "./texts.ts";

/** The result of the act before the page is shown. */
export interface KeyDetailState {
  /** The whole key, after the password was entered. */
  readonly secret?: string;
  readonly passwordError?: string;
  readonly noPassword?: boolean;
  /** The password was right, but the master key that sealed the API key is gone. */
  readonly unreadable?: boolean;
  readonly form?: { readonly values: KeyFormValues; readonly errors: KeyFormErrors };
  readonly calls?: { readonly values: CallSettingsValues; readonly errors: CallSettingsErrors };
  readonly saved?: boolean;
  /** Why nothing was done. */
  readonly problem?: string;
}

/** Shows one key with the result of the last act. */
export async function keyDetailPage(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  record: ApiKeyRecord,
  state: KeyDetailState = {},
): Promise<Response> {
  const visitor = c.get("visitor");
  const { locale } = visitor;
  const t = keyTexts[locale];
  const nowMs = deps.clock.nowMs();
  const active = isActive(record, nowMs);
  const refused = state.passwordError ?? state.form ?? state.calls ?? state.problem;
  const { account } = c.get("signedIn");
  const acting = actingOf(c, nowMs);
  const [usage, rates, teams] = await Promise.all([
    loadUsage(deps, record),
    limitsInUse(deps.rates, { account, key: record }),
    listTeams(deps.kv, account.id),
  ]);
  const canChange = active && mayAct(acting, "change_keys", keyMember(record));
  const canMove = mayMoveKey(acting, record);
  const limits = [...usage.limits, ...rates];
  const options = {
    title: record.name,
    lead: (
      <>
        <code>{record.masked}</code> <KeyState record={record} active={active} locale={locale} />
        {record.app !== undefined && ` ${appOfKey(record.app, t)}`}
      </>
    ),
    status: refused === undefined ? 200 : 422,
    ...chartAssets,
  } as const;
  return await renderPage(
    c,
    options,
    <>
      {state.saved === true && <Notice tone="success">{t.saved}</Notice>}
      {state.problem !== undefined && <Notice tone="danger">{state.problem}</Notice>}
      {canChange && <ShowKey visitor={visitor} record={record} state={state} />}
      <KeyUsage {...usage} locale={locale} />
      {active && (
        <KeyLimits
          limits={canChange ? limits.filter((limit) => !isSetBy(record, limit)) : limits}
          locale={locale}
        />
      )}
      {canChange && (
        <Settings
          visitor={visitor}
          deps={deps}
          record={record}
          state={state}
          limits={limits.filter((limit) => isSetBy(record, limit))}
          teams={teams}
          canMove={canMove}
        />
      )}
      {canChange && <Calls visitor={visitor} record={record} state={state} />}
      {canChange && (
        <div class="columns">
          <Rotate visitor={visitor} record={record} />
          <Revoke visitor={visitor} record={record} />
        </div>
      )}
      <p>
        <a href="/keys">← {t.backToKeys}</a>
      </p>
    </>,
  );
}

interface PartProps {
  readonly visitor: Visitor;
  readonly record: ApiKeyRecord;
}

function ShowKey({ visitor, record, state }: PartProps & { state: KeyDetailState }) {
  const t = keyTexts[visitor.locale];
  if (record.sealed === undefined) {
    return (
      <Card title={t.show}>
        <p class="muted">{t.notShowable}</p>
      </Card>
    );
  }
  if (state.noPassword === true) {
    return (
      <Card title={t.show}>
        <Notice tone="warning">{t.noPassword}</Notice>
        <a href="/account">{t.setPassword}</a>
      </Card>
    );
  }
  if (state.unreadable === true) {
    return (
      <Card title={t.show}>
        <Notice tone="danger">{t.unreadable}</Notice>
      </Card>
    );
  }
  if (state.secret !== undefined) {
    return (
      <Card title={t.shown}>
        <code class="secret">{state.secret}</code>
        <CopyButton text={state.secret} what={t.shown} locale={visitor.locale} />
      </Card>
    );
  }
  return (
    <Card title={t.show}>
      <p class="muted">{t.showText}</p>
      <PostForm visitor={visitor} action={`/keys/${record.id}/show`} class="inline-form">
        <PasswordField
          name="password"
          of="now"
          label={t.password}
          error={state.passwordError}
        />
        <SubmitButton tone="plain">{t.showButton}</SubmitButton>
      </PostForm>
    </Card>
  );
}

async function loadUsage(deps: DashboardDeps, record: ApiKeyRecord) {
  const today = vietnamDay(deps.clock.nowMs());
  const range = { fromDay: shiftDay(today, -29), toDay: today };
  // A month may have had a day more.
  const fromDay = shiftDay(today, -30);
  const all = await readUsage(deps.kv, record.accountId, { fromDay, toDay: today });
  const rows = all.filter((row) => row.keyId === record.id);
  const shown = usageSince(rows, range.fromDay);
  return {
    total: totalUsage(shown),
    bars: dayBars(shown, range),
    limits: periodLimitsInUse(record, rows, today, (id) => deps.catalog.find(id)?.kind),
  };
}

type LoadedUsage = Awaited<ReturnType<typeof loadUsage>>;

function KeyUsage({ total, bars, locale }: LoadedUsage & { locale: Visitor["locale"] }) {
  const t = keyTexts[locale];
  return (
    <Card title={t.usage}>
      <Stats>
        <Stat label={t.calls}>{formatCount(total.calls, locale)}</Stat>
        <Stat label={t.cost}>
          <Money microVnd={netCostMicroVnd(total)} locale={locale} />
        </Stat>
      </Stats>
      {total.calls > 0 && <DayChart bars={bars} label={t.usage} locale={locale} />}
    </Card>
  );
}

/** Whether a limit is one of the settings of a key, whose form shows its use: others bind it too. */
function isSetBy({ rateLimits = {} }: ApiKeyRecord, { scope, name }: LimitInUse): boolean {
  return scope === "key" &&
    (periodLimitNames.some((one) => one === name) || Object.hasOwn(rateLimits, name));
}

/** Limits that the form of the key does not have. */
function KeyLimits(
  { limits, locale }: { limits: readonly LimitInUse[]; locale: Visitor["locale"] },
) {
  const t = keyTexts[locale];
  if (limits.length === 0) return null;
  return (
    <Card title={t.limits}>
      <p class="muted">{t.limitsNow}</p>
      <LimitTable limits={limits} locale={locale} />
    </Card>
  );
}

function Settings(
  { visitor, deps, record, state, limits, teams, canMove }: PartProps & {
    deps: DashboardDeps;
    state: KeyDetailState;
    limits: readonly LimitInUse[];
    teams: readonly Team[];
    canMove: boolean;
  },
) {
  const t = keyTexts[visitor.locale];
  const team = teams.find(({ id }) => id === record.teamId);
  return (
    <Card title={t.settings} id="limits">
      {!canMove && team !== undefined && (
        <p class="muted">{t.team}: {team.name}. {t.teamByAdmins}</p>
      )}
      <PostForm visitor={visitor} action={`/keys/${record.id}`}>
        <KeyFields
          values={state.form?.values ?? keyFormOf(record, { teams, locale: visitor.locale })}
          errors={state.form?.errors ?? {}}
          catalog={deps.catalog}
          models={record.allowedModels ?? []}
          limits={limits}
          teams={canMove ? teams : []}
          texts={t}
          today={vietnamDay(deps.clock.nowMs())}
          locale={visitor.locale}
          isOpen
        />
        <SaveBar wrong={Object.keys(state.form?.errors ?? {}).length} locale={visitor.locale} />
      </PostForm>
    </Card>
  );
}

function Calls({ visitor, record, state: { calls } }: PartProps & { state: KeyDetailState }) {
  const { locale } = visitor;
  const t = callSettingsTexts[locale];
  return (
    <details class="card" id="calls" open={record.calls !== undefined || calls !== undefined}>
      <summary>{t.title}</summary>
      <p class="muted">{t.keyText}</p>
      <PostForm visitor={visitor} action={`/keys/${record.id}/calls`}>
        <CallSettingsFields
          values={calls?.values ?? callSettingsValues(record.calls, locale)}
          errors={calls?.errors ?? {}}
          locale={locale}
          of="key"
        />
        <SaveBar wrong={Object.keys(calls?.errors ?? {}).length} locale={locale} />
      </PostForm>
    </details>
  );
}

function Rotate({ visitor, record }: PartProps) {
  const t = keyTexts[visitor.locale];
  return (
    <Card title={t.rotate} id="rotate">
      <p class="muted">{t.rotateText}</p>
      {record.previous !== undefined && Number.isFinite(record.previous.untilMs) && (
        <p>
          {t.graceLeft} <Time atMs={record.previous.untilMs} locale={visitor.locale} />
        </p>
      )}
      <PostForm
        visitor={visitor}
        action={`/keys/${record.id}/rotate`}
        confirm={t.rotateConfirm}
        class="inline-form"
      >
        <FormIdField />
        <SelectField
          name="grace"
          label={t.grace}
          value="24"
          options={Object.entries(t.graces).map(([value, label]) => ({ value, label }))}
        />
        <SubmitButton tone="plain">{t.rotateButton}</SubmitButton>
      </PostForm>
    </Card>
  );
}

function Revoke({ visitor, record }: PartProps) {
  const t = keyTexts[visitor.locale];
  return (
    <Card title={t.revoke} id="revoke">
      <p class="muted">{t.revokeText}</p>
      <PostForm
        visitor={visitor}
        action={`/keys/${record.id}/revoke`}
        confirm={t.revokeConfirm(record.name)}
      >
        <SubmitButton tone="danger">{t.revokeButton}</SubmitButton>
      </PostForm>
    </Card>
  );
}
