/** The page between a form and its application: the difference, the reason and the moment; or everything that is wrong. */
import type { CatalogChange, CatalogEdit } from "../../../../core/catalog/diff.ts";
import {
  Card,
  CheckboxField,
  Empty,
  Notice,
  PostForm,
  SubmitButton,
  TextField,
} from "../../../dashboard/components/mod.ts";
import type { Visitor } from "../../../dashboard/page/visitor.ts";
import type { CatalogState } from "../../operations/contract/editing.ts";
import { maxCatalogReasonChars } from "../../../../kv/services/catalog/versions.ts";
import { bucketWords } from "../../../dashboard/text/bucket_names.ts";
import { formatMoney } from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { marginTexts } from "../margins/texts.ts";
import { ChangeTable, memberOf } from "./change_table.tsx";
import { JsonForm } from "./forms.tsx";
import { EffectView } from "./effect/effect_view.tsx";
import type { PriceEffect } from "./effect/price_effect.ts";
import { hasStops, type PriceStops } from "./effect/price_stops.ts";
import { applyPath, cataloguePath, catalogueTexts, rollbackPath } from "./texts.ts";

/** Content of the page. */
export interface PreviewPageProps {
  readonly visitor: Visitor;
  readonly state: CatalogState;
  readonly change: CatalogEdit;
  /** Effect of the change, or everything that is wrong with it. */
  readonly preview:
    | {
      readonly ok: true;
      readonly changes: readonly CatalogChange[];
      readonly stops: PriceStops;
      readonly effect: PriceEffect;
    }
    | { readonly ok: false; readonly problems: readonly string[] };
  /** The version that would be restored; absent: the change is an edit. */
  readonly rollbackTo?: number | undefined;
  /** Reason that was typed already, after a refusal. */
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

/** Fields of what is applied, which nobody sees. */
function ChangeFields({ state, change, rollbackTo }: PreviewPageProps) {
  return (
    <>
      <input type="hidden" name="base" value={String(state.head.newest)} />
      {rollbackTo === undefined
        ? (
          <>
            <input type="hidden" name="edit" value={change.edit} />
            <input type="hidden" name="name" value={nameOfEdit(change)} />
            {change.entry === null
              ? <input type="hidden" name="remove" value="yes" />
              : <input type="hidden" name="json" value={JSON.stringify(change.entry)} />}
          </>
        )
        : <input type="hidden" name="version" value={String(rollbackTo)} />}
    </>
  );
}

/** Stops that have to be confirmed by themselves: prices below a cost, and changes by more than half. */
function Stops({ stops, locale }: { stops: PriceStops; locale: Locale }) {
  if (!hasStops(stops)) return null;
  const t = catalogueTexts[locale];
  return (
    <Notice tone="danger" title={t.stopTitle}>
      <ul>
        {stops.belowCost.map(({ model, route, bucket, priceMicroVnd, costMicroVnd }) => (
          <li key={`${model} ${route}`}>
            {marginTexts[locale].underpricedLine(
              model,
              route,
              bucketWords(bucket, locale),
              formatMoney(priceMicroVnd, locale),
              formatMoney(costMicroVnd, locale),
            )}
          </li>
        ))}
        {stops.great.map((change) => (
          <li key={`${nameOfChange(change)} ${change.path}`}>
            {t.greatChange(nameOfChange(change), memberOf(change.path, locale) ?? change.path)}
          </li>
        ))}
      </ul>
      <CheckboxField name="sure" label={t.sure} />
    </Notice>
  );
}

function nameOfChange(change: CatalogChange): string {
  return change.part === "settings" ? "" : change.name;
}

/** The page. */
export function PreviewPage(props: PreviewPageProps) {
  const { visitor, state, preview } = props;
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
  const { scheduled } = state.head;
  return (
    <>
      <Card>
        <ChangeTable changes={preview.changes} locale={locale} />
      </Card>
      <EffectView effect={preview.effect} locale={locale} />
      <Card>
        {scheduled !== undefined && <Notice tone="warning">{t.withdraws(scheduled.version)}
        </Notice>}
        <PostForm
          visitor={visitor}
          action={props.rollbackTo === undefined ? applyPath : rollbackPath}
          confirm={t.applyConfirm}
        >
          <ChangeFields {...props} />
          <Stops stops={preview.stops} locale={locale} />
          <TextField
            name="reason"
            label={t.reason}
            hint={t.reasonHint}
            required
            maxlength={maxCatalogReasonChars}
            value={props.reason}
          />
          {props.rollbackTo === undefined && (
            <TextField name="from" type="datetime-local" label={t.from} value={props.from} />
          )}
          <div class="actions">
            <SubmitButton>
              {props.rollbackTo === undefined ? t.apply : t.restore(props.rollbackTo)}
            </SubmitButton>
            <a href={cataloguePath} class="button outline secondary" role="button">{t.back}</a>
          </div>
        </PostForm>
      </Card>
    </>
  );
}
