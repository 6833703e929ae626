/** The place where the first call of a new account appears: it asks for it until the call is there. */
import type { Context } from "hono";
import type { ErrorCode } from "../../../../core/lib/errors/errors.ts";
import type { ApiKeyRecord } from "../../../../kv/people/api_keys/api_keys.ts";
import { type Call, errorOf, takeCalls } from "../../../usage_api/call_scan.ts";
import { Card, Notice } from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import type { Locale } from "../../text/i18n.ts";
import { CallTable } from "../usage/call_table.tsx";
import type { DashboardEnv } from "../../page/visitor.ts";
import { welcomeTexts } from "./texts.ts";

/** Seconds between two looks: a person who has just run the code sees the call at once. */
const lookEverySeconds = 2;

/** Looks of one page, ten minutes long: who has not called by then reads the page again. */
const mostLooks = 300;

/** Calls that are shown; the first tries of a developer are several, and a refusal is one of them. */
const shownCalls = 3;

/** Reads the newest calls of the account, refused ones too. */
export async function latestCalls(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
): Promise<readonly Call[]> {
  const { account } = c.get("signedIn");
  const untilMs = deps.clock.nowMs() + 1;
  const filter = { accountId: account.id, fromMs: account.createdAtMs, untilMs };
  return (await takeCalls(deps.kv, filter, shownCalls)).calls;
}

/** What a person can do about a refused call. */
type Fix = keyof typeof welcomeTexts["en"]["fixes"];

const fixes: Readonly<Partial<Record<string, Fix>>> = {
  insufficient_balance: "topUp",
  spending_limit_reached: "keyLimit",
  permission_denied: "keyRights",
  model_not_found: "model",
  balance_on_hold: "wait",
  rate_limit_reached: "wait",
} satisfies Partial<Record<ErrorCode, Fix>>;

function fixOf(call: Call): Fix {
  if (call.kind === "receipt") return "provider";
  const { code, message } = call.refused;
  return fixes[code] ?? (message.startsWith("model:") ? "model" : "request");
}

function linkOf(fix: Fix, keyId: string): string {
  switch (fix) {
    case "topUp":
      return "/wallet";
    case "keyLimit":
    case "keyRights":
      return `/keys/${keyId}`;
    case "model":
      return "/models";
    case "provider":
      return "/status";
    case "wait":
    case "request":
      return "/docs/errors";
  }
}

function FixNotice({ call, locale }: { call: Call; locale: Locale }) {
  const t = welcomeTexts[locale];
  const fix = fixOf(call);
  const { keyId } = call.kind === "receipt" ? call.receipt : call.refused;
  const names = fix === "request" || fix === "model";
  return (
    <Notice tone="warning">
      {t.fixes[fix]} {names && call.kind === "refused" && <code>{call.refused.message}</code>}{" "}
      <a href={linkOf(fix, keyId)}>{t.links[fix]}</a>
    </Notice>
  );
}

/** The heading of the page, by the outcome of the first call; `undefined` before there is one. */
export function outcomeTitle(calls: readonly Call[], locale: Locale): string | undefined {
  if (calls.length === 0) return undefined;
  const t = welcomeTexts[locale];
  return hasWorked(calls) ? t.works : t.fails;
}

function hasWorked(calls: readonly Call[]): boolean {
  return calls.some((call) => errorOf(call) === undefined);
}

/** Shows the first calls, or that they are waited for. */
export function FirstCall({ calls, keys, locale, looks }: {
  calls: readonly Call[];
  keys: readonly ApiKeyRecord[];
  locale: Locale;
  /** How often this page has looked before. */
  looks: number;
}) {
  const t = welcomeTexts[locale];
  const [latest] = calls;
  const isOver = hasWorked(calls) || looks >= mostLooks;
  const looking = isOver ? {} : {
    "hx-get": `/welcome/call?looks=${looks + 1}`,
    "hx-trigger": `load delay:${lookEverySeconds}s`,
    "hx-swap": "outerHTML",
  };
  const table = (
    <CallTable
      calls={calls}
      refunds={new Map()}
      keyNames={new Map(keys.map((key) => [key.id, key.name]))}
      locale={locale}
    />
  );
  if (latest === undefined) {
    return (
      <div id="first-call" {...looking}>
        <Card title={t.waiting}>
          <p class="muted">
            {!isOver && <span class="pulse" aria-hidden="true"></span>} {t.waitingText}{" "}
            <a href="/welcome">{t.look}</a>
          </p>
        </Card>
      </div>
    );
  }
  if (hasWorked(calls)) {
    return (
      <div id="first-call" role="status">
        <Card title={t.arrived}>
          <p class="muted">{t.arrivedText}</p>
          {table}
        </Card>
      </div>
    );
  }
  return (
    <div id="first-call" role="status" {...looking}>
      <Card title={t.failed}>
        <FixNotice call={latest} locale={locale} />
        <p class="muted">{t.failedNote}</p>
        {table}
      </Card>
    </div>
  );
}
