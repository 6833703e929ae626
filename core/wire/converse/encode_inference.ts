/** Writes the bound on output and the sampling as `inferenceConfig`, and what the model has under a name of its own. */
import { noneLeft } from "../../lib/base/every_member.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import type { ResolvedCapabilities } from "../contract/capabilities.ts";
import type { ConversionOptions } from "../contract/contract.ts";
import type { Conversation, Sampling } from "../conversation/mod.ts";
import { samplingPath, stopPath } from "../fields/extras.ts";
import { refuse } from "../fields/fields.ts";
import type { Warnings } from "../contract/warnings.ts";

/** `inferenceConfig`, and fields of the model. */
export interface EncodedInference {
  readonly config: JsonObject;
  readonly more: JsonObject;
}

/** Names under which models take `top_k`, as `extra_fields` says them. */
const topKFields: Readonly<Record<string, (topK: number) => JsonObject>> = {
  top_k: (topK) => ({ top_k: topK }),
  k: (topK) => ({ k: topK }),
  "inferenceConfig.topK": (topK) => ({ inferenceConfig: { topK } }),
};

/**
 * Writes the options that all models share, and `top_k`.
 *
 * @param thinks whether the model thinks in a way that takes no other sampling than its own
 */
export function encodeInference(
  conversation: Pick<Conversation, "from" | "maxTokens" | "sampling">,
  capabilities: ResolvedCapabilities,
  options: ConversionOptions,
  warnings: Warnings,
  thinks: boolean,
): EncodedInference {
  const { temperature, topP, topK, stop, ...rest } = conversation.sampling;
  noneLeft(rest);
  const config: JsonObject = {};
  const { maxTokens } = conversation;
  if (maxTokens !== undefined) {
    config.maxTokens = Math.min(
      maxTokens,
      capabilities.max_output ?? Infinity,
      options.maxOutputTokens,
    );
  }
  const warn = (field: "temperature" | "top_p" | "top_k") =>
    warnings.add(samplingPath(conversation, field));
  const isFixed = capabilities.sampling === "fixed" || thinks;
  if (temperature !== undefined) {
    // The style's own range ends at 1.
    if (!isFixed) config.temperature = Math.min(temperature, 1);
    if (temperature > 1 || (isFixed && temperature !== 1)) warn("temperature");
  }
  if (topP !== undefined) {
    const isExcluded = capabilities.temp_top_p_exclusive && temperature !== undefined;
    if (!isFixed && !isExcluded) config.topP = topP;
    else if (topP !== 1) warn("top_p");
  }
  encodeStop(conversation, stop, capabilities, warnings, config);
  if (topK === undefined) return { config, more: {} };
  const write = topKFields[
    Object.keys(topKFields).find((name) => capabilities.extra_fields.includes(name)) ?? ""
  ];
  if (write === undefined || isFixed) {
    warn("top_k");
    return { config, more: {} };
  }
  return { config, more: write(topK) };
}

function encodeStop(
  conversation: Pick<Conversation, "from">,
  stop: Sampling["stop"],
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
  config: JsonObject,
): void {
  const path = stopPath(conversation);
  const real = stop?.filter((text) => text !== "") ?? [];
  if (stop !== undefined && real.length < stop.length) warnings.add(path);
  if (real.length === 0) return;
  if (capabilities.stop_max === 0) warnings.add(path);
  else if (real.length > capabilities.stop_max) {
    refuse(path, `this model takes at most ${capabilities.stop_max} stop sequences`);
  } else config.stopSequences = real;
}
