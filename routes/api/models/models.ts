/**
 * GET /v1/models and /v1/models/{id}: the catalog with prices, and the presets that the key may call, in the list shape
 * of either style.
 *
 * See docs/api.md#models.
 *
 * - Folder `routes/api/models/`: the list of models with their prices.
 * - In: the catalog, presets with their models, and the style in which the caller lists models.
 * - Out: JSON in that style.
 * - Never: reads the store or asks a provider.
 */
import type { Catalog, Model } from "../../../core/catalog/catalog.ts";
import { providerFacts } from "../../../core/catalog/data_policy.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { modelKinds } from "../../../core/catalog/entries/model.ts";
import { fieldsJson } from "../../../core/lib/json/fields.ts";
import type { JsonObject } from "../../../core/lib/json/json.ts";
import {
  always,
  constant,
  count,
  dateTime,
  type DescribedField,
  listOf,
  type ListPage,
  objectSchema,
  optional,
  pageFields,
  text,
} from "../../../core/lib/json/schemas.ts";
import type { HttpRequest } from "../../http/body/http_request.ts";
import { type RowBounds, rowLimit, wrongParameter } from "../../http/query.ts";
import { listFigureText, listPrice, priceJson, priceSchema } from "./price_json.ts";

/** The creation time of every model, which both SDKs require: the start of version 1 of the API. */
const createdSeconds = 1_763_596_800;
const createdAt = new Date(createdSeconds * 1000).toISOString().replace(".000Z", "Z");

/** A name under which a model can be called: its id, an alias, or a preset. */
export interface NamedModel {
  readonly name: string;
  readonly model: Model;
}

/** A name as the list shows it. */
interface ListedName extends NamedModel {
  readonly listRate: number;
  readonly providers: Catalog["providers"];
}

const providerSchema = objectSchema("A provider that serves the model.", [
  {
    name: "name",
    schema: { ...text, description: "As `provider.order`, `only` and `ignore` name it." },
    isRequired: true,
  },
  { name: "regions", schema: listOf(text) },
  {
    name: "trains",
    schema: {
      type: "boolean",
      description: "May train on prompts and answers. Absent: not known.",
    },
  },
  {
    name: "retains",
    schema: { type: "boolean", description: "Keeps them after the call. Absent: not known." },
  },
]);

/** Writes the providers of a model with the facts by which callers choose among them. */
function providersOf({ model, providers }: ListedName): JsonObject[] {
  return providerFacts(model, providers).map(({ name, regions, trains, retains }) => ({
    name,
    ...(regions.length > 0 && { regions: [...regions] }),
    ...defined({ trains, retains }),
  }));
}

const displayName: DescribedField<ListedName> = always(
  "display_name",
  text,
  ({ name, model }) => name === model.id ? model.displayName : `${model.displayName} (${name})`,
);

const idField: DescribedField<ListedName> = always("id", text, ({ name }) => name);

const chatOnly = ({ model }: ListedName) => model.kind === "chat" ? model : undefined;

/** The fields that both shapes have after their own. */
const commonFields: readonly DescribedField<ListedName>[] = [
  always("kind", { type: "string", enum: [...modelKinds] }, ({ model }) => model.kind),
  always("family", text, ({ model }) => model.family),
  optional(
    "context_window",
    { ...count, description: "Tokens of prompt and answer together." },
    (listed) => chatOnly(listed)?.contextWindow,
  ),
  optional("max_output_tokens", count, (listed) => chatOnly(listed)?.maxOutputTokens),
  optional(
    "vision",
    { type: "boolean", description: "Whether it takes pictures." },
    (listed) => chatOnly(listed)?.vision,
  ),
  always("providers", listOf(providerSchema), (listed) => providersOf(listed)),
  always("aliases", listOf(text), ({ model }) => [...model.aliases]),
  always("price", priceSchema, ({ model, listRate }) => priceJson(model.price, listRate)),
  always("list_price", listFigureText, ({ model, listRate }) => listPrice(model.price, listRate)),
  optional(
    "alias_of",
    { ...text, description: "The model that this alias names, or this preset calls." },
    ({ name, model }) => name === model.id ? undefined : model.id,
  ),
];

