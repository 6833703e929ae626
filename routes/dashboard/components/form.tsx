/** Parts of forms. Label, hint and error are tied to each field for screen readers. */
import type { Child, PropsWithChildren } from "hono/jsx";
import { mayVisit } from "../page/page_acts.ts";
import { defineTexts, type Locale } from "../text/i18n.ts";
import type { Visitor } from "../page/visitor.ts";

// The support address in sentences that ask people to write to it.

/** A sentence that ends with the support address; nothing if the operator has configured none. */
export function AskSupport({ visitor, children }: { visitor: Visitor; children: Child }) {
  const { support } = visitor;
  if (support === undefined) return null;
  return (
    <>
      {children} <a href={support.href}>{support.text}</a>.
    </>
  );
}

/** The hidden field with the CSRF token, without which no form is accepted but that of preferences. */
export function CsrfField({ visitor }: { visitor: Visitor }) {
  if (visitor.csrfToken === undefined) return null;
  return <input type="hidden" name="csrf" value={visitor.csrfToken} />;
}

/** The name of the field of {@linkcode FormIdField}. */
export const formIdField = "form";

/**
 * The hidden id of a form, for acts that must happen once even if the form is sent twice, by a double click or a
 * reload. Read by `PostedForm.formId`.
 */
export function FormIdField() {
  return <input type="hidden" name={formIdField} value={crypto.randomUUID()} />;
}

export interface FormProps {
  readonly visitor: Visitor;
  readonly action: string;
  /** The question before the form is sent: in a dialog, or without script beside a box that has to be ticked. */
  readonly confirm?: string | undefined;
  readonly class?: string | undefined;
  readonly id?: string | undefined;
  readonly multipart?: boolean | undefined;
  /** `passkey.js` asks the browser for a passkey before it sends the form, which is hidden without it. */
  readonly passkey?: {
    readonly act: "create" | "get";
    readonly origin: string;
    /** Words for the errors of browsers, in JSON. */
    readonly words: string;
  } | undefined;
}

const notAllowed: Readonly<Record<Locale, string>> = {
  en: "Your role may look at this, and not change it.",
  vi: "Vai trò của bạn chỉ được xem, không được thay đổi phần này.",
};

/** A form that posts, with its CSRF field; a note in its place if the visitor's role does not allow it. */
export function PostForm(props: PropsWithChildren<FormProps>) {
  const { signedIn, locale } = props.visitor;
  if (!mayVisit(signedIn, props.action, "POST")) {
    return <p class="muted">{notAllowed[locale]}</p>;
  }
  return (
    <form
      method="post"
      action={props.action}
      class={props.class}
      id={props.id}
      enctype={props.multipart === true ? "multipart/form-data" : undefined}
      data-confirm={props.confirm}
      hidden={props.passkey !== undefined}
      data-passkey={props.passkey?.act}
      data-passkey-origin={props.passkey?.origin}
      data-passkey-words={props.passkey?.words}
    >
      <CsrfField visitor={props.visitor} />
      {props.confirm !== undefined && (
        <noscript>
          <label>
            <input type="checkbox" required /> {props.confirm}
          </label>
        </noscript>
      )}
      {props.children}
    </form>
  );
}

/** A form in a row of a table: one button that acts on the thing of the row, which it names to screen readers. */
export function RowForm(
  { field: [name, value], label, children, ...form }: PropsWithChildren<
    Pick<FormProps, "visitor" | "action" | "confirm"> & {
      /** The hidden field that names the thing. */
      readonly field: readonly [name: string, value: string];
      /** The act with the name of the thing; has the words of the button. */
      readonly label: string;
    }
  >,
) {
  return (
    <PostForm {...form}>
      <input type="hidden" name={name} value={value} />
      <button type="submit" class="outline secondary small" aria-label={label}>{children}</button>
    </PostForm>
  );
}

export interface FieldProps {
  readonly name: string;
  /** Needed only if another form of the page has a field of this name: ids must be unique, names need not be. */
  readonly id?: string | undefined;
  readonly label: string;
  readonly hint?: Child;
  readonly error?: string | undefined;
}

export interface TextFieldProps extends FieldProps {
  readonly type?:
    | "text"
    | "email"
    | "password"
    | "number"
    | "search"
    | "date"
    | "month"
    | "datetime-local";
  readonly value?: string | undefined;
  readonly autocomplete?: string;
  readonly required?: boolean;
  readonly autofocus?: boolean;
  readonly placeholder?: string;
  readonly inputmode?: "numeric" | "decimal" | "email" | "text";
  readonly maxlength?: number;
  readonly min?: string;
  /** The grain of a number or a time; `1` adds seconds to a time. */
  readonly step?: string;
  /** `app.js` fills the field with the token in the fragment of the address. */
  readonly tokenFromFragment?: boolean;
  /** Turns the field into a text area of this height. */
  readonly rows?: number;
}

/**
 * Returns what a field of a form shows: its label, what was typed, and what is wrong with it.
 *
 * @param labels the texts of the page, which have the labels by the names of the fields
 */
export function fieldsOf<Name extends string>(
  labels: Readonly<Record<NoInfer<Name>, string>>,
  values: Readonly<Record<Name, string | undefined>>,
  errors: Readonly<Partial<Record<Name, string>>>,
) {
  return (name: Name) => ({ name, label: labels[name], value: values[name], error: errors[name] });
}

function idOf({ id, name }: Pick<FieldProps, "id" | "name">): string {
  return id ?? name;
}

