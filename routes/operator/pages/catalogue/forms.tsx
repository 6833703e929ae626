/** The forms of models, providers and settings: fields for what is usual, and the whole entry as JSON. */
import { priceProblem } from "../../../../core/billing/money/read_amount.ts";
import { presetNames } from "../../../../core/catalog/presets/presets.ts";
import { modelSchema } from "../../../../core/catalog/schema.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import {
  Card,
  CheckboxField,
  PostForm,
  SelectField,
  SubmitButton,
  TextField,
} from "../../../dashboard/components/mod.ts";
import type { Visitor } from "../../../dashboard/page/visitor.ts";
import { isPriceUnit, type PriceField, priceFields, type PriceUnit } from "./entry_form.ts";
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
  readonly entry: JsonObject;
}

/** The whole entry as JSON, in a form of its own. */
export function JsonForm(
  { visitor, base, name, entry, edit, open = false }: EntryFormProps & {
    readonly edit: string;
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
            value={JSON.stringify(entry, undefined, 2)}
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

function PriceFields({ price, t }: { price: JsonObject; t: CatalogueTexts }) {
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
            value={clearPrice(textOf(price[field]))}
          />
        ))}
      </div>
      {unit === "" && <p class="muted">{t.pricesHint}</p>}
    </Card>
  );
}

function RouteFields({ route, at, isNew, providers, t }: {
  readonly route: JsonObject;
  readonly at: number;
  readonly isNew: boolean;
  readonly providers: readonly string[];
  readonly t: CatalogueTexts;
}) {
  const name = (field: string) => `route${at}.${field}`;
  return (
    <fieldset>
      <legend>{isNew ? t.newRoute : t.route(at + 1)}</legend>
      <div class="fields">
        <SelectField
          name={name("provider")}
          label={t.routeProvider}
          value={textOf(route["provider"])}
          options={[
            ...(isNew ? [{ value: "", label: t.noProvider }] : []),
            ...providers.map((value) => ({ value, label: value })),
          ]}
        />
        <TextField name={name("model")} label={t.upstream} value={textOf(route["model"])} />
        <TextField
          name={name("style")}
          label={t.style}
          placeholder={t.byProvider}
          value={listText(route["style"])}
        />
        <TextField
          name={name("priority")}
          label={t.priority}
          inputmode="numeric"
          placeholder="0"
          value={textOf(route["priority"])}
        />
        <TextField
          name={name("weight")}
          label={t.weight}
          inputmode="decimal"
          placeholder="1"
          value={textOf(route["weight"])}
        />
      </div>
      {!isNew && <CheckboxField name={name("remove")} label={t.removeRoute} />}
    </fieldset>
  );
}

function RoutesCard({ routes, providers, t }: {
  readonly routes: Json | undefined;
  readonly providers: readonly string[];
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
          t={t}
        />
      ))}
    </Card>
  );
}

/** The form of a model. */
export function ModelForm(
  { visitor, base, name, entry, providers }: EntryFormProps & {
    readonly providers: readonly string[];
  },
) {
  const t = catalogueTexts[visitor.locale];
  const { price } = entry;
  const kinds = modelSchema.shape.kind.options;
  return (
    <>
      <PostForm visitor={visitor} action={previewPath}>
        <FormTarget edit="model" name={name} base={base} />
        <Card title={t.model}>
          <div class="fields">
            <TextField name="id" label={t.id} required value={textOf(entry["id"])} />
            <TextField
              name="displayName"
              label={t.displayName}
              value={textOf(entry["displayName"])}
            />
            <TextField name="family" label={t.family} required value={textOf(entry["family"])} />
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
            />
            <TextField
              name="maxOutputTokens"
              label={t.output}
              inputmode="numeric"
              value={textOf(entry["maxOutputTokens"])}
            />
            <TextField name="aliases" label={t.aliases} value={listText(entry["aliases"])} />
          </div>
          <CheckboxField name="vision" label={t.vision} checked={entry["vision"] === true} />
        </Card>
        <PriceFields price={price !== undefined && isJsonObject(price) ? price : {}} t={t} />
        <RoutesCard routes={entry["routes"]} providers={providers} t={t} />
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
export function ProviderForm({ visitor, base, name, entry }: EntryFormProps) {
  const t = catalogueTexts[visitor.locale];
  const kind = textOf(entry["kind"]) || "http";
  return (
    <>
      <PostForm visitor={visitor} action={previewPath}>
        <FormTarget edit="provider" name={name} base={base} />
        <Card title={name === "" ? t.addProvider : name}>
          <div class="fields">
            {name === "" && <TextField name="newName" label={t.id} required />}
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
            <TextField name="baseUrl" label={t.baseUrl} value={textOf(entry["baseUrl"])} />
            <TextField name="region" label={t.region} value={textOf(entry["region"])} />
            <TextField
              name="apiKeyEnv"
              label={t.keys}
              hint={t.keysHint}
              value={listText(entry["apiKeyEnv"])}
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
export function SettingsForm({ visitor, base, entry, models }: Omit<EntryFormProps, "name"> & {
  readonly models: readonly string[];
}) {
  const t = catalogueTexts[visitor.locale];
  return (
    <>
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
