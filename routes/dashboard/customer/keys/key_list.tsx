/** The list of keys with their recent usage. */
import type { Context } from "hono";
import {
  activeKeysPerMember,
  maxActiveKeys,
} from "../../../../kv/people/api_keys/api_key_changes.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import {
  type ApiKeyRecord,
  isActive,
  type KeyApp,
  listApiKeys,
} from "../../../../kv/people/api_keys/api_keys.ts";
import { listReceipts } from "../../../../kv/money/receipts/receipts.ts";
import { readUsage } from "../../../../kv/money/ledger/usage.ts";
import {
  Badge,
  Card,
  DataTable,
  Empty,
  Icon,
  Notice,
  PostForm,
  Time,
} from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { mayVisit } from "../../page/page_acts.ts";
import type { Locale } from "../../text/i18n.ts";
import { renderPage } from "../../frame/layout.tsx";
import { shiftDay } from "../../../usage_api/range.ts";
import { keyMember } from "../../../../core/limits/budgets.ts";
import { mayAct } from "../../../acts/operation.ts";
import { actingOf } from "../../visitor/acting.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import {
  type KeySpend,
  type LimitInUse,
  periodLimitsInUse,
  spendOfKey,
} from "../../page/rate_view.ts";
import { type Call, errorOf, takeCalls } from "../../../usage_api/search/call_scan.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";
import { LimitBars, otherLimits, SpendBar } from "../rate_limits/limit_table.tsx";
import { sharedOf } from "../usage/call_table.tsx";
import { type KeyTexts, keyTexts } from "./texts.ts";

/** Days searched for the last use of a key. */
const lastUseDays = 90;
/** Days searched for the last error of a key, and the newest errors of the account that are looked at. */
const lastErrorDays = 7;
const recentErrors = 100;
/** Newest receipts searched for the minute of the last use; older uses are known by day. */
const recentReceipts = 100;

interface ListedKey {
  readonly record: ApiKeyRecord;
  readonly active: boolean;
  /** Whether who looks may change and revoke it. */
  readonly mayChange: boolean;
  readonly spend: KeySpend;
  /** Returns the time of the last use: to the minute if it is recent, else the start of its day. */
  readonly lastUsed: { readonly atMs: number; readonly dateOnly: boolean } | undefined;
  readonly limits: readonly LimitInUse[];
  /** The newest of the recent errors of the account that is one of this key. */
  readonly lastError: Call | undefined;
}

async function loadKeys(deps: DashboardDeps, c: Context<DashboardEnv>): Promise<ListedKey[]> {
  const { account } = c.get("signedIn");
  const nowMs = deps.clock.nowMs();
  const today = vietnamDay(nowMs);
  const acting = actingOf(c, nowMs);
  const [records, rows, { receipts }, errors] = await Promise.all([
    listApiKeys(deps.kv, account.id),
    readUsage(deps.kv, account.id, { fromDay: shiftDay(today, 1 - lastUseDays), toDay: today }),
    listReceipts(deps.kv, account.id, { limit: recentReceipts }),
    takeCalls(deps.kv, {
      accountId: account.id,
      fromMs: nowMs - lastErrorDays * dayMs,
      untilMs: nowMs + 1,
      status: "error",
    }, recentErrors),
  ]);
  const lastErrors = new Map<string, Call>();
  for (const call of errors.calls) {
    const { keyId } = sharedOf(call);
    if (!lastErrors.has(keyId)) lastErrors.set(keyId, call);
  }
  const lastDays = new Map<string, string>();
  for (const { keyId, day } of rows) {
    if (day > (lastDays.get(keyId) ?? "")) lastDays.set(keyId, day);
  }
  const lastTimes = new Map<string, number>();
  for (const { keyId, startedAtMs } of receipts) {
    lastTimes.set(keyId, Math.max(startedAtMs, lastTimes.get(keyId) ?? 0));
  }
  return records.reverse().map((record) => {
    const atMs = lastTimes.get(record.id);
    const day = lastDays.get(record.id);
    return {
      record,
      active: isActive(record, nowMs),
      mayChange: isActive(record, nowMs) && mayAct(acting, "change_keys", keyMember(record)),
      spend: spendOfKey(record.id, rows, today),
      limits: periodLimitsInUse(record, rows, today, (id) => deps.catalog.find(id)?.kind),
      lastError: lastErrors.get(record.id),
      lastUsed: atMs !== undefined
        ? { atMs, dateOnly: false }
        : day !== undefined
        ? { atMs: Date.parse(`${day}T00:00:00+07:00`), dateOnly: true }
        : undefined,
    };
  });
}

/** Says for which application a key was made: by its host, which it cannot choose, or as a program of the person. */
export function appOfKey({ name, host }: KeyApp, t: KeyTexts): string {
  return t.madeForApp(name, host ?? t.ownMachine);
}

/** The state of a key as a badge. */
export function KeyState({ record, active, locale }: {
  record: ApiKeyRecord;
  active: boolean;
  locale: Locale;
}) {
  const t = keyTexts[locale];
  if (active) return <Badge tone="good">{t.active}</Badge>;
  return <Badge tone="neutral">{record.revokedAtMs === undefined ? t.expired : t.revoked}</Badge>;
}

