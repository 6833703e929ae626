/** The list of keys with their recent usage. */
import type { Context } from "hono";
import { activeKeysPerAccount } from "../../../../kv/people/api_keys/api_key_changes.ts";
import { vietnamDay } from "../../../../core/lib/time/vietnam_time.ts";
import {
  type ApiKeyRecord,
  isActive,
  listApiKeys,
} from "../../../../kv/people/api_keys/api_keys.ts";
import { listReceipts } from "../../../../kv/money/receipts/receipts.ts";
import {
  netCostMicroVnd,
  nothingUsed,
  readUsage,
  type Usage,
} from "../../../../kv/money/ledger/usage.ts";
import { Badge, Card, DataTable, Empty, Icon, Money, Notice, Time } from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import type { Locale } from "../../text/i18n.ts";
import { renderPage } from "../../frame/layout.tsx";
import { shiftDay } from "../../../usage_api/range.ts";
import { usageBy, usageSince } from "../../../usage_api/summary.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { keyTexts } from "./texts.ts";

/** Days searched for the last use of a key. */
const lastUseDays = 90;
/** Newest receipts searched for the minute of the last use; older uses are known by day. */
const recentReceipts = 100;

interface ListedKey {
  readonly record: ApiKeyRecord;
  readonly active: boolean;
  readonly usage: Usage;
  /** Returns the time of the last use: to the minute if it is recent, else the start of its day. */
  readonly lastUsed: { readonly atMs: number; readonly dateOnly: boolean } | undefined;
}

async function loadKeys(deps: DashboardDeps, c: Context<DashboardEnv>): Promise<ListedKey[]> {
  const { account } = c.get("signedIn");
  const nowMs = deps.clock.nowMs();
  const today = vietnamDay(nowMs);
  const [records, rows, { receipts }] = await Promise.all([
    listApiKeys(deps.kv, account.id),
    readUsage(deps.kv, account.id, { fromDay: shiftDay(today, 1 - lastUseDays), toDay: today }),
    listReceipts(deps.kv, account.id, { limit: recentReceipts }),
  ]);
  const month = new Map(usageBy(usageSince(rows, shiftDay(today, -29)), (row) => row.keyId));
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
      usage: month.get(record.id) ?? nothingUsed,
      lastUsed: atMs !== undefined
        ? { atMs, dateOnly: false }
        : day !== undefined
        ? { atMs: Date.parse(`${day}T00:00:00+07:00`), dateOnly: true }
        : undefined,
    };
  });
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

function KeyTable({ keys, label, locale }: {
  keys: readonly ListedKey[];
  label: string;
  locale: Locale;
}) {
  const t = keyTexts[locale];
  return (
    <DataTable
      label={label}
      rows={keys}
      columns={[
        {
          head: t.name,
          cell: ({ record }) => (
            <a href={`/keys/${record.id}`} aria-label={t.details(record.name)}>{record.name}</a>
          ),
        },
        {
          head: t.key,
          kind: "one-line",
          wideOnly: true,
          cell: ({ record }) => <code>{record.masked}</code>,
        },
        {
          head: t.state,
          cell: ({ record, active }) => (
            <KeyState
              record={record}
              active={active}
              locale={locale}
            />
          ),
        },
        {
          head: t.lastUsed,
          kind: "one-line",
          wideOnly: true,
          cell: ({ lastUsed }) =>
            lastUsed === undefined
              ? <span class="muted">{t.never}</span>
              : <Time {...lastUsed} locale={locale} relative />,
        },
        {
          head: t.spend,
          kind: "number",
          cell: ({ usage }) => <Money microVnd={netCostMicroVnd(usage)} locale={locale} />,
        },
        {
          head: t.created,
          kind: "one-line",
          wideOnly: true,
          cell: ({ record }) => <Time atMs={record.createdAtMs} locale={locale} dateOnly />,
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
  const { locale } = c.get("visitor");
  const t = keyTexts[locale];
  const keys = await loadKeys(deps, c);
  const active = keys.filter((key) => key.active);
  const others = keys.filter((key) => !key.active);
  const most = activeKeysPerAccount;
  return await renderPage(
    c,
    {
      title: t.title,
      lead: t.lead,
      status: problem === undefined ? 200 : 422,
      actions: (
        <a class="button" href="/keys/new">
          <Icon name="plus" /> {t.create}
        </a>
      ),
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
          : <KeyTable keys={active} label={t.title} locale={locale} />}
      </Card>
      {others.length > 0 && (
        <details class="card">
          <summary>{t.revokedKeys} ({others.length})</summary>
          <KeyTable keys={others} label={t.revokedKeys} locale={locale} />
        </details>
      )}
    </>,
  );
}
