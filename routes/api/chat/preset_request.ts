/**
 * Finds the preset that a request calls, by the name of its model or by the field `preset` of aggregators, and those that
 * a key may call.
 */
import { type JsonBody, withoutMembers } from "../../../core/calls/body/json_body.ts";
import {
  type CalledPreset,
  calledPreset,
  type Preset,
  presetCall,
  withPreset,
} from "../../../core/calls/request/presets.ts";
import { type Catalog, presetMark } from "../../../core/catalog/catalog.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { Outline } from "../../../core/lib/json/json.ts";
import type { Style } from "../../../core/wire/contract/contract.ts";
import type { Principal } from "../../../kv/people/api_keys/key_directory.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { NamedModel } from "../models/models.ts";
import { requestedModels } from "./preferred_models.ts";

/** A version of a preset for one call. */
export interface FoundPreset {
  /** Its name with its version, as the header and the receipt say it. */
  readonly called: string;
  /** The model to call: that of the request, or its own. */
  readonly model: string;
  readonly preset: Preset;
}

/** Characters of an unknown name that an error repeats: longer than any name of a preset. */
const maxRepeatedChars = 80;

function mayBePreset(name: Outline | undefined): name is string {
  return typeof name === "string" && name.includes(presetMark);
}

/** Whether a request may call a preset. */
export function mayCallPreset(model: Outline | undefined, { outline }: JsonBody): boolean {
  return mayBePreset(model) || outline["preset"] !== undefined;
}

function refuse(param: "model" | "preset", problem: string): never {
  throw new GatewayError("invalid_request", `${param}: ${problem}`, { param });
}

function refuseUnknown(param: "model" | "preset", name: string): never {
  refuse(
    param,
    `your organisation has no preset ${JSON.stringify(name.slice(0, maxRepeatedChars))}; ` +
      `a preset is called as ${presetMark}name, or ${presetMark}name@3 for its third version`,
  );
}

/** A preset, the field of the request that calls it, and its words. */
interface NamedPreset extends CalledPreset {
  readonly param: "model" | "preset";
  readonly text: string;
}

function presetOfModel(model: Outline | undefined): NamedPreset | undefined {
  if (!mayBePreset(model)) return undefined;
  const called = calledPreset(model) ?? refuseUnknown("model", model);
  return { ...called, param: "model", text: model };
}

/** Reads `preset`: the name alone, or as a model would name it. The model beside it counts, as in `model@preset/name`. */
function presetOfField(text: Outline, model: Outline | undefined): NamedPreset | undefined {
  const byModel = presetOfModel(model);
  if (text === null) return byModel;
  const param = "preset";
  if (typeof text !== "string") refuse(param, "must be the name of a preset");
  const called = calledPreset(text.startsWith(presetMark) ? text : `${presetMark}${text}`);
  if (called === undefined || called.model !== undefined) return refuseUnknown(param, text);
  if (byModel === undefined) {
    return { ...called, param, text, model: typeof model === "string" ? model : undefined };
  }
  if (byModel.name !== called.name || byModel.version !== called.version) {
    refuse(param, "the model names another preset; send one of them");
  }
  return byModel;
}

/**
 * Finds the preset of a request, and takes the field that names it out of its body.
 *
 * @param model the model of the request
 * @throws {GatewayError} `invalid_request` if the organisation has none of this name and version
 */
export async function takePreset(
  { presets }: Pick<Gateway, "presets">,
  { accountId }: Principal,
  sent: JsonBody,
  model: Outline | undefined,
): Promise<{ readonly body: JsonBody; readonly preset: FoundPreset | undefined }> {
  const field = sent.outline["preset"];
  const named = field === undefined ? presetOfModel(model) : presetOfField(field, model);
  const body = field === undefined ? sent : withoutMembers(sent, ["preset"]);
  if (named === undefined) return { body, preset: undefined };
  const { param, text, name } = named;
  const { version, preset } = await presets.find(accountId, named) ?? refuseUnknown(param, text);
  return {
    body,
    preset: { called: presetCall(name, version), model: named.model ?? preset.model, preset },
  };
}

/** Merges the preset that a body calls into it, if it calls one. */
export async function withPresetOf(
  gateway: Pick<Gateway, "presets">,
  principal: Principal,
  style: Style,
  sent: JsonBody,
): Promise<JsonBody> {
  const { model } = sent.outline;
  if (!mayCallPreset(model, sent)) return sent;
  const { body, preset } = await takePreset(gateway, principal, sent, model);
  return preset === undefined ? body : withPreset(style, body, preset.preset, preset.model).body;
}

/** The model of a preset; none if the key may not call it, or if the gateway chooses one for each request. */
function modelOf(
  catalog: Catalog,
  principal: Principal,
  name: string,
  { model, calls: { models = [] } = {} }: Pick<Preset, "model" | "calls">,
): NamedModel[] {
  const others = models.map((other) => ({ name: other, path: "preset" }));
  try {
    const [first] = requestedModels(model, { models: others }, { catalog, principal });
    return first === undefined ? [] : [{ name, model: first.chosen.model }];
  } catch (error) {
    if (error instanceof GatewayError) return [];
    throw error;
  }
}

/** Lists the presets that a key may call. */
export async function presetModels(
  { presets, catalog }: Pick<Gateway, "presets" | "catalog">,
  principal: Principal,
): Promise<readonly NamedModel[]> {
  const versions = await presets.list(principal.accountId);
  return versions.flatMap(({ name, preset }) =>
    modelOf(catalog.current, principal, `${presetMark}${name}`, preset)
  );
}

/** Finds the model that a key may call by a name. A row of one model has its id for an alias, and the name of a preset. */
export async function namedModel(
  { presets, catalog: { current: catalog } }: Pick<Gateway, "presets" | "catalog">,
  principal: Principal,
  name: string,
): Promise<NamedModel | undefined> {
  if (!mayBePreset(name)) {
    const model = catalog.find(name);
    return model === undefined || principal.allowedModels?.has(model.id) === false
      ? undefined
      : { name: model.id, model };
  }
  const called = calledPreset(name);
  if (called === undefined) return undefined;
  const { preset } = await presets.find(principal.accountId, called) ?? {};
  return preset && modelOf(catalog, principal, name, {
    ...preset,
    model: called.model ?? preset.model,
  })[0];
}
