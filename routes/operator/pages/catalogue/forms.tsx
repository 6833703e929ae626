/** The forms of models, providers and settings: fields for what is usual, and the whole entry as JSON. */
import { priceProblem } from "../../../../core/billing/money/read_amount.ts";
import { presetNames } from "../../../../core/catalog/presets/presets.ts";
import { modelSchema } from "../../../../core/catalog/schema.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import {
  Card,
  CheckboxField,
  Notice,
  PostForm,
  SelectField,
  SubmitButton,
  TextField,
} from "../../../dashboard/components/mod.ts";
import type { Visitor } from "../../../dashboard/page/visitor.ts";
import { isPriceUnit, type PriceField, priceFields, type PriceUnit } from "./entry_form.ts";
import { type EntryProblems, noProblems } from "./entry_problems.ts";
import { KeySourceField, type OfferedKey } from "./key_source.tsx";
import { cataloguePath, type CatalogueTexts, catalogueTexts, previewPath } from "./texts.ts";

/** Lines of the field for an entry as JSON. */
const jsonRows = 18;

function textOf(value: Json | undefined): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}

function listText(value: Json | undefined): string {
  return Array.isArray(value) ? value.map(textOf).join(", ") : textOf(value);
}

/** What a form is about, and the version that its author sees. */
function FormTarget({ edit, name, base }: { edit: string; name: string; base: number }) {
  return (
    <>
      <input type="hidden" name="edit" value={edit} />
      <input type="hidden" name="name" value={name} />
      <input type="hidden" name="base" value={String(base)} />
    </>
  );
}

/** What all forms are told. */
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

