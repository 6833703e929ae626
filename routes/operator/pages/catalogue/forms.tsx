/** The forms of providers and settings: fields for what is usual; and any entry as JSON. */
import type { Child } from "hono/jsx";
import { presetNames } from "../../../../core/catalog/presets/presets.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import {
  Card,
  Notice,
  PostForm,
  SelectField,
  SubmitButton,
  TextField,
} from "../../../dashboard/components/mod.ts";
import type { Visitor } from "../../../dashboard/page/visitor.ts";
import { fieldTexts } from "./fields/labels.ts";
import { plainText } from "./fields/reading.ts";
import { settingsMembers } from "./fields/shapes.ts";
import { MemberFields } from "./fields/views.tsx";
import { type EntryProblems, noProblems } from "./entry_problems.ts";
import { KeySourceField, type OfferedKey } from "./key_source.tsx";
import { type CatalogueTexts, catalogueTexts, previewPath } from "./texts.ts";

/** Lines of the field for an entry as JSON. */
const jsonRows = 18;

/** Target of a form, and the version that its author sees. */
export function FormTarget({ edit, name, base }: { edit: string; name: string; base: number }) {
  return (
    <>
      <input type="hidden" name="edit" value={edit} />
      <input type="hidden" name="name" value={name} />
      <input type="hidden" name="base" value={String(base)} />
    </>
  );
}

/** Facts that all forms are told. */
export interface EntryFormProps {
  readonly visitor: Visitor;
  /** The newest version. */
  readonly base: number;
  /** Name of the entry; empty for a new one. */
  readonly name: string;
  /** As it is in force, or as it was typed. */
  readonly entry: JsonObject;
  readonly problems?: EntryProblems;
}

/** The button that the Enter key presses, the first one of a form: before those that only show more fields. */
export function EnterButton({ children }: { children: Child }) {
  return <button type="submit" hidden>{children}</button>;
}

/** Problems that have no field in the form, and the notice that there are some. */
export function FormProblems({ problems, t }: { problems: EntryProblems; t: CatalogueTexts }) {
  const { fields, others } = problems;
  if (others.length === 0 && Object.keys(fields).length === 0) return null;
  return (
    <Notice tone="danger" title={t.problems}>
      {others.length === 0
        ? <p>{t.seeFields}</p>
        : <ul>{others.map((problem) => <li key={problem}>{problem}</li>)}</ul>}
    </Notice>
  );
}

/** The whole entry as JSON, in a form of its own. */
export function JsonForm(
  { visitor, base, name, entry, edit, typed, open = false }: EntryFormProps & {
    readonly edit: string;
    /** Text that was typed in place of an entry, and is none. */
    readonly typed?: string | undefined;
    readonly open?: boolean;
  },
) {
  const t = catalogueTexts[visitor.locale];
  return (
    <Card>
      <details open={open}>
        <summary>{t.asJson}</summary>
        <p class="muted">{t.asJsonText}</p>
        <PostForm visitor={visitor} action={previewPath}>
          <FormTarget edit={edit} name={name} base={base} />
          {edit === "provider" && name === "" && (
            <TextField name="newName" id="json-name" label={t.id} required />
          )}
          <TextField
            name="json"
            label={t.json}
            rows={jsonRows}
            value={typed ?? JSON.stringify(entry, undefined, 2)}
            error={typed === undefined ? undefined : t.notJson}
          />
          <SubmitButton tone="plain">{t.preview}</SubmitButton>
        </PostForm>
      </details>
    </Card>
  );
}

/** Removes the entry, by way of the preview. */
export function RemoveForm({ visitor, base, name, edit, label }: Omit<EntryFormProps, "entry"> & {
  readonly edit: string;
  readonly label: string;
}) {
  if (name === "") return null;
  return (
    <PostForm visitor={visitor} action={previewPath}>
      <FormTarget edit={edit} name={name} base={base} />
      <input type="hidden" name="remove" value="yes" />
      <SubmitButton tone="danger">{label}</SubmitButton>
    </PostForm>
  );
}

