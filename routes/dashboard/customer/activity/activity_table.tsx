/** The lines of the activity log as a table, for customers and for operators. */
import type { ActivityLine, Doer } from "../../../../kv/people/audit/account_activity.ts";
import { DataTable, Empty, Time } from "../../components/mod.ts";
import type { Locale } from "../../text/i18n.ts";
import { activityTexts } from "./activity_texts.ts";

function nameOf(by: Doer, locale: Locale, showsOperators: boolean): string {
  const t = activityTexts[locale].doers;
  switch (by.kind) {
    case "person":
      return by.email ?? by.accountId;
    case "key":
    case "management_key":
      return `${t[by.kind]} ${by.keyId}`;
    case "stranger":
    case "gateway":
      return t[by.kind];
    case "operator":
      return showsOperators ? by.email : t.operator;
  }
}

/** What changed: each name once, with its value before and after. */
function Changes({ line, locale }: { line: ActivityLine; locale: Locale }) {
  const { before, after } = line;
  const { nothing } = activityTexts[locale];
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])];
  return (
    <>
      {names.map((name) => (
        <div key={name}>
          <code>{name}</code> {before !== undefined && `${before[name] ?? nothing} → `}
          {after?.[name] ?? nothing}
        </div>
      ))}
    </>
  );
}

/**
 * Shows lines, newest first.
 *
 * @param showsOperators whether operators are named, as on their own pages
 */
export function ActivityTable({ lines, locale, showsOperators = false }: {
  lines: readonly ActivityLine[];
  locale: Locale;
  showsOperators?: boolean;
}) {
  const t = activityTexts[locale];
  if (lines.length === 0) {
    return (
      <Empty title={t.none}>
        <p>{t.noneText}</p>
      </Empty>
    );
  }
  return (
    <DataTable
      label={t.title}
      rows={lines}
      columns={[
        {
          head: t.when,
          kind: "one-line",
          cell: ({ atMs }) => <Time atMs={atMs} locale={locale} />,
        },
        {
          head: t.act,
          cell: ({ act, subject }) => (
            <>
              {t.acts[act]}
              {subject !== "" && <div class="muted long">{subject}</div>}
            </>
          ),
        },
        { head: t.who, kind: "long", cell: ({ by }) => nameOf(by, locale, showsOperators) },
        {
          head: t.from,
          kind: "long",
          cell: ({ by }) =>
            by.kind !== "operator" && by.kind !== "gateway" && (
              <>
                {by.address}
                <div class="muted">{by.browser}</div>
              </>
            ),
        },
        { head: t.change, kind: "long", cell: (line) => <Changes line={line} locale={locale} /> },
      ]}
    />
  );
}
