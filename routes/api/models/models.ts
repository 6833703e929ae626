/**
 * GET /v1/models and /v1/models/{id}: the catalog with prices, in the list shape of either style.
 *
 * See docs/api.md#models.
 *
 * - Folder `routes/api/models/`: the list of models with their prices.
 * - In: the catalog, and the style in which the caller lists models.
 * - Out: JSON in that style.
 * - Never: reads the store or asks a provider.
 */
import type { Catalog, Model } from "../../../core/catalog/catalog.ts";
import type { JsonObject } from "../../../core/lib/json/json.ts";
import { countedTools, defaultMostUses } from "../../../core/billing/usage/hosted_tools.ts";
import type { TierPrices } from "../../../core/billing/tariff.ts";
import { defined } from "../../../core/lib/base/defined.ts";
import { listFigure, microVndOf, type WrittenVnd } from "../../../core/billing/money/micro_vnd.ts";
import { type CataloguePrice, toolPricesOf } from "../../../core/billing/price.ts";
import type { HttpRequest } from "../../http/body/http_request.ts";
import { rowLimit, wrongParameter } from "../../http/query.ts";

/** The creation time of every model, which both SDKs require: the start of version 1 of the API. */
const createdSeconds = 1_763_596_800;
const createdAt = new Date(createdSeconds * 1000).toISOString().replace(".000Z", "Z");

type TokenPrice = CataloguePrice & { readonly unit: "token" };

/** A price as a JSON number, whose text is the written one. */
const shown = (written: WrittenVnd): number => Number(written);

const shownIfAny = (written: WrittenVnd | undefined) =>
  written === undefined ? undefined : shown(written);

function tokenRates(rates: Omit<TokenPrice, "unit" | "longPrompt">): JsonObject {
  const cacheWrite = rates.cacheWriteVndPerMtok ?? rates.vndPerMtok;
  return {
    vnd: shown(rates.vndPerMtok),
    output_vnd: shown(rates.outputVndPerMtok ?? rates.vndPerMtok),
    cache_read_vnd: shown(rates.cacheReadVndPerMtok ?? rates.vndPerMtok),
    cache_write_vnd: shown(cacheWrite),
    cache_write_1h_vnd: shown(rates.cacheWriteHourVndPerMtok ?? cacheWrite),
    ...defined({
      input_audio_vnd: shownIfAny(rates.inputAudioVndPerMtok),
      input_image_vnd: shownIfAny(rates.inputImageVndPerMtok),
      output_audio_vnd: shownIfAny(rates.outputAudioVndPerMtok),
      output_image_vnd: shownIfAny(rates.outputImageVndPerMtok),
    }),
  };
}

function longPromptRates({ longPrompt }: TokenPrice): JsonObject {
  if (longPrompt === undefined) return {};
  return { long_prompt: { above_tokens: longPrompt.aboveTokens, ...tokenRates(longPrompt) } };
}

/** The fees of hosted tools, by tool. */
function toolFees(price: CataloguePrice): JsonObject {
  const prices = toolPricesOf(price) ?? {};
  const fees = countedTools.flatMap((tool): [string, JsonObject][] => {
    const fee = prices[tool];
    if (fee === undefined) return [];
    return "vndPerCall" in fee ? [[tool, { vnd_per_call: shown(fee.vndPerCall) }]] : [[tool, {
      vnd_per_use: shown(fee.vndPerUse),
      most_uses: fee.mostUses ?? defaultMostUses,
    }]];
  });
  return fees.length === 0 ? {} : { hosted_tools: Object.fromEntries(fees) };
}

/** The factors on rates, by tier of service. */
function factorsOf(tiers: TierPrices): JsonObject {
  return Object.fromEntries(Object.entries(tiers).map(([tier, factor]) => [tier, shown(factor)]));
}