/** The form of a provider. */
export function ProviderForm(
  { visitor, base, name, entry, newName, currencies, storedKeys, problems = noProblems }:
    & EntryFormProps
    & {
      /** The codes of the currencies that have a rate. */
      readonly currencies: readonly string[];
      /** The typed name of a new one. */
      readonly newName?: string;
      readonly storedKeys: readonly OfferedKey[];
    },
) {
  const t = catalogueTexts[visitor.locale];
  const kind = plainText(entry["kind"]) || "http";
  const errors = problems.fields;
  return (
    <>
      <FormProblems problems={problems} t={t} />
      <PostForm visitor={visitor} action={previewPath}>
        <FormTarget edit="provider" name={name} base={base} />
        <Card title={name === "" ? t.addProvider : name}>
          <div class="fields">
            {name === "" && (
              <TextField
                name="newName"
                label={t.id}
                required
                value={newName}
                error={errors["newName"]}
              />
            )}
            <SelectField
              name="kind"
              label={t.kind}
              value={kind}
              options={["http", "sandbox"].map((value) => ({ value, label: value }))}
            />
            <SelectField
              name="preset"
              label={t.preset}
              isCode
              value={plainText(entry["preset"])}
              options={[
                { value: "", label: t.noPreset },
                ...presetNames.map((value) => ({ value, label: value })),
              ]}
            />
            <TextField
              name="baseUrl"
              label={t.baseUrl}
              value={plainText(entry["baseUrl"])}
              error={errors["baseUrl"]}
            />
            <TextField
              name="region"
              label={t.region}
              value={plainText(entry["region"])}
              error={errors["region"]}
            />
            <KeySourceField
              entry={entry}
              storedKeys={storedKeys}
              error={errors["apiKeyVault"]}
              locale={visitor.locale}
            />
            <SelectField
              name="currency"
              label={t.currency}
              value={plainText(entry["currency"])}
              options={[
                { value: "", label: fieldTexts[visitor.locale].byDefaultOf("VND") },
                ...[...new Set([...currencies, plainText(entry["currency"])])]
                  .filter((value) => value !== "")
                  .map((value) => ({ value, label: value })),
              ]}
              error={errors["currency"]}
            />
            <TextField
              name="apiKeyEnv"
              label={t.keys}
              hint={t.keysHint}
              value={plainText(entry["apiKeyEnv"])}
              error={errors["apiKeyEnv"]}
            />
          </div>
          <div class="actions">
            <SubmitButton>{t.preview}</SubmitButton>
          </div>
        </Card>
      </PostForm>
      <JsonForm visitor={visitor} base={base} name={name} entry={entry} edit="provider" />
      <RemoveForm
        visitor={visitor}
        base={base}
        name={name}
        edit="provider"
        label={t.removeProvider}
      />
    </>
  );
}

/** The form of what is neither model nor provider. */
export function SettingsForm(
  { visitor, base, entry, models, problems = noProblems, extendedRows = "" }:
    & Omit<EntryFormProps, "name">
    & {
      readonly models: readonly string[];
      /** The list that gets an empty row more. */
      readonly extendedRows?: string;
    },
) {
  const t = catalogueTexts[visitor.locale];
  const errors = problems.fields;
  return (
    <>
      <FormProblems problems={problems} t={t} />
      <PostForm visitor={visitor} action={previewPath}>
        <EnterButton>{t.preview}</EnterButton>
        <FormTarget edit="settings" name="" base={base} />
        <Card title={t.settings}>
          <div class="fields">
            <SelectField
              name="defaultModel"
              label={t.defaultModel}
              value={plainText(entry["defaultModel"])}
              options={models.map((value) => ({ value, label: value }))}
            />
            <SelectField
              name="webSearchModel"
              label={t.webSearchModel}
              value={plainText(entry["webSearchModel"])}
              options={[
                { value: "", label: t.noWebSearchModel },
                ...models.map((value) => ({ value, label: value })),
              ]}
            />
            <TextField
              name="listRate"
              label={t.listRate}
              inputmode="numeric"
              value={plainText(entry["listRate"])}
              error={errors["listRate"]}
            />
          </div>
          <MemberFields
            view={{ locale: visitor.locale, kind: "", errors, extendedRows }}
            within=""
            members={settingsMembers}
            value={entry}
          />
          <div class="actions">
            <SubmitButton>{t.preview}</SubmitButton>
          </div>
        </Card>
      </PostForm>
      <JsonForm visitor={visitor} base={base} name="" entry={entry} edit="settings" />
    </>
  );
}
