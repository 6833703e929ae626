/** The form of a model: what it is, its price, and its routes with their costs and capabilities. */
import type { PropsWithChildren } from "hono/jsx";
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
import { fieldLabels, type FieldName } from "./fields/labels.ts";
import { listOf, objectOf, plainText } from "./fields/reading.ts";
import { modelMembers, routeMembers } from "./fields/shapes.ts";
import {
  AgainButton,
  CaseButton,
  CaseChoice,
  CaseSelect,
  chosenCase,
  type FormView,
  GroupError,
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
import type { TypedMargins } from "./effect/typed_margins.ts";
import { matrixCosts, matrixPrices, PriceMatrix, type RouteColumn } from "./price_matrix.tsx";
import { cataloguePath, catalogueTexts, marginsPath, previewPath } from "./texts.ts";

/** Facts that the form of a model is shown with. */
export interface ModelFormProps extends EntryFormProps {
  readonly providers: readonly string[];
  /** The catalogue in force: what routes take where nothing is written, and the currencies of providers. */
  readonly catalog: Pick<Catalog, "find" | "providers">;
  /** The margins of the entry. */
  readonly margins: TypedMargins;
  /** The list that gets an empty row more. */
  readonly extendedRows?: string;
}

/** Members of a model that are shown apart from the others. */
const apart: readonly FieldName[] = ["price", "routes"];

/** Members of a route that are always in sight. */
const routeUsual = ["model", "style", "priority", "weight"] as const;

/** Members of a route that are shown apart from the seldom ones. */
const routeApart: readonly FieldName[] = [
  ...routeUsual,
  "provider",
  "cost",
  "capabilities",
  "facts",
];

/**
 * Settings of a route where nothing is written, as JSON: those of its provider and style, as far as it serves already.
 */
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
    <SelectField
      name={name}
      label={fieldLabels[view.locale].provider}
      value={shown}
      error={view.errors[name]}
      options={options}
    />
  );
}

/** Whether a group of fields that folds is open: something in it is wrong, or has just been asked for. */
function isInUse(
  { errors, extendedRows }: FormView,
  isInside: (name: string) => boolean,
): boolean {
  return [extendedRows, ...Object.keys(errors)].some((name) => name !== "" && isInside(name));
}

interface RouteProps {
  readonly form: ModelFormProps;
  readonly view: FormView;
  readonly route: JsonObject;
  readonly at: number;
}

/** The members of a route's cost that are not in the matrix. */
function OtherCosts({ form, view, route, at }: RouteProps) {
  const { members } = chosenCase({ value: route["cost"], shape: routeMembers.cost });
  return (
    <MemberFields
      view={view}
      within={`routes.${at}.cost`}
      members={members}
      value={objectOf(route["cost"])}
      without={matrixCosts(form.entry["price"], route["cost"])}
    />
  );
}

/** Fields of a route that are seldom written, folded away. */
function SeldomFields(props: RouteProps) {
  const { form, view, route, at } = props;
  const labels = fieldLabels[view.locale];
  const within = `routes.${at}`;
  const usual = usualRoute(route, form.name, form);
  const inMatrix = matrixCosts(form.entry["price"], route["cost"]);
  const inSight = new Set([
    ...[...routeUsual, "provider", "cost", "cost.unit"].map((name) => `${within}.${name}`),
    ...inMatrix.map((name) => `${within}.cost.${name}`),
  ]);
  const written = route["facts"] === undefined ? "capabilities" : "facts";
  const hasCapabilities = view.kind === "chat" || view.kind === "image" ||
    route[written] !== undefined;
  return (
    <details
      class="field-group"
      open={isInUse(view, (name) => name.startsWith(`${within}.`) && !inSight.has(name))}
    >
      <summary>{catalogueTexts[view.locale].moreOfRoute}</summary>
      <MemberFields
        view={view}
        within={within}
        members={routeMembers}
        value={route}
        usual={usual}
        without={routeApart}
      />
      {inMatrix.length > 0 && <OtherCosts {...props} />}
      {hasCapabilities && (
        <ShapeFields
          view={view}
          name={`${within}.${written}`}
          label={labels[written]}
          value={route[written]}
          usual={usual["capabilities"]}
          shape={routeMembers[written]}
        />
      )}
    </details>
  );
}

