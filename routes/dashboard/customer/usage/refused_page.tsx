/** `/receipts/:id` of a call that was refused before a provider was asked. */
import type { Context } from "hono";
import { errorTable } from "../../../../core/lib/errors/errors.ts";
import { getApiKey } from "../../../../kv/people/api_keys/api_keys.ts";
import type { RefusedCall } from "../../../../kv/services/calls/refused_calls.ts";
import { Badge, Card, CopyButton, Fact, Time } from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { formatCount, formatDuration } from "../../text/format.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { Locale } from "../../text/i18n.ts";
import type { DashboardEnv } from "../../page/visitor.ts";
import { Drawer } from "./drawer.tsx";
import { usageTexts } from "./texts.ts";

/** Shows a refused call to its owner. */
export async function refusedPage(
  c: Context<DashboardEnv>,
  { kv }: Pick<DashboardDeps, "kv">,
  call: RefusedCall,
): Promise<Response> {
  const { locale } = c.get("visitor");
  const t = usageTexts[locale];
  const key = await getApiKey(kv, call.accountId, call.keyId);
  const facts = <RefusedFacts call={call} keyName={key?.name ?? t.unknownKey} locale={locale} />;
  const fragment = c.req.query("fragment");
  if (fragment === "drawer") {
    return await c.html(
      <Drawer title={t.refusedTitle} href={`/receipts/${call.requestId}`} locale={locale}>
        <p class="muted">{t.refusedLead}</p>
        {facts}
      </Drawer>,
    );
  }
  if (fragment !== undefined) return await c.html(facts);
  return await renderPage(
    c,
    { title: t.refusedTitle, lead: t.refusedLead },
    <>
      <Card>{facts}</Card>
      <p class="muted">{t.notStored}</p>
      <p>
        <a href="/usage">← {t.back}</a>
      </p>
    </>,
  );
}

/** All data of a refused call. */
export function RefusedFacts({ call, keyName, locale }: {
  call: RefusedCall;
  keyName: string;
  locale: Locale;
}) {
  const t = usageTexts[locale];
  const { requestId, status, code, message, endpoint, model, leftOut = 0 } = call;
  // A row may have been written by a version whose table had other codes.
  const type = Object.hasOwn(errorTable, code) ? errorTable[code].type : undefined;
  return (
    <dl class="facts">
      <Fact name={t.requestId}>
        <code>{requestId}</code> <CopyButton text={requestId} what={t.requestId} locale={locale} />
      </Fact>
      <Fact name={t.outcome}>
        <Badge tone="bad">{t.refused}</Badge> <code>{status}</code>
      </Fact>
      <Fact name={t.error}>
        <code>{code}</code>{" "}
        {type !== undefined && type !== code && <span class="muted">{type}</span>}
      </Fact>
      <Fact name={t.message}>{message}</Fact>
      <Fact name={t.started}>
        <Time atMs={call.atMs} locale={locale} />
      </Fact>
      <Fact name={t.latency}>{formatDuration(call.latencyMs, locale)}</Fact>
      <Fact name={t.key}>{keyName}</Fact>
      {model !== undefined && <Fact name={t.model}>{model}</Fact>}
      {endpoint !== undefined && (
        <Fact name={t.endpoint}>
          <code>{endpoint}</code>
        </Fact>
      )}
      {leftOut > 0 && <Fact name={t.others}>{t.leftOut(formatCount(leftOut, locale))}</Fact>}
    </dl>
  );
}
