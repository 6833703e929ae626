/** List of what waits for an operator, one line each with the button that leads to it. */
import { Card, Icon, type IconName, Money, Time } from "../../../dashboard/components/mod.ts";
import { maxCounted } from "../../../dashboard/page/places.ts";
import { formatCount } from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import type { Waiting, WaitingKind } from "../base/waiting.ts";
import { todayTexts } from "./today_texts.ts";

const icons: Readonly<Record<WaitingKind, IconName>> = {
  reviews: "bank",
  unmatched: "bank",
  unreadable: "bank",
  approvals: "operator",
  catalogue_refused: "models",
  underpriced: "warning",
  routes: "status",
  invoices: "invoice",
};

function counted(count: number, locale: Locale): string {
  return count >= maxCounted ? `${maxCounted}+` : formatCount(count, locale);
}

function Row({ one, locale }: { one: Waiting; locale: Locale }) {
  const t = todayTexts[locale];
  return (
    <li>
      <span class={`mark ${one.isWrong ? "bad" : "busy"}`}>
        <Icon name={icons[one.kind]} />
      </span>
      <span class="what">
        <strong>{t.waiting[one.kind](counted(one.count, locale))}</strong>
        {one.about !== "" && <small class="muted" title={one.about}>{one.about}</small>}
      </span>
      <span class="age">
        {one.sinceMs !== undefined && <Time atMs={one.sinceMs} locale={locale} relative />}
      </span>
      <span class="sum">
        {one.sumMicroVnd !== undefined && <Money microVnd={one.sumMicroVnd} locale={locale} />}
      </span>
      <a href={one.href} class="button outline secondary small">{t.acts[one.kind]}</a>
    </li>
  );
}

/** The list, the most urgent first. */
export function TodoList({ waiting, locale }: { waiting: readonly Waiting[]; locale: Locale }) {
  const t = todayTexts[locale];
  const since = waiting.flatMap(({ sinceMs }) => sinceMs ?? []);
  return (
    <Card
      title={
        <>
          {t.todo}{" "}
          {waiting.length > 0 && <span class="count">{formatCount(waiting.length, locale)}</span>}
        </>
      }
      actions={since.length > 0 && (
        <span class="muted">
          {t.oldest} <Time atMs={Math.min(...since)} locale={locale} relative />
        </span>
      )}
    >
      {waiting.length === 0 ? <p class="muted">{t.nothing}</p> : (
        <ul class="todo">
          {waiting.map((one) => <Row key={one.kind} one={one} locale={locale} />)}
        </ul>
      )}
    </Card>
  );
}
