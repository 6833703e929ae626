/** The page between a form and its application: the difference, the reason and the moment; or everything that is wrong. */
import type { CatalogChange, CatalogEdit } from "../../../../core/catalog/diff.ts";
import {
  Card,
  Empty,
  Notice,
  PostForm,
  SubmitButton,
  TextField,
} from "../../../dashboard/components/mod.ts";
import type { Visitor } from "../../../dashboard/page/visitor.ts";
import type { CatalogState } from "../../operations/contract/editing.ts";
import { maxCatalogReasonChars } from "../../../../kv/services/catalog/versions.ts";
import { ChangeTable } from "./change_table.tsx";
import { JsonForm } from "./forms.tsx";
import { applyPath, cataloguePath, catalogueTexts } from "./texts.ts";

/** What the page shows. */
export interface PreviewPageProps {
  readonly visitor: Visitor;
  readonly state: CatalogState;
  readonly change: CatalogEdit;
  /** What the change would do, or everything that is wrong with it. */
  readonly preview:
    | { readonly ok: true; readonly changes: readonly CatalogChange[] }
    | { readonly ok: false; readonly problems: readonly string[] };
  /** What was typed already, after a refusal. */
  readonly reason?: string;
  readonly from?: string;
}

/** The name of the entry in a form. */
function nameOfEdit(change: CatalogEdit): string {
  return change.edit === "model" ? change.id : change.edit === "provider" ? change.name : "";
}

function Problems({ visitor, state, change, problems }: PreviewPageProps & {
  readonly problems: readonly string[];
}) {
  const t = catalogueTexts[visitor.locale];
  return (
    <>
      <Notice tone="danger" title={t.problems}>
        <ul>
          {problems.map((problem) => <li key={problem}>{problem}</li>)}
        </ul>
      </Notice>
      {change.entry !== null && (
        <JsonForm
          visitor={visitor}
          base={state.head.newest}
          name={nameOfEdit(change)}
          entry={change.entry}
          edit={change.edit}
          open
        />
      )}
    </>
  );
}

/** The page. */
export function PreviewPage(props: PreviewPageProps) {
  const { visitor, state, change, preview } = props;
  const { locale } = visitor;
  const t = catalogueTexts[locale];
  if (!preview.ok) return <Problems {...props} problems={preview.problems} />;
  if (preview.changes.length === 0) {
    return (
      <Card>
        <Empty title={t.nothing}>
          <p>{t.nothingText}</p>
          <p>
            <a href={cataloguePath}>{t.back}</a>
          </p>
        </Empty>
      </Card>
    );
  }
  const { scheduled, newest } = state.head;
  return (
    <>
      <Card>
        <ChangeTable changes={preview.changes} locale={locale} />
      </Card>
      <Card>
        {scheduled !== undefined && scheduled.version !== state.version && (
          <Notice tone="warning">{t.withdraws(scheduled.version)}</Notice>
        )}
        <PostForm visitor={visitor} action={applyPath} confirm={t.applyConfirm}>
          <input type="hidden" name="edit" value={change.edit} />
          <input type="hidden" name="name" value={nameOfEdit(change)} />
          <input type="hidden" name="base" value={String(newest)} />
          {change.entry === null
            ? <input type="hidden" name="remove" value="yes" />
            : <input type="hidden" name="json" value={JSON.stringify(change.entry)} />}
          <TextField
            name="reason"
            label={t.reason}
            hint={t.reasonHint}
            required
            maxlength={maxCatalogReasonChars}
            value={props.reason}
          />
          <TextField name="from" type="datetime-local" label={t.from} value={props.from} />
          <div class="actions">
            <SubmitButton>{t.apply}</SubmitButton>
            <a href={cataloguePath} class="button outline secondary" role="button">{t.back}</a>
          </div>
        </PostForm>
      </Card>
    </>
  );
}