function priceFields(price: CataloguePrice, listRate: number): JsonObject {
  switch (price.unit) {
    case "token":
      return {
        price: {
          unit: "1M tokens",
          ...tokenRates(price),
          ...longPromptRates(price),
          ...toolFees(price),
          ...(price.serviceTiers && { service_tiers: factorsOf(price.serviceTiers) }),
        },
        list_price: listFigure(microVndOf(price.vndPerMtok), listRate),
      };
    case "request":
    case "image":
    case "search":
      return {
        price: { unit: price.unit, vnd: shown(price.vnd), ...toolFees(price) },
        list_price: listFigure(microVndOf(price.vnd), listRate),
      };
    case "second":
      return {
        price: { unit: "second", vnd_per_minute: shown(price.vndPerMinute) },
        list_price: listFigure(microVndOf(price.vndPerMinute), listRate),
      };
    case "video":
      return {
        price: {
          unit: "video",
          tiers: price.tiers.map((tier) => ({
            from_seconds: tier.fromSeconds,
            to_seconds: tier.toSeconds,
            vnd: shown(tier.vnd),
            list_price: listFigure(microVndOf(tier.vnd), listRate),
          })),
        },
        list_price: listFigure(microVndOf(price.tiers[0]?.vnd ?? 0), listRate),
      };
  }
}

function extras(model: Model, listRate: number): JsonObject {
  return {
    kind: model.kind,
    family: model.family,
    ...(model.kind === "chat"
      ? {
        context_window: model.contextWindow,
        max_output_tokens: model.maxOutputTokens,
        vision: model.vision,
      }
      : {}),
    aliases: [...model.aliases],
    ...priceFields(model.price, listRate),
  };
}

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

/** A name under which a model can be called, as the list shows it. */
interface ListedName {
  readonly name: string;
  readonly model: Model;
}

/** Lists every model by its id, then by its aliases: agents offer only the names that they find in the list. */
function listedNames(models: readonly Model[]): ListedName[] {
  return models.flatMap((model) =>
    [model.id, ...model.aliases].map((name): ListedName => ({ name, model }))
  );
}

function listedObject({ name, model }: ListedName, listRate: number, style: ListStyle): JsonObject {
  const object = modelObject(model, listRate, style);
  if (name === model.id) return object;
  return {
    ...object,
    id: name,
    display_name: `${model.displayName} (${name})`,
    alias_of: model.id,
  };
}

/** Makes the object of one model in the shape of the given style. */
export function modelObject(model: Model, listRate: number, style: ListStyle): JsonObject {
  if (style === "messages") {
    return {
      type: "model",
      id: model.id,
      display_name: model.displayName,
      created_at: createdAt,
      ...(model.kind === "chat"
        ? { max_input_tokens: model.contextWindow, max_tokens: model.maxOutputTokens }
        : {}),
      ...extras(model, listRate),
    };
  }
  return {
    id: model.id,
    object: "model",
    created: createdSeconds,
    owned_by: "gateway",
    display_name: model.displayName,
    ...extras(model, listRate),
  };
}

/** Most models of one page, and the default, as in the Messages style. */
const maxModels = 1000;

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

/**
 * Makes the list of `models`, aliases included. The Messages shape is paged by its own parameters: `limit`,
 * `after_id`, `before_id`. The Chat shape has no pages; a `limit` there cuts the list.
 *
 * @throws {GatewayError} if one of the parameters of the Messages shape is given and wrong
 */
export function modelList(
  { models, listRate }: Pick<Catalog, "models" | "listRate">,
  style: ListStyle,
  query: URLSearchParams,
): JsonObject {
  const listed = listedNames(models);
  if (style === "chat") {
    const most = /^[1-9]\d{0,5}$/.exec(query.get("limit") ?? "")?.[0];
    const data = most === undefined ? listed : listed.slice(0, Number(most));
    return { object: "list", data: data.map((one) => listedObject(one, listRate, "chat")) };
  }
  const limit = rowLimit(query, { most: maxModels, otherwise: maxModels });
  const after = placeOf(listed, query, "after_id");
  const before = placeOf(listed, query, "before_id");
  const end = before === -1 ? listed.length : before;
  const start = before === -1 ? after + 1 : Math.max(after + 1, end - limit);
  const page = listed.slice(start, Math.min(end, start + limit));
  return {
    data: page.map((one) => listedObject(one, listRate, "messages")),
    has_more: before === -1 ? start + page.length < listed.length : start > 0,
    first_id: page[0]?.name ?? null,
    last_id: page.at(-1)?.name ?? null,
  };
}
