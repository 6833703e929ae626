/** The form of a model: what it is, its price, and its routes with their costs and capabilities. */
import type { Catalog } from "../../../../core/catalog/catalog.ts";
import { vnd } from "../../../../core/billing/rate_card.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";
import { resolveCapabilities } from "../../../../core/wire/contract/capabilities.ts";
import {
  Card,
  CheckboxField,
  PostForm,
  SelectField,
  SubmitButton,
} from "../../../dashboard/components/mod.ts";
import { parsedEntry, shownField } from "./entry_form.ts";
import { noProblems } from "./entry_problems.ts";
import { fieldLabels } from "./fields/labels.ts";
import { listOf, objectOf, plainText } from "./fields/reading.ts";
import { type FieldName, modelMembers, routeMembers, type Shape } from "./fields/shapes.ts";
import {
  AgainButton,
  CaseFields,
  type FormView,
  MemberFields,
  ShapeFields,
  shownRows,
} from "./fields/views.tsx";
import {
  EnterButton,
  type EntryFormProps,
  FormProblems,
  FormTarget,
  JsonForm,
  RemoveForm,
} from "./forms.tsx";
import { cataloguePath, catalogueTexts, previewPath } from "./texts.ts";

/** What the form of a model is shown with. */
export interface ModelFormProps extends EntryFormProps {
  readonly providers: readonly string[];
  /** The catalogue in force: what routes take where nothing is written, and the currencies of providers. */
  readonly catalog: Pick<Catalog, "find" | "providers">;
  /** The list that gets an empty row more. */
  readonly extendedRows?: string;
}

/** Members of a model that are shown apart from the others. */
const apart: readonly FieldName[] = ["price", "routes"];

/** Members of a route that are shown apart from the others. */
const routeApart: readonly FieldName[] = ["provider", "cost", "capabilities", "facts"];

/** What a route does where nothing is written, as JSON: that of its provider and style, as far as it serves already. */
function usualRoute(route: JsonObject, name: string, { catalog }: ModelFormProps): JsonObject {
  const provider = plainText(route["provider"]);
  const model = catalog.find(name);
  const served = model?.routes.find((one) =>
    one.provider === provider && one.upstreamModel === (plainText(route["model"]) || model.id)
  );
  const style = served?.style;
  const isChat = style === "messages" || style === "chat" || style === "responses" ||
    style === "gemini" || style === "converse";
  const capabilities = resolveCapabilities(isChat ? style : "chat", served?.capabilities ?? {});
  const usual = {
    priority: 0,
    weight: 1,
    countTokens: served?.countTokens ?? false,
    compactResponses: served?.compactsResponses ?? false,
    allow: [...served?.allow ?? []],
    capabilities: { image_edits: "form", ...capabilities },
  };
  return parsedEntry(JSON.stringify(usual)) ?? {};
}

/** The field of a route's provider, which is one of the catalogue. */
function ProviderField({ view, name, value, providers }: {
  readonly view: FormView;
  readonly name: string;
  readonly value: Json | undefined;
  readonly providers: readonly string[];
}) {
  const t = catalogueTexts[view.locale];
  const shown = plainText(value);
  const options = [
    ...(shown === "" ? [{ value: "", label: t.noProvider }] : []),
    ...providers.map((one) => ({ value: one, label: one })),
  ];
  return (
    <div class="fields">
      <SelectField
        name={name}
        label={fieldLabels[view.locale].provider}
        value={shown}
        error={view.errors[name]}
        options={options}
      />
    </div>
  );
}

/** The fields of one route. */
function RouteFields({ form, view, route, at, isNew }: {
  readonly form: ModelFormProps;
  readonly view: FormView;
  readonly route: JsonObject;
  readonly at: number;
  readonly isNew: boolean;
}) {
  const t = catalogueTexts[view.locale];
  const labels = fieldLabels[view.locale];
  const within = `routes.${at}`;
  const usual = usualRoute(route, form.name, form);
  const provider = form.catalog.providers[plainText(route["provider"])];
  const written = route["facts"] === undefined ? "capabilities" : "facts";
  const hasCapabilities = view.kind === "chat" || view.kind === "image" ||
    route[written] !== undefined;
  const part = (name: "cost" | "capabilities" | "facts", label: string, shape: Shape) => (
    <ShapeFields
      view={view}
      name={`${within}.${name}`}
      label={label}
      value={route[name]}
      usual={usual["capabilities"]}
      shape={shape}
    />
  );
  return (
    <fieldset class="field-rows">
      <legend>{t.route(at + 1)}</legend>
      <ProviderField
        view={view}
        name={`${within}.provider`}
        value={route["provider"]}
        providers={form.providers}
      />
      <MemberFields
        view={view}
        within={within}
        members={routeMembers}
        value={route}
        usual={usual}
        without={routeApart}
      />
      {part("cost", t.costIn(provider?.currency ?? vnd.code), routeMembers.cost)}
      {hasCapabilities && part(written, labels[written], routeMembers[written])}
      {!isNew && <CheckboxField name={`${within}.remove`} label={t.removeRoute} />}
    </fieldset>
  );
}

function RoutesCard({ form, view }: { readonly form: ModelFormProps; readonly view: FormView }) {
  const t = catalogueTexts[view.locale];
  const routes = listOf(form.entry["routes"]);
  const count = shownRows(routes.length, "routes", view);
  return (
    <Card title={t.routes}>
      <input type="hidden" name="routes.rows" value={String(count)} />
      {Array.from({ length: count }, (_, at) => (
        <RouteFields
          form={form}
          view={view}
          route={objectOf(routes[at])}
          at={at}
          isNew={at >= routes.length}
        />
      ))}
      <AgainButton value="routes">{t.addRoute}</AgainButton>
    </Card>
  );
}

/** The form of a model. */
export function ModelForm(form: ModelFormProps) {
  const { visitor, base, name, entry, problems = noProblems } = form;
  const { locale } = visitor;
  const t = catalogueTexts[locale];
  const view: FormView = {
    locale,
    kind: plainText(entry["kind"]),
    errors: problems.fields,
    extendedRows: form.extendedRows ?? "",
  };
  return (
    <>
      <FormProblems problems={problems} t={t} />
      <PostForm visitor={visitor} action={previewPath}>
        <EnterButton>{t.preview}</EnterButton>
        <FormTarget edit="model" name={name} base={base} />
        <input type="hidden" name={shownField} value={JSON.stringify(entry)} />
        <Card title={t.model}>
          <MemberFields
            view={view}
            within=""
            members={modelMembers}
            value={entry}
            without={apart}
          />
        </Card>
        <Card title={t.price}>
          <CaseFields view={view} name="price" value={entry["price"]} shape={modelMembers.price} />
        </Card>
        <RoutesCard form={form} view={view} />
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