function describedBy(props: Omit<FieldProps, "label">): string | undefined {
  const ids = [
    props.error === undefined ? undefined : `${idOf(props)}-error`,
    props.hint === undefined ? undefined : `${idOf(props)}-hint`,
  ].filter((id) => id !== undefined);
  return ids.length === 0 ? undefined : ids.join(" ");
}

/** Hint and error under a field. */
function FieldNotes(props: Omit<FieldProps, "label">) {
  return (
    <>
      {props.error !== undefined && (
        <small class="field-error" id={`${idOf(props)}-error`}>{props.error}</small>
      )}
      {props.hint !== undefined && <small id={`${idOf(props)}-hint`}>{props.hint}</small>}
    </>
  );
}

/** A labelled text field or text area. */
export function TextField(props: TextFieldProps) {
  const shared = {
    id: idOf(props),
    name: props.name,
    required: props.required,
    placeholder: props.placeholder,
    maxlength: props.maxlength,
    autofocus: props.autofocus,
    autocomplete: props.autocomplete,
    "aria-invalid": props.error === undefined ? undefined : "true",
    "aria-describedby": describedBy(props),
  } as const;
  return (
    <div class="field">
      <label for={idOf(props)}>{props.label}</label>
      {props.rows !== undefined
        ? <textarea {...shared} rows={props.rows}>{props.value}</textarea>
        : (
          <input
            {...shared}
            type={props.type ?? "text"}
            value={props.value}
            inputmode={props.inputmode}
            min={props.min}
            step={props.step}
            data-token-from-fragment={props.tokenFromFragment === true ? "" : undefined}
          />
        )}
      <FieldNotes {...props} />
    </div>
  );
}

/** A required password field, for the current or a new password. */
export function PasswordField(
  { of, ...field }: FieldProps & { readonly of: "now" | "future"; readonly autofocus?: boolean },
) {
  const autocomplete = of === "now" ? "current-password" : "new-password";
  return <TextField {...field} type="password" autocomplete={autocomplete} required />;
}

/** A required file field; `accept` names the kinds that the browser offers. */
export function FileField(
  { name, label, accept }: Pick<FieldProps, "name" | "label"> & { readonly accept: string },
) {
  return (
    <div class="field">
      <label for={name}>{label}</label>
      <input type="file" id={name} name={name} accept={accept} required />
    </div>
  );
}

export interface SelectFieldProps extends FieldProps {
  readonly value?: string | undefined;
  readonly options: readonly { readonly value: string; readonly label: string }[];
  /** The options are values of the API or of a file, the same in each language. */
  readonly isCode?: true;
}

/** A labelled choice among options. */
export function SelectField(props: SelectFieldProps) {
  return (
    <div class="field">
      <label for={idOf(props)}>{props.label}</label>
      <select
        id={idOf(props)}
        name={props.name}
        translate={props.isCode === true ? "no" : undefined}
        aria-invalid={props.error === undefined ? undefined : "true"}
        aria-describedby={describedBy(props)}
      >
        {props.options.map(({ value, label }) => (
          <option value={value} selected={value === props.value}>{label}</option>
        ))}
      </select>
      <FieldNotes {...props} />
    </div>
  );
}

/** A labelled checkbox. */
export function CheckboxField(
  props: Omit<FieldProps, "label"> & {
    readonly label: Child;
    readonly checked?: boolean;
    readonly value?: string;
    readonly disabled?: boolean;
  },
) {
  return (
    <div class="field field-check">
      <label>
        <input
          type="checkbox"
          name={props.name}
          value={props.value ?? "yes"}
          checked={props.checked === true}
          disabled={props.disabled === true}
          aria-describedby={describedBy(props)}
        />
        {props.label}
      </label>
      <FieldNotes {...props} />
    </div>
  );
}

const saveTexts = defineTexts({
  en: {
    wrong: (count: number) =>
      count === 1 ? "1 field needs attention" : `${count} fields need attention`,
    one: "1 change not saved",
    many: "{n} changes not saved",
    discard: "Discard",
    save: "Save",
  },
  vi: {
    wrong: (count) => `${count} ô cần sửa`,
    one: "1 thay đổi chưa lưu",
    many: "{n} thay đổi chưa lưu",
    discard: "Bỏ thay đổi",
    save: "Lưu",
  },
});

/**
 * The end of a form whose fields are saved together. `app.js` counts what has changed; until it is saved or discarded,
 * the bar stays in sight.
 */
export function SaveBar({ wrong, locale }: {
  /** Number of fields that were refused. */
  readonly wrong: number;
  readonly locale: Locale;
}) {
  const t = saveTexts[locale];
  return (
    <div class={wrong > 0 ? "save-bar changed" : "save-bar"} data-one={t.one} data-many={t.many}>
      {wrong > 0 && <strong class="badge bad">{t.wrong(wrong)}</strong>}
      <span class="muted" role="status"></span>
      <button type="reset" class="outline secondary">{t.discard}</button>
      <SubmitButton>{t.save}</SubmitButton>
    </div>
  );
}

/** The importance of a button: the main act, an ordinary one, or one that cannot be undone. */
export type ButtonTone = "primary" | "plain" | "danger";

/** The button that sends a form. */
export function SubmitButton(
  props: PropsWithChildren<{
    tone?: ButtonTone;
    name?: string;
    value?: string;
    small?: boolean;
    /** The browser sends the form as it is, also without what is required. */
    isUnchecked?: boolean;
  }>,
) {
  const tone = props.tone ?? "primary";
  const classes = [tone === "plain" ? "outline secondary" : tone, props.small ? "small" : ""];
  return (
    <button
      type="submit"
      class={classes.join(" ").trim()}
      name={props.name}
      value={props.value}
      formnovalidate={props.isUnchecked}
    >
      {props.children}
    </button>
  );
}
