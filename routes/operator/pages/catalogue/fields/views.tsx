/** Shows shapes as fields: groups that fold, rows with a button for another one, and each problem beside its field. */
import type { Child } from "hono/jsx";
import { defined } from "../../../../../core/lib/base/defined.ts";
import type { Json, JsonObject } from "../../../../../core/lib/json/json.ts";
import {
  CheckboxField,
  SelectField,
  SubmitButton,
  TextField,
} from "../../../../dashboard/components/mod.ts";
import type { Locale } from "../../../../dashboard/text/i18n.ts";
import { fieldLabels, type FieldName, fieldTexts, isFieldName } from "./labels.ts";
import { fieldName, listOf, maxFormRows, objectOf, plainText, shownText } from "./reading.ts";
import {
  hasField,
  type Leaf,
  type Members,
  type PriceUnit,
  priceUnits,
  type Shape,
} from "./shapes.ts";

/** Facts that all fields of a form are shown with. */
export interface FormView {
  readonly locale: Locale;
  /** The kind of the model: other kinds have other fields. */
  readonly kind: string;
  /** Problems by the name of the field. */
  readonly errors: Readonly<Record<string, string>>;
  /** The rows that get an empty one more. */
  readonly extendedRows: string;
}

/** One field or group. */
interface FieldProps {
  readonly view: FormView;
  /** The name within the form. */
  readonly name: string;
  readonly label: string;
  readonly value: Json | undefined;
  /** Value that counts where nothing is written, as far as it is known. */
  readonly usual?: Json | undefined;
}

function labelOf(name: string, locale: Locale): string {
  return isFieldName(name) ? fieldLabels[locale][name] : name;
}

/** Remembers what a box was shown with, so that a default that nobody touched is not written. */
function Was({ name, value }: { name: string; value: string }) {
  return <input type="hidden" name={`${name}.was`} value={value} />;
}

function ChoicesField({ view, name, label, options, value, usual }: FieldProps & {
  readonly options: readonly string[];
}) {
  const given = listOf(value ?? usual).map(plainText);
  const chosen = options.filter((option) => given.includes(option));
  return (
    <Fold view={view} name={name} label={label} isOpen={value !== undefined}>
      <Was name={name} value={chosen.join(",")} />
      <fieldset class="field-boxes" aria-label={label}>
        {options.map((option) => (
          <CheckboxField
            name={`${name}.${option}`}
            label={<code>{option}</code>}
            checked={chosen.includes(option)}
          />
        ))}
      </fieldset>
    </Fold>
  );
}

const inputModes = {
  whole: "numeric",
  factor: "decimal",
  vnd: "decimal",
  cost: "decimal",
  text: undefined,
  list: undefined,
} as const;

function LeafField({ leaf, ...props }: FieldProps & { readonly leaf: Leaf }) {
  const { view, name, label, value, usual } = props;
  const error = view.errors[name];
  switch (leaf.kind) {
    case "check": {
      const isOn = (value ?? usual) === true;
      return (
        <div>
          <Was name={name} value={isOn ? "yes" : "no"} />
          <CheckboxField name={name} label={label} checked={isOn} error={error} />
        </div>
      );
    }
    case "choices":
      return <ChoicesField {...props} options={leaf.options} />;
    case "choice": {
      const shown = plainText(value);
      const byDefault = { value: "", label: defaultText(usual, view.locale) };
      const options = leaf.options.map((option) => ({ value: option, label: option }));
      return (
        <SelectField
          name={name}
          label={label}
          value={shown}
          options={leaf.isRequired === true ? options : [byDefault, ...options]}
          isCode
          error={error}
        />
      );
    }
    default: {
      const mode = inputModes[leaf.kind];
      const isRequired = name === "id" || name === "family";
      return (
        <TextField
          name={name}
          label={label}
          value={error === undefined ? shownText(leaf, value) : plainText(value)}
          required={isRequired}
          error={error}
          {...defined({ inputmode: mode, placeholder: plainText(usual) || undefined })}
        />
      );
    }
  }
}

function defaultText(usual: Json | undefined, locale: Locale): string {
  const text = plainText(usual);
  const t = fieldTexts[locale];
  return text === "" ? t.byDefault : t.byDefaultOf(text);
}

/** The problem of a group as a whole. */
export function GroupError({ view, name }: { view: FormView; name: string }) {
  const error = view.errors[name];
  return error === undefined ? null : <small class="field-error">{error}</small>;
}

