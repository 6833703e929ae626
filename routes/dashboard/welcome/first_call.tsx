/** The place where the first call of a new account appears: it asks for it until the call is there. */
import type { Context } from "hono";
import type { ApiKeyRecord } from "../../../kv/api_keys/api_keys.ts";
import { type Call, takeCalls } from "../../usage_api/call_scan.ts";
import { Card } from "../components/mod.ts";
import type { DashboardDeps } from "../deps.ts";
import { CallTable } from "../usage/call_table.tsx";
import type { DashboardEnv } from "../visitor/visitor.ts";
import { welcomeTexts } from "./texts.ts";

/** Seconds between two looks: a person who has just run the code sees the call at once. */
const lookEverySeconds = 2;

/** Looks of one page, ten minutes long: who has not called by then reads the page again. */
const mostLooks = 300;

/** Calls that are shown; the first tries of a developer are several, and a refusal is one of them. */
const shownCalls = 3;

/** Reads the newest calls of the account, refused ones too. */
async function latestCalls(
  c: Context<DashboardEnv>,
  deps: DashboardDeps,
): Promise<readonly Call[]> {
  const { account } = c.get("signedIn");
  const untilMs = deps.clock.nowMs() + 1;
  const filter = { accountId: account.id, fromMs: account.createdAtMs, untilMs };
  return (await takeCalls(deps.kv, filter, shownCalls)).calls;
}

/** Shows the first calls, or that they are waited for. `looks`: how often this page has looked before. */
export async function FirstCall({ c, deps, keys, looks }: {
  c: Context<DashboardEnv>;
  deps: DashboardDeps;
  keys: readonly ApiKeyRecord[];
  looks: number;
}) {
  const { locale } = c.get("visitor");
  const t = welcomeTexts[locale];
  const calls = await latestCalls(c, deps);
  if (calls.length > 0) {
    return (
      <div id="first-call" role="status">
        <Card title={t.arrived}>
          <p class="muted">{t.arrivedText}</p>
          <CallTable
            calls={calls}
            refunds={new Map()}
            keyNames={new Map(keys.map((key) => [key.id, key.name]))}
            locale={locale}
          />
        </Card>
      </div>
    );
  }
  const looking = looks < mostLooks && {
    "hx-get": `/welcome/call?looks=${looks + 1}`,
    "hx-trigger": `load delay:${lookEverySeconds}s`,
    "hx-swap": "outerHTML",
  };
  return (
    <div id="first-call" {...looking || {}}>
      <Card title={t.waiting}>
        <p class="muted">
          {looking !== false && <span class="pulse" aria-hidden="true"></span>} {t.waitingText}{" "}
          <a href="/welcome">{t.look}</a>
        </p>
      </Card>
    </div>
  );
}
