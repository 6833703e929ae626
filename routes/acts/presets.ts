/** Acts on the presets of an organisation. */
import { z } from "zod";
import { type Preset, presetEfforts, presetNameForm } from "../../core/calls/request/presets.ts";
import { automaticOrder } from "../../core/catalog/catalog.ts";
import { defined } from "../../core/lib/base/defined.ts";
import { maxModelNameChars } from "../../core/lib/base/limits.ts";
import {
  deletePreset,
  maxPresetBytes,
  maxPresets,
  savePreset,
} from "../../kv/people/organisations/presets.ts";
import {
  callSettingsOf,
  callSettingsRefusals,
  keyCallSettingsInput,
  unknownInCallSettings,
} from "./call_settings.ts";
import { done, operation, refused } from "./operation.ts";

/** The schema of the name of a preset. */
const presetName = z.string().refine(
  (text) => presetNameForm.test(text),
  "must be 1 to 63 lower-case letters, digits, hyphens and underscores, the first a letter or digit",
);

/** Most output tokens that a preset may ask for: above what any model has. */
const maxOutputTokens = 1_000_000;

/** Most sequences that end an answer, and the characters of each: what vendors take. */
const maxStops = 16;
const maxStopChars = 256;

const parameters = z.strictObject({
  temperature: z.number().min(0).max(2).exactOptional(),
  topP: z.number().min(0).max(1).exactOptional(),
  topK: z.int().min(0).max(10_000).exactOptional(),
  maxTokens: z.int().min(1).max(maxOutputTokens).exactOptional(),
  stop: z.array(z.string().min(1).max(maxStopChars)).min(1).max(maxStops).exactOptional(),
  seed: z.int().exactOptional(),
  frequencyPenalty: z.number().min(-2).max(2).exactOptional(),
  presencePenalty: z.number().min(-2).max(2).exactOptional(),
  effort: z.enum(presetEfforts).exactOptional(),
});

/** A preset as it is sent. */
const presetInput = z.strictObject({
  name: presetName,
  model: z.string().min(1).max(maxModelNameChars),
  system: z.string().max(maxPresetBytes).exactOptional(),
  parameters: parameters.exactOptional(),
  calls: keyCallSettingsInput.pick({
    models: true,
    order: true,
    only: true,
    ignore: true,
    regions: true,
    allowFallbacks: true,
    sort: true,
    dataCollection: true,
    zdr: true,
    maxPrice: true,
  }).exactOptional(),
});

/** Returns a preset as the store has it. */
function presetOf(
  { model, system = "", parameters = {}, calls }: z.output<typeof presetInput>,
): Preset {
  return {
    model,
    ...(system.trim() !== "" && { system }),
    ...(Object.keys(parameters).length > 0 && { parameters }),
    ...defined({ calls: calls && callSettingsOf(calls) }),
  };
}

/** Saves a version of a preset: the first of a new name, or the next. */
export const presetSaving = operation({
  name: "savePreset",
  act: "change_presets",
  line: "presets_changed",
  input: presetInput,
  refusals: {
    gone: { code: "not_found", message: "There is no such organisation" },
    too_many: { code: "invalid_request", message: `There are ${maxPresets} presets already` },
    too_large: {
      code: "invalid_request",
      field: "system",
      message: `is too long: a preset has at most ${maxPresetBytes} bytes`,
    },
    model: { code: "invalid_request", field: "model", message: "there is no such chat model" },
    ...callSettingsRefusals,
  },
  async run({ kv, control, catalog, masterKeys }, { account, by, nowMs }, sent) {
    const isModel = automaticOrder(sent.model) !== undefined ||
      catalog.find(sent.model)?.kind === "chat";
    if (!isModel) return refused("model");
    const problem = unknownInCallSettings(sent.calls ?? {}, catalog, undefined);
    if (problem !== undefined) return refused(problem);
    const version = { name: sent.name, preset: presetOf(sent), by, nowMs };
    const saved = await savePreset(kv, masterKeys, account.id, version);
    await control.refresh();
    return typeof saved === "string" ? refused(saved) : done(saved);
  },
});

/** Deletes a preset with all its versions; calls by its name are refused from then on. */
export const presetDeletion = operation({
  name: "deletePreset",
  act: "change_presets",
  line: "presets_changed",
  input: z.strictObject({ name: presetName }),
  refusals: { missing: { code: "not_found", message: "There is no such preset" } },
  async run({ kv, control }, { account, by, nowMs }, { name }) {
    const isGone = await deletePreset(kv, account.id, name, { by, nowMs });
    await control.refresh();
    return isGone ? done(name) : refused("missing");
  },
});