/** Whether something is wrong with a group of fields, or with one in it. */
function hasProblemIn(errors: FormView["errors"], group: string): boolean {
  return Object.keys(errors).some((name) => name === group || name.startsWith(`${group}.`));
}

/** Whether a group has the name of a value of the file in place of words. */
function isCode(name: string, label: string): boolean {
  return name.endsWith(`.${label}`) || name === label;
}

/** A group that can be folded away; open where something is written in it, or is wrong. */
function Fold({ view, name, label, isOpen, children }: {
  readonly view: FormView;
  readonly name: string;
  readonly label: string;
  readonly isOpen: boolean;
  readonly children: Child;
}) {
  return (
    <details class="field-group" open={isOpen || hasProblemIn(view.errors, name)}>
      <summary translate={isCode(name, label) ? "no" : undefined}>{label}</summary>
      <GroupError view={view} name={name} />
      {children}
    </details>
  );
}

function isLeaf(shape: Shape): shape is Leaf {
  return shape.kind !== "group" && shape.kind !== "cases" && shape.kind !== "rows" &&
    shape.kind !== "factors";
}

/** The fields of an object: single ones side by side, boxes below them, then groups. */
export function MemberFields({ view, within, members, value, usual, without = [] }: {
  readonly view: FormView;
  readonly within: string;
  readonly members: Members;
  readonly value: JsonObject;
  readonly usual?: JsonObject | undefined;
  /** Members that are shown elsewhere. */
  readonly without?: readonly FieldName[];
}) {
  const shown = Object.entries(members).flatMap(([name, shape]) => {
    if (!isFieldName(name) || without.includes(name)) return [];
    if (value[name] === undefined && !hasField(view.kind, name)) return [];
    const props = {
      view,
      name: fieldName(within, name),
      label: labelOf(name, view.locale),
      value: value[name],
      usual: usual?.[name],
    };
    return [{ shape, props }];
  });
  const boxes = shown.filter(({ shape }) => shape.kind === "check");
  const singles = shown.filter(({ shape }) =>
    isLeaf(shape) && shape.kind !== "check" && shape.kind !== "choices"
  );
  const groups = shown.filter((one) => !boxes.includes(one) && !singles.includes(one));
  return (
    <>
      {singles.length > 0 && (
        <div class="fields">
          {singles.map(({ shape, props }) => (
            <ShapeFields key={props.name} shape={shape} {...props} />
          ))}
        </div>
      )}
      {boxes.length > 0 && (
        <div class="field-boxes">
          {boxes.map(({ shape, props }) => (
            <ShapeFields key={props.name} shape={shape} {...props} />
          ))}
        </div>
      )}
      {groups.map(({ shape, props }) => <ShapeFields key={props.name} shape={shape} {...props} />)}
    </>
  );
}

/** The button that shows the form again with something more, without checking it. */
export function AgainButton({ value, children }: { value: string; children: Child }) {
  return (
    <p>
      <SubmitButton tone="plain" small name="again" value={value} isUnchecked>
        {children}
      </SubmitButton>
    </p>
  );
}

/**
 * Number of rows that a list is shown with: those that are there, and one to fill in where it is empty or was asked
 * for.
 */
export function shownRows(count: number, name: string, { extendedRows }: FormView): number {
  return Math.min(maxFormRows, count === 0 || extendedRows === name ? count + 1 : count);
}

function RowFields({ view, name, label, value, row }: FieldProps & { readonly row: Members }) {
  const t = fieldTexts[view.locale];
  const rows = listOf(value);
  const count = shownRows(rows.length, name, view);
  return (
    <fieldset class="field-rows">
      <legend>{label}</legend>
      <input type="hidden" name={`${name}.rows`} value={String(count)} />
      <GroupError view={view} name={name} />
      {Array.from(
        { length: count },
        (_, i) => (
          <fieldset class="field-row" aria-label={`${label} ${i + 1}`}>
            <MemberFields
              view={view}
              within={`${name}.${i}`}
              members={row}
              value={objectOf(rows[i])}
            />
            {i < rows.length && <CheckboxField name={`${name}.${i}.remove`} label={t.remove} />}
          </fieldset>
        ),
      )}
      {count < maxFormRows && (
        <AgainButton value={name}>{name.endsWith(".tiers") ? t.addTier : t.addRow}</AgainButton>
      )}
    </fieldset>
  );
}

