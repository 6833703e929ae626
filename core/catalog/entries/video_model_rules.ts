/** Finds and checks the video rules of the catalogue's models. */
import { z } from "zod";
import type { Model } from "./model.ts";
import { invariant } from "../../lib/base/assert.ts";
import { videoAdapterSchema } from "./video_adapter.ts";
import {
  resolveVideoRules,
  videoPriceProblems,
  type VideoRules,
  videoRulesSchema,
} from "./video_rules.ts";

const known = new WeakMap<Model, VideoRules>();

/**
 * Returns the rules of a video model of the catalogue.
 *
 * @throws {InvariantError} if there are none: {@linkcode videoModelProblems} refuses such a model
 * when it is read
 */
export function videoRulesOf(model: Model): VideoRules {
  let rules = known.get(model);
  if (rules === undefined) {
    const parsed = videoRulesSchema.safeParse(model.videoRules);
    invariant(parsed.success, `The model ${model.id} has no usable videoRules`);
    rules = resolveVideoRules(parsed.data);
    known.set(model, rules);
  }
  return rules;
}

function issuesOf(prefix: string, error: z.ZodError): string[] {
  return [`${prefix}: ${z.prettifyError(error).replaceAll("\n", " ")}`];
}

/**
 * Lists everything that is wrong with a video model: its rules, its prices for them, the adapters
 * of its routes. One sentence each; empty for models of other kinds.
 */
export function videoModelProblems(model: Model): string[] {
  if (model.kind !== "video") return [];
  const problems: string[] = [];
  const rules = videoRulesSchema.safeParse(model.videoRules);
  if (!rules.success) {
    problems.push(...issuesOf("videoRules", rules.error));
  } else if (model.price.unit === "video") {
    const resolved = resolveVideoRules(rules.data);
    const found = videoPriceProblems(resolved, model.price.tiers);
    problems.push(...found.map((problem) => `price.tiers: ${problem}`));
  }
  for (const [index, route] of model.routes.entries()) {
    const written = route.capabilities["videoAdapter"];
    if (written === undefined) continue;
    const adapter = videoAdapterSchema.safeParse(written);
    if (!adapter.success) {
      problems.push(...issuesOf(`routes.${index}.capabilities.videoAdapter`, adapter.error));
    }
  }
  return problems;
}