/** The fields of one route. */
function RouteFields({ isNew, ...props }: RouteProps & { readonly isNew: boolean }) {
  const { form, view, route, at } = props;
  const t = catalogueTexts[view.locale];
  const within = `routes.${at}`;
  const usual = usualRoute(route, form.name, form);
  return (
    <fieldset class="field-rows route-card">
      <legend>{t.route(at + 1)}</legend>
      <div class="fields">
        <ProviderField
          view={view}
          name={`${within}.provider`}
          value={route["provider"]}
          providers={form.providers}
        />
        {routeUsual.map((name) => (
          <ShapeFields
            view={view}
            name={`${within}.${name}`}
            label={fieldLabels[view.locale][name]}
            value={route[name]}
            usual={usual[name]}
            shape={routeMembers[name]}
          />
        ))}
        <CaseSelect
          view={view}
          name={`${within}.cost`}
          label={t.costIn(currencyOf(form, route))}
          value={route["cost"]}
          shape={routeMembers.cost}
        />
      </div>
      <GroupError view={view} name={`${within}.cost`} />
      {matrixCosts(form.entry["price"], route["cost"]).length === 0 && <OtherCosts {...props} />}
      <SeldomFields {...props} />
      <div class="route-end">
        <CaseButton view={view} />
        {!isNew && <CheckboxField name={`${within}.remove`} label={t.removeRoute} />}
      </div>
    </fieldset>
  );
}

/** The currency in which the provider of a route charges. */
function currencyOf({ catalog }: ModelFormProps, route: JsonObject): string {
  return catalog.providers[plainText(route["provider"])]?.currency ?? vnd.code;
}

/** The routes of the form: those that are written, and a row to fill in where there is none or one was asked for. */
function shownRoutes({ entry }: ModelFormProps, view: FormView): readonly JsonObject[] {
  const routes = listOf(entry["routes"]);
  const length = shownRows(routes.length, "routes", view);
  return Array.from({ length }, (_, at) => objectOf(routes[at]));
}

function PriceCard({ form, view }: { readonly form: ModelFormProps; readonly view: FormView }) {
  const price = { value: form.entry["price"], shape: modelMembers.price };
  const columns = shownRoutes(form, view).map((route, at): RouteColumn => ({
    at,
    route,
    currency: currencyOf(form, route),
  }));
  return (
    <Card
      title={catalogueTexts[view.locale].price}
      actions={<CaseChoice view={view} name="price" {...price} />}
    >
      <GroupError view={view} name="price" />
      <PriceMatrix
        view={view}
        price={objectOf(price.value)}
        columns={columns}
        margins={form.margins}
      >
        <MemberFields
          view={view}
          within="price"
          members={chosenCase(price).members}
          value={objectOf(price.value)}
          without={matrixPrices(price.value)}
        />
      </PriceMatrix>
    </Card>
  );
}

function RoutesCard({ form, view }: { readonly form: ModelFormProps; readonly view: FormView }) {
  const t = catalogueTexts[view.locale];
  const routes = shownRoutes(form, view);
  return (
    <Card title={t.routes} actions={<AgainButton value="routes">{t.addRoute}</AgainButton>}>
      <input type="hidden" name="routes.rows" value={String(routes.length)} />
      <GroupError view={view} name="routes" />
      <div class="route-cards">
        {routes.map((route, at) => (
          <RouteFields
            form={form}
            view={view}
            route={route}
            at={at}
            isNew={at >= listOf(form.entry["routes"]).length}
          />
        ))}
      </div>
    </Card>
  );
}

/** Card of a model besides its price and routes; folded away where it is known already. */
function ModelCard({ form, view }: { readonly form: ModelFormProps; readonly view: FormView }) {
  const isInside = (name: string) => !/^(?:price|routes)(?:\.|$)/.test(name);
  return (
    <Card>
      <details open={form.name === "" || isInUse(view, isInside)}>
        <summary>{catalogueTexts[view.locale].aboutModel}</summary>
        <MemberFields
          view={view}
          within=""
          members={modelMembers}
          value={form.entry}
          without={apart}
        />
      </details>
    </Card>
  );
}

/** Asks for the margins of what is typed; an answer has the places of each, and an error changes nothing. */
const liveMargins = {
  "hx-post": marginsPath,
  "hx-trigger": "input delay:400ms",
  "hx-sync": "this:replace",
  "hx-swap": "none",
  "hx-status:4xx": "swap:none",
  "hx-status:5xx": "swap:none",
} as const;

/** The form of a model. Its margins follow what is typed, as the server computes them. */
export function ModelForm({ children, ...form }: PropsWithChildren<ModelFormProps>) {
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
        <div {...liveMargins}>
          <ModelCard form={form} view={view} />
          <PriceCard form={form} view={view} />
          <RoutesCard form={form} view={view} />
        </div>
        <div class="actions">
          <SubmitButton>{t.preview}</SubmitButton>
          <a href={cataloguePath} class="button outline secondary" role="button">{t.back}</a>
        </div>
      </PostForm>
      <div class="columns">
        {children}
        <JsonForm visitor={visitor} base={base} name={name} entry={entry} edit="model" />
      </div>
      <RemoveForm visitor={visitor} base={base} name={name} edit="model" label={t.removeModel} />
    </>
  );
}