function LastError({ call, locale }: { call: Call; locale: Locale }) {
  return (
    <>
      <a href={`/receipts/${call.requestId}`}>
        <code>{errorOf(call) ?? String(sharedOf(call).status)}</code>
      </a>{" "}
      <small class="muted">
        <Time atMs={sharedOf(call).atMs} locale={locale} relative />
      </small>
    </>
  );
}

/** Menu of a key: its calls, the parts of its page, and its end. */
function KeyMenu({ listed: { record, mayChange }, visitor }: {
  listed: ListedKey;
  visitor: Visitor;
}) {
  const t = keyTexts[visitor.locale];
  const page = `/keys/${record.id}`;
  return (
    <details class="menu row-menu">
      <summary aria-label={t.actsOf(record.name)}>
        <span aria-hidden="true">⋯</span>
      </summary>
      <nav aria-label={t.actsOf(record.name)}>
        <a href={`/usage?key=${record.id}`}>{t.requests}</a>
        {mayChange && (
          <>
            <a href={`${page}#limits`}>{t.limits}</a>
            <a href={`${page}#rotate`}>{t.rotate}</a>
            <PostForm
              visitor={visitor}
              action={`${page}/revoke`}
              confirm={t.revokeConfirm(record.name)}
            >
              <button type="submit" class="menu-danger">{t.revoke}</button>
            </PostForm>
          </>
        )}
      </nav>
    </details>
  );
}

function KeyTable({ keys, label, visitor }: {
  keys: readonly ListedKey[];
  label: string;
  visitor: Visitor;
}) {
  const { locale } = visitor;
  const t = keyTexts[locale];
  return (
    <DataTable
      label={label}
      rows={keys}
      columns={[
        {
          head: t.name,
          phone: "first",
          cell: ({ record }) => (
            <>
              <a href={`/keys/${record.id}`} aria-label={t.details(record.name)}>{record.name}</a>
              {" "}
              <small class="muted under">
                <code>{record.masked}</code>
                {record.app !== undefined && ` · ${appOfKey(record.app, t)}`}
              </small>
            </>
          ),
        },
        {
          head: t.state,
          phone: "first-end",
          cell: ({ record, active }) => (
            <KeyState
              record={record}
              active={active}
              locale={locale}
            />
          ),
        },
        {
          head: t.spendToday,
          phone: "half",
          cell: ({ spend, limits }) => (
            <>
              <SpendBar spend={spend} window="day" limits={limits} locale={locale} />
              {otherLimits(limits).length > 0 && (
                <LimitBars limits={otherLimits(limits)} locale={locale} />
              )}
            </>
          ),
        },
        {
          head: t.spendThisMonth,
          phone: "half",
          cell: ({ spend, limits }) => (
            <SpendBar spend={spend} window="month" limits={limits} locale={locale} />
          ),
        },
        {
          head: t.lastUsed,
          kind: "one-line",
          phone: "second",
          cell: ({ lastUsed }) =>
            lastUsed === undefined
              ? <span class="muted">{t.never}</span>
              : <Time {...lastUsed} locale={locale} relative />,
        },
        {
          head: t.lastError,
          cell: ({ lastError }) =>
            lastError === undefined
              ? <span class="muted">–</span>
              : <LastError call={lastError} locale={locale} />,
        },
        {
          head: t.acts,
          kind: "one-line",
          phone: "beside",
          hiddenHead: true,
          cell: (listed) => <KeyMenu listed={listed} visitor={visitor} />,
        },
      ]}
    />
  );
}

/** Shows `/keys`, with `problem` above the list. */
export async function keyListPage(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
  problem?: string,
): Promise<Response> {
  const visitor = c.get("visitor");
  const t = keyTexts[visitor.locale];
  const keys = await loadKeys(deps, c);
  const active = keys.filter((key) => key.active);
  const others = keys.filter((key) => !key.active);
  const { account, role } = c.get("signedIn");
  const most = maxActiveKeys(account, deps.keysPerMember ?? activeKeysPerMember);
  return await renderPage(
    c,
    {
      title: t.title,
      lead: t.lead,
      status: problem === undefined ? 200 : 422,
      ...(mayVisit({ role }, "/keys/new") && {
        actions: (
          <a class="button" href="/keys/new">
            <Icon name="plus" /> {t.create}
          </a>
        ),
      }),
    },
    <>
      {problem !== undefined && <Notice tone="danger">{problem}</Notice>}
      <Card title={t.count(active.length, most)}>
        {active.length === 0
          ? (
            <Empty title={t.none}>
              <p>{t.noneHint}</p>
            </Empty>
          )
          : <KeyTable keys={active} label={t.title} visitor={visitor} />}
      </Card>
      {others.length > 0 && (
        <details class="card">
          <summary>{t.revokedKeys} ({others.length})</summary>
          <KeyTable keys={others} label={t.revokedKeys} visitor={visitor} />
        </details>
      )}
    </>,
  );
}
