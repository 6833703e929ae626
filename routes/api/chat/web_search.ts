/**
 * Searches the web for models that cannot: a request for nothing but a search goes to the model that the operator names
 * for it (`webSearchModel`).
 */
import type { JsonBody } from "../../../core/calls/request/json_body.ts";
import { searchesWeb } from "../../../core/catalog/model_abilities.ts";
import { GatewayError } from "../../../core/errors.ts";
import { findBillableFeatures } from "../../../core/wire/billable_features/asked_for.ts";
import type { Style } from "../../../core/wire/contract.ts";
import type { Conversation, Tool } from "../../../core/wire/conversation/mod.ts";
import { dialectOf } from "../../../core/wire/stream/dialects.ts";
import type { Principal } from "../../../kv/api_keys/key_directory.ts";
import type { ChosenModel } from "../admission.ts";

/** A chat request whose model was chosen by its name. */
interface NamedRequest {
  readonly style: Style;
  readonly body: JsonBody;
  /** The name of the model that the client sent. */
  readonly name: string;
  readonly principal: Principal;
}

/**
 * Chooses the model of a request: that of its name, or the one that searches the web for others, if the request has no
 * tool but a web search, which the model of its name cannot run.
 */
export function chooseSearchModel(chosen: ChosenModel, request: NamedRequest): ChosenModel {
  const { catalog: { webSearchModel }, model } = chosen;
  const { style, body, name, principal } = request;
  if (webSearchModel === undefined || webSearchModel.id === model.id) return chosen;
  if (principal.allowedModels?.has(webSearchModel.id) === false) return chosen;
  const isAsked = findBillableFeatures(style, body.outline)
    .some(({ feature }) => feature === "web_search");
  if (!isAsked || searchesWeb(model, style)) return chosen;
  const tools = toolsOf(style, body);
  if (tools === undefined || !tools.every(isSearch)) return chosen;
  return { ...chosen, model: webSearchModel, mappedFrom: name };
}

/** Reads the tools that the model may call; `undefined` if it may call none, or the request cannot be read. */
function toolsOf(style: Style, { value }: JsonBody): readonly Tool[] | undefined {
  let read: Conversation;
  try {
    read = dialectOf(style).decodeRequest(value);
  } catch (error) {
    // Its route says what is wrong with it.
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
  return read.tools.length === 0 || read.toolChoice?.type === "none" ? undefined : read.tools;
}

function isSearch(tool: Tool): boolean {
  return tool.type === "hosted" && tool.requested?.tool === "web_search";
}
