/**
 * Choice of a model for requests to `auto`: by rules that anybody can check, without a learned judge.
 *
 * A model may answer if its context holds the prompt and the output, and if one route of it takes what the request has:
 * pictures, a schema for the answer, a tool that must be called. Of these the one that costs least for this request comes
 * first, or the one whose quickest route was measured best, if the caller asks for speed.
 */
import type { Model, RouteOrder } from "../../catalog/catalog.ts";
import { meetsNeeds, type RouteNeeds } from "../../catalog/model_abilities.ts";
import { applyPrice, worstCaseCost } from "../../billing/price.ts";
import { ascending } from "../../lib/base/ascending.ts";
import { isJsonObject, type Outline, type OutlineObject } from "../../lib/json/json.ts";
import { roughPromptTokens } from "../../billing/tokens/rough_estimate.ts";
import type { Style } from "../../wire/contract/contract.ts";
import { type ChatRequest, firstImagePath } from "./chat_request.ts";
import type { RouteSort } from "./route_preferences.ts";

/** Models that one call may try: what is reserved covers the dearest of them. */
export const maxAutomaticModels = 3;

/** Output tokens by which models are compared where the request bounds none: a page and a half of text. */
const usualOutputTokens = 1_000;

/** Needs of a request that not every model meets. */
export interface ModelNeeds extends RouteNeeds {
  /** An estimate, as the provider's count is not known before the call. */
  readonly inputTokens: number;
  /** Most tokens of the output, as far as a model gives as many. */
  readonly outputTokens: number;
}

function memberAt(value: Outline | undefined, ...path: readonly string[]): Outline | undefined {
  let at = value;
  for (const name of path) at = isJsonObject(at) ? at[name] : undefined;
  return at;
}

/** Fields of each style that hold a schema for the answer, and the words by which a tool must be called. */
const asks: Readonly<
  Record<Style, {
    readonly schema: (body: OutlineObject) => boolean;
    readonly tool: (body: OutlineObject) => boolean;
  }>
> = {
  chat: {
    schema: (body) => memberAt(body, "response_format", "type") === "json_schema",
    tool: ({ tool_choice: choice }) => choice === "required" || isJsonObject(choice),
  },
  responses: {
    schema: (body) => memberAt(body, "text", "format", "type") === "json_schema",
    tool: ({ tool_choice: choice }) => choice === "required" || isJsonObject(choice),
  },
  messages: {
    schema: (body) =>
      isJsonObject(memberAt(body, "output_config", "format")) ||
      isJsonObject(body["output_format"]),
    tool: (body) => {
      const type = memberAt(body, "tool_choice", "type");
      return type === "any" || type === "tool";
    },
  },
  gemini: {
    schema: (body) =>
      ["responseSchema", "responseJsonSchema"].some((name) =>
        isJsonObject(memberAt(body, "generationConfig", name))
      ),
    tool: (body) => memberAt(body, "toolConfig", "functionCallingConfig", "mode") === "ANY",
  },
};

/**
 * Reads what a request needs of its model.
 *
 * @example
 * ```ts
 * import { needsOf } from "./automatic_models.ts";
 * import { readChatRequest } from "./chat_request.ts";
 * const messages = [{ role: "user", content: "Hi" }];
 * const body = { model: "auto", max_tokens: 5, messages, tool_choice: "required" };
 * const { outputTokens, hasImages, hasSchema, forcesTool } = needsOf(readChatRequest("chat", body), body);
 * if (outputTokens !== 5 || hasImages || hasSchema || !forcesTool) throw new Error("wrong");
 * ```
 */
export function needsOf({ style, maxTokens }: ChatRequest, body: OutlineObject): ModelNeeds {
  return {
    inputTokens: roughPromptTokens(body),
    outputTokens: maxTokens ?? usualOutputTokens,
    hasImages: firstImagePath(body) !== undefined,
    hasSchema: asks[style].schema(body),
    forcesTool: asks[style].tool(body),
  };
}

/** Order of the models that meet the needs, and the figure of a route for the orders that are measured. */
export interface AutomaticOrder {
  readonly sort: RouteSort | RouteOrder;
  /** Returns a figure of which the lowest is best; `Infinity`: not measured. */
  readonly measured: (model: Model, sort: "throughput" | "latency") => number;
}

/**
 * Orders the models that meet the needs of a request, the best first. Among equals the order of the catalogue holds.
 *
 * @param models chat models that the caller may use
 */
export function automaticModels(
  models: readonly Model[],
  needs: ModelNeeds,
  { sort, measured }: AutomaticOrder,
): readonly Model[] {
  const { inputTokens } = needs;
  const isText = !needs.hasImages;
  const fitting = models.flatMap((model) => {
    const outputTokens = Math.min(needs.outputTokens, model.maxOutputTokens);
    if (!meetsNeeds(model, needs) || inputTokens + outputTokens > model.contextWindow) return [];
    return [{
      model,
      figure: sort === "price" ? 0 : measured(model, sort),
      costMicroVnd: worstCaseCost(applyPrice(model.price), { inputTokens, outputTokens, isText }),
    }];
  });
  return fitting
    .sort((a, b) => ascending(a.figure, b.figure) || ascending(a.costMicroVnd, b.costMicroVnd))
    .map(({ model }) => model);
}
