/** The history of the catalogue, and one version of it with what it changed. */
import type { CatalogChange } from "../../../../core/catalog/diff.ts";
import type { CatalogVersion } from "../../../../kv/services/catalog/versions.ts";
import {
  Badge,
  type BadgeTone,
  Card,
  DataTable,
  Fact,
  PostForm,
  SubmitButton,
} from "../../../dashboard/components/mod.ts";
import { formatDateTime } from "../../../dashboard/text/format.ts";
import type { Visitor } from "../../../dashboard/page/visitor.ts";
import type { CatalogState } from "../../operations/contract/editing.ts";
import { ChangeTable } from "./change_table.tsx";
import { catalogueTexts, historyPath, previewPath, versionPath } from "./texts.ts";

/** State of a version. */
export type VersionState = "current" | "waiting" | "past" | "withdrawn";

const tones: Readonly<Record<VersionState, BadgeTone>> = {
  current: "good",
  waiting: "busy",
  past: "neutral",
  withdrawn: "bad",
};

/** States of the versions of a page: those of the chain from the one in force were in force, others were not. */
export function versionStates(
  rows: readonly CatalogVersion[],
  { head, version: current }: Pick<CatalogState, "head" | "version">,
): ReadonlyMap<number, VersionState> {
  const states = new Map<number, VersionState>();
  // Each version names the one that was in force when it was made, so those in between never were.
  const parents = new Set<number | undefined>(rows.map(({ parent }) => parent));
  for (const { version } of rows) {
    const state = version === current
      ? "current"
      : version === head.scheduled?.version
      ? "waiting"
      : version < current && (parents.has(version) || version < (rows.at(-1)?.version ?? 0))
      ? "past"
      : "withdrawn";
    states.set(version, state);
  }
  return states;
}

function RollbackForm({ visitor, base, version }: {
  readonly visitor: Visitor;
  readonly base: number;
  readonly version: number;
}) {
  const t = catalogueTexts[visitor.locale];
  return (
    <PostForm visitor={visitor} action={previewPath}>
      <input type="hidden" name="edit" value="rollback" />
      <input type="hidden" name="base" value={String(base)} />
      <input type="hidden" name="version" value={String(version)} />
      <SubmitButton tone="plain" small>{t.rollBack}</SubmitButton>
    </PostForm>
  );
}

/** One page of the history. */
export function HistoryPage({ visitor, state, rows, states, hasOlder }: {
  readonly visitor: Visitor;
  readonly state: CatalogState;
  readonly rows: readonly CatalogVersion[];
  readonly states: ReadonlyMap<number, VersionState>;
  readonly hasOlder: boolean;
}) {
  const { locale } = visitor;
  const t = catalogueTexts[locale];
  const last = rows.at(-1)?.version;
  return (
    <Card>
      <DataTable
        label={t.history}
        rows={rows}
        columns={[
          {
            head: t.version(0).replace(" 0", ""),
            kind: "one-line",
            cell: ({ version }) => (
              <a href={versionPath(version)}>
                {t.version(version)}
              </a>
            ),
          },
          {
            head: t.state,
            kind: "one-line",
            cell: ({ version }) => {
              const known = states.get(version) ?? "past";
              return <Badge tone={tones[known]}>{t.states[known]}</Badge>;
            },
          },
          {
            head: t.effective,
            kind: "one-line",
            wideOnly: true,
            cell: ({ effectiveFromMs }) => formatDateTime(effectiveFromMs, locale),
          },
          { head: t.author, kind: "long", cell: ({ author }) => author },
          {
            head: t.reason,
            kind: "long",
            cell: ({ reason, rollbackTo }) => (
              <>
                {reason}
                {rollbackTo !== undefined && (
                  <span class="muted">{` (${t.rolledBackTo(rollbackTo)})`}</span>
                )}
              </>
            ),
          },
          {
            head: t.rollBack,
            hiddenHead: true,
            cell: ({ version }) =>
              version !== state.version &&
              <RollbackForm visitor={visitor} base={state.head.newest} version={version} />,
          },
        ]}
      />
      {hasOlder && last !== undefined && (
        <p>
          <a href={`${historyPath}?before=${last}`}>{t.older}</a>
        </p>
      )}
    </Card>
  );
}

/** One version. */
export function VersionPage({ visitor, state, row, changes }: {
  readonly visitor: Visitor;
  readonly state: CatalogState;
  readonly row: CatalogVersion;
  readonly changes: readonly CatalogChange[] | undefined;
}) {
  const { locale } = visitor;
  const t = catalogueTexts[locale];
  return (
    <>
      <Card>
        <dl class="facts">
          <Fact name={t.author}>{row.author}</Fact>
          <Fact name={t.reason}>
            {row.reason}
            {row.rollbackTo !== undefined && ` (${t.rolledBackTo(row.rollbackTo)})`}
          </Fact>
          <Fact name={t.when}>{formatDateTime(row.createdAtMs, locale)}</Fact>
          <Fact name={t.effective}>{formatDateTime(row.effectiveFromMs, locale)}</Fact>
        </dl>
        {row.version !== state.version && (
          <RollbackForm visitor={visitor} base={state.head.newest} version={row.version} />
        )}
      </Card>
      <Card title={t.changes}>
        {changes === undefined
          ? <p class="muted">{t.notKept}</p>
          : row.parent === undefined
          ? <p class="muted">{t.firstVersion}</p>
          : <ChangeTable changes={changes} locale={locale} />}
      </Card>
    </>
  );
}