/** What is wrong and has no field in the form, and that something is. */
function FormProblems({ problems, t }: { problems: EntryProblems; t: CatalogueTexts }) {
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
    /** What was typed in place of an entry, and is none. */
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
function RemoveForm({ visitor, base, name, edit, label }: Omit<EntryFormProps, "entry"> & {
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

const allPriceFields: readonly PriceField[] = [
  "vndPerMtok",
  "outputVndPerMtok",
  "cacheReadVndPerMtok",
  "cacheWriteVndPerMtok",
  "vnd",
  "vndPerMinute",
];

/** A price with a fourth decimal where three could be read as thousands, so that the form takes it back. */
function clearPrice(text: string): string {
  return priceProblem(text) === undefined ? text : `${text}0`;
}

function PriceFields({ price, errors, t }: {
  price: JsonObject;
  errors: EntryProblems["fields"];
  t: CatalogueTexts;
}) {
  const unit = textOf(price["unit"]);
  const known: PriceUnit = isPriceUnit(unit) ? unit : "token";
  const shown: readonly PriceField[] = unit === "" ? allPriceFields : priceFields[known];
  const units = Object.keys(priceFields).filter(isPriceUnit);
  return (
    <Card title={t.price}>
      <div class="fields">
        <SelectField
          name="unit"
          label={t.unit}
          value={known}
          options={units.map((value) => ({ value, label: t.units[value] }))}
        />
        {shown.map((field) => (
          <TextField
            name={`price.${field}`}
            label={t.prices[field]}
            inputmode="decimal"
            value={errors[`price.${field}`] === undefined
              ? clearPrice(textOf(price[field]))
              : textOf(price[field])}
            error={errors[`price.${field}`]}
          />
        ))}
      </div>
      {unit === "" && <p class="muted">{t.pricesHint}</p>}
    </Card>
  );
}

function RouteFields({ route, at, isNew, providers, errors, t }: {
  readonly route: JsonObject;
  readonly at: number;
  readonly isNew: boolean;
  readonly providers: readonly string[];
  readonly errors: EntryProblems["fields"];
  readonly t: CatalogueTexts;
}) {
  const name = (field: string) => `route${at}.${field}`;
  const error = (field: string) => errors[name(field)];
  return (
    <fieldset>
      <legend>{isNew ? t.newRoute : t.route(at + 1)}</legend>
      <div class="fields">
        <SelectField
          name={name("provider")}
          label={t.routeProvider}
          value={textOf(route["provider"])}
          error={error("provider")}
          options={[
            ...(isNew ? [{ value: "", label: t.noProvider }] : []),
            ...providers.map((value) => ({ value, label: value })),
          ]}
        />
        <TextField
          name={name("model")}
          label={t.upstream}
          value={textOf(route["model"])}
          error={error("model")}
        />
        <TextField
          name={name("style")}
          label={t.style}
          placeholder={t.byProvider}
          value={listText(route["style"])}
          error={error("style")}
        />
        <TextField
          name={name("priority")}
          label={t.priority}
          inputmode="numeric"
          placeholder="0"
          value={textOf(route["priority"])}
          error={error("priority")}
        />
        <TextField
          name={name("weight")}
          label={t.weight}
          inputmode="decimal"
          placeholder="1"
          value={textOf(route["weight"])}
          error={error("weight")}
        />
      </div>
      {!isNew && <CheckboxField name={name("remove")} label={t.removeRoute} />}
    </fieldset>
  );
}

function RoutesCard({ routes, providers, errors, t }: {
  readonly routes: Json | undefined;
  readonly providers: readonly string[];
  readonly errors: EntryProblems["fields"];
  readonly t: CatalogueTexts;
}) {
  const written = Array.isArray(routes) ? routes : [];
  return (
    <Card title={t.routes}>
      {[...written, {}].map((route, at) => (
        <RouteFields
          route={isJsonObject(route) ? route : {}}
          at={at}
          isNew={at === written.length}
          providers={providers}
          errors={errors}
          t={t}
        />
      ))}
    </Card>
  );
}

/** The form of a model. */
export function ModelForm(
  { visitor, base, name, entry, providers, problems = noProblems }: EntryFormProps & {
    readonly providers: readonly string[];
  },
) {
  const t = catalogueTexts[visitor.locale];
  const { price } = entry;
  const errors = problems.fields;
  const kinds = modelSchema.shape.kind.options;
  return (
    <>
      <FormProblems problems={problems} t={t} />
      <PostForm visitor={visitor} action={previewPath}>
        <FormTarget edit="model" name={name} base={base} />
        <Card title={t.model}>
          <div class="fields">
            <TextField
              name="id"
              label={t.id}
              required
              value={textOf(entry["id"])}
              error={errors["id"]}
            />
            <TextField
              name="displayName"
              label={t.displayName}
              value={textOf(entry["displayName"])}
              error={errors["displayName"]}
            />
            <TextField
              name="family"
              label={t.family}
              required
              value={textOf(entry["family"])}
              error={errors["family"]}
            />
            <SelectField
              name="kind"
              label={t.kind}
              value={textOf(entry["kind"])}
              options={kinds.map((value) => ({ value, label: value }))}
            />
            <TextField
              name="contextWindow"
              label={t.context}
              inputmode="numeric"
              value={textOf(entry["contextWindow"])}
              error={errors["contextWindow"]}
            />
            <TextField
              name="maxOutputTokens"
              label={t.output}
              inputmode="numeric"
              value={textOf(entry["maxOutputTokens"])}
              error={errors["maxOutputTokens"]}
            />
            <TextField
              name="aliases"
              label={t.aliases}
              value={listText(entry["aliases"])}
              error={errors["aliases"]}
            />
          </div>
          <CheckboxField name="vision" label={t.vision} checked={entry["vision"] === true} />
        </Card>
        <PriceFields
          price={price !== undefined && isJsonObject(price) ? price : {}}
          errors={errors}
          t={t}
        />
        <RoutesCard routes={entry["routes"]} providers={providers} errors={errors} t={t} />
        <Card>
          <div class="actions">
            <SubmitButton>{t.preview}</SubmitButton>
            <a href={cataloguePath} class="button outline secondary" role="button">{t.back}</a>
          </div>
        </Card>
      </PostForm>
      <JsonForm visitor={visitor} base={base} name={name} entry={entry} edit="model" />
      <RemoveForm visitor={visitor} base={base} name={name} edit="model" label={t.removeModel} />
    </>
  );
}

/** The form of a provider. */
export function ProviderForm(
  { visitor, base, name, entry, newName, storedKeys, problems = noProblems }: EntryFormProps & {
    /** The typed name of a new one. */
    readonly newName?: string;
    readonly storedKeys: readonly OfferedKey[];
  },
) {
  const t = catalogueTexts[visitor.locale];
  const kind = textOf(entry["kind"]) || "http";
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
              value={textOf(entry["preset"])}
              options={[
                { value: "", label: t.noPreset },
                ...presetNames.map((value) => ({ value, label: value })),
              ]}
            />
            <TextField
              name="baseUrl"
              label={t.baseUrl}
              value={textOf(entry["baseUrl"])}
              error={errors["baseUrl"]}
            />
            <TextField
              name="region"
              label={t.region}
              value={textOf(entry["region"])}
              error={errors["region"]}
            />
            <KeySourceField
              entry={entry}
              storedKeys={storedKeys}
              error={errors["apiKeyVault"]}
              locale={visitor.locale}
            />
            <TextField
              name="apiKeyEnv"
              label={t.keys}
              hint={t.keysHint}
              value={listText(entry["apiKeyEnv"])}
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
  { visitor, base, entry, models, problems = noProblems }: Omit<EntryFormProps, "name"> & {
    readonly models: readonly string[];
  },
) {
  const t = catalogueTexts[visitor.locale];
  const errors = problems.fields;
  return (
    <>
      <FormProblems problems={problems} t={t} />
      <PostForm visitor={visitor} action={previewPath}>
        <FormTarget edit="settings" name="" base={base} />
        <Card title={t.settings}>
          <div class="fields">
            <SelectField
              name="defaultModel"
              label={t.defaultModel}
              value={textOf(entry["defaultModel"])}
              options={models.map((value) => ({ value, label: value }))}
            />
            <SelectField
              name="webSearchModel"
              label={t.webSearchModel}
              value={textOf(entry["webSearchModel"])}
              options={[
                { value: "", label: t.noWebSearchModel },
                ...models.map((value) => ({ value, label: value })),
              ]}
            />
            <TextField
              name="listRate"
              label={t.listRate}
              inputmode="numeric"
              value={textOf(entry["listRate"])}
              error={errors["listRate"]}
            />
          </div>
          <div class="actions">
            <SubmitButton>{t.preview}</SubmitButton>
          </div>
        </Card>
      </PostForm>
      <JsonForm visitor={visitor} base={base} name="" entry={entry} edit="settings" />
    </>
  );
}
