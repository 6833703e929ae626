/** The lines of the activity log as a table, for customers and for operators. */
import type { ActivityLine, Doer } from "../../../../kv/people/audit/account_activity.ts";
import { DataTable, Empty, Time } from "../../components/mod.ts";
import type { Locale } from "../../text/i18n.ts";
import { Changes, named, type ThingNames } from "./activity_changes.tsx";
import { activityTexts } from "./activity_texts.ts";

const noNames: ThingNames = new Map();

function nameOf(
  by: Doer,
  { locale, names, showsOperators }: {
    readonly locale: Locale;
    readonly names: ThingNames;
    readonly showsOperators: boolean;
  },
): string {
  const t = activityTexts[locale].doers;
  switch (by.kind) {
    case "person":
      return by.email ?? by.accountId;
    case "key":
    case "management_key":
      return `${t[by.kind]} ${names.get(by.keyId) ?? by.keyId}`;
    case "stranger":
    case "gateway":
      return t[by.kind];
    case "operator":
      return showsOperators ? by.email : t.operator;
  }
}

/**
 * Shows lines, newest first.
 *
 * @param names shown in place of ids
 * @param showsOperators whether operators are named, as on their own pages
 */
export function ActivityTable({ lines, locale, names = noNames, showsOperators = false }: {
  lines: readonly ActivityLine[];
  locale: Locale;
  names?: ThingNames;
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
              {subject !== "" && <div class="muted long">{named(subject, names)}</div>}
            </>
          ),
        },
        {
          head: t.who,
          kind: "long",
          cell: ({ by }) => nameOf(by, { locale, names, showsOperators }),
        },
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
        {
          head: t.change,
          kind: "long",
          cell: (line) => <Changes line={line} names={names} locale={locale} />,
        },
      ]}
    />
  );
}