/** The fields of a model, in the shape of each style. */
export const modelFields: Readonly<Record<ListStyle, readonly DescribedField<ListedName>[]>> = {
  chat: [
    idField,
    constant("object", "model"),
    always("created", { type: "integer" }, () => createdSeconds),
    always("owned_by", text, () => "gateway"),
    displayName,
    ...commonFields,
  ],
  messages: [
    constant("type", "model"),
    idField,
    displayName,
    always("created_at", dateTime, () => createdAt),
    optional("max_input_tokens", count, (listed) => chatOnly(listed)?.contextWindow),
    optional("max_tokens", count, (listed) => chatOnly(listed)?.maxOutputTokens),
    ...commonFields,
  ],
};

/** The style in which models are listed. */
export type ListStyle = "chat" | "messages";

/** The user agent of the Messages vendor's agent, which lists the models of a gateway. */
const messagesAgent = /^claude-(?:cli|code)\b/i;

/** Chooses the list's style. Messages clients send a version header; the vendor's agent lists models without one. */
export function listStyle(headers: HttpRequest["headers"]): ListStyle {
  const isMessages = headers.has("anthropic-version") || headers.has("compat-version") ||
    messagesAgent.test(headers.get("user-agent") ?? "");
  return isMessages ? "messages" : "chat";
}

/**
 * Names every model by its id, then by its aliases, and the presets after all models: agents offer only the names that
 * they find in the list.
 */
export function modelNames(
  models: readonly Model[],
  presets: readonly NamedModel[],
): readonly NamedModel[] {
  const names = models.flatMap((model) =>
    [model.id, ...model.aliases].map((name): NamedModel => ({ name, model }))
  );
  return [...names, ...presets];
}

/** Makes the object of one model in the shape of the given style. */
export function modelObject(
  named: NamedModel,
  { listRate, providers }: Pick<Catalog, "listRate" | "providers">,
  style: ListStyle,
): JsonObject {
  return fieldsJson(modelFields[style], { ...named, listRate, providers });
}

/** Models of one page, as in the Messages style. */
export const modelListRows: RowBounds = { most: 1000, otherwise: 1000 };

/**
 * Finds the index of a model in the list; -1 if the parameter is absent.
 *
 * @throws {GatewayError} if the model is not in the list
 */
function placeOf(listed: readonly ListedName[], query: URLSearchParams, param: string): number {
  const id = query.get(param);
  if (id === null) return -1;
  const place = listed.findIndex(({ name }) => name === id);
  if (place === -1) throw wrongParameter(param, "there is no such model");
  return place;
}

/** The fields of the list, in the shape of each style. */
export const modelListFields: Readonly<Record<ListStyle, readonly DescribedField<ListPage>[]>> = {
  chat: pageFields("Model").filter(({ name }) => name === "object" || name === "data"),
  messages: pageFields("MessagesModel").filter(({ name }) => name !== "object"),
};

/**
 * Makes the list of a catalogue's models, aliases and presets included. The Messages shape is paged by its own parameters: `limit`,
 * `after_id`, `before_id`. The Chat shape has no pages; a `limit` there cuts the list.
 *
 * @throws {GatewayError} if one of the parameters of the Messages shape is given and wrong
 */
export function modelList(
  { models, listRate, providers }: Pick<Catalog, "models" | "listRate" | "providers">,
  presets: readonly NamedModel[],
  style: ListStyle,
  query: URLSearchParams,
): JsonObject {
  const listed = modelNames(models, presets)
    .map((named): ListedName => ({ ...named, listRate, providers }));
  const written = (page: readonly ListedName[], hasMore: boolean) =>
    fieldsJson(modelListFields[style], {
      data: page.map((one) => fieldsJson(modelFields[style], one)),
      firstId: page[0]?.name,
      lastId: page.at(-1)?.name,
      hasMore,
    });
  if (style === "chat") {
    const most = /^[1-9]\d{0,5}$/.exec(query.get("limit") ?? "")?.[0];
    return written(most === undefined ? listed : listed.slice(0, Number(most)), false);
  }
  const limit = rowLimit(query, modelListRows);
  const after = placeOf(listed, query, "after_id");
  const before = placeOf(listed, query, "before_id");
  const end = before === -1 ? listed.length : before;
  const start = before === -1 ? after + 1 : Math.max(after + 1, end - limit);
  const page = listed.slice(start, Math.min(end, start + limit));
  return written(page, before === -1 ? start + page.length < listed.length : start > 0);
}