function FactorFields({ view, name, label, value, of }: FieldProps & {
  readonly of: "tiers" | "currencies";
}) {
  const t = fieldTexts[view.locale];
  const words = t.factors[of];
  const rows = Object.entries(objectOf(value));
  const count = shownRows(rows.length, name, view);
  const isAsked = view.extendedRows === name;
  return (
    <Fold view={view} name={name} label={label} isOpen={rows.length > 0 || isAsked}>
      <input type="hidden" name={`${name}.rows`} value={String(count)} />
      {Array.from({ length: count }, (_, i) => (
        <div class="fields">
          <TextField name={`${name}.${i}.name`} label={words.name} value={rows[i]?.[0]} />
          <TextField
            name={`${name}.${i}.value`}
            label={words.value}
            inputmode="decimal"
            value={plainText(rows[i]?.[1])}
            error={view.errors[`${name}.${i}.value`]}
          />
        </div>
      ))}
      {count < maxFormRows && <AgainButton value={name}>{t.addRow}</AgainButton>}
    </Fold>
  );
}

/** The words of the values of a choice between cases. */
function caseLabel(by: "unit" | "profile", value: string, locale: Locale): string {
  const t = fieldTexts[locale];
  if (by === "profile") return value === "" ? t.ownRules : t.ruleProfile(value);
  const unit: PriceUnit | undefined = priceUnits.find((one) => one === value);
  return unit === undefined ? t.noCost : t.units[unit];
}

/** A choice between cases, and what is written in it. */
interface CaseProps extends Omit<FieldProps, "label" | "usual"> {
  readonly shape: Extract<Shape, { readonly kind: "cases" }>;
}

/** The case that counts: the one that is written, or the first. */
export function chosenCase({ value, shape: { by, cases } }: Pick<CaseProps, "value" | "shape">) {
  const [first = ""] = Object.keys(cases);
  const written = plainText(objectOf(value)[by]);
  const name = Object.hasOwn(cases, written) ? written : first;
  return { name, members: cases[name] ?? {} };
}

/** The choice of a case. */
export function CaseSelect({ label, ...props }: CaseProps & { readonly label?: string }) {
  const { view: { locale, errors }, name, shape: { by, cases } } = props;
  return (
    <SelectField
      name={`${name}.${by}`}
      label={label ?? labelOf(by, locale)}
      value={chosenCase(props).name}
      options={Object.keys(cases).map((value) => ({
        value,
        label: caseLabel(by, value, locale),
      }))}
      error={errors[`${name}.${by}`]}
    />
  );
}

/** The button that shows the fields of a case that was chosen instead of another. */
export function CaseButton({ view: { locale } }: { readonly view: FormView }) {
  return <AgainButton value="fields">{fieldTexts[locale].showFields}</AgainButton>;
}

/** The choice of a case beside its button. */
export function CaseChoice(props: CaseProps) {
  return (
    <div class="case-choice">
      <CaseSelect {...props} />
      <CaseButton view={props.view} />
    </div>
  );
}

/** The choice of a case, and its fields. */
function CaseFields(props: CaseProps) {
  const { view, name, value } = props;
  const { members } = chosenCase(props);
  return (
    <>
      <CaseChoice {...props} />
      <MemberFields view={view} within={name} members={members} value={objectOf(value)} />
    </>
  );
}

/** A field, or a group of fields. */
export function ShapeFields({ shape, ...props }: FieldProps & { readonly shape: Shape }) {
  const { view, name, label, value, usual } = props;
  const isWritten = value !== undefined && plainText(value) === "" &&
    Object.keys(objectOf(value)).length > 0;
  switch (shape.kind) {
    case "group":
      return (
        <Fold view={view} name={name} label={label} isOpen={isWritten}>
          <MemberFields
            view={view}
            within={name}
            members={shape.members}
            value={objectOf(value)}
            usual={objectOf(usual)}
          />
        </Fold>
      );
    case "cases":
      return (
        <Fold view={view} name={name} label={label} isOpen={isWritten}>
          <CaseFields view={view} name={name} value={value} shape={shape} />
        </Fold>
      );
    case "rows":
      return <RowFields {...props} row={shape.row} />;
    case "factors":
      return <FactorFields {...props} of={shape.of} />;
    default:
      return <LeafField {...props} leaf={shape} />;
  }
}
