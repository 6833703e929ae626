/** Finds the preset that a request calls by the name of its model. */
import type { JsonBody } from "../../../core/calls/body/json_body.ts";
import {
  calledPreset,
  type Preset,
  presetCall,
  withPreset,
} from "../../../core/calls/request/presets.ts";
import { presetMark } from "../../../core/catalog/catalog.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { Style } from "../../../core/wire/contract/contract.ts";
import type { Principal } from "../../../kv/people/api_keys/key_directory.ts";
import type { Gateway } from "../gateway/gateway.ts";

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

/** Whether a name may be that of a preset. */
export function mayBePreset(name: unknown): name is string {
  return typeof name === "string" && name.includes(presetMark);
}

/**
 * Finds the preset of a request.
 *
 * @param name the model of the request
 * @throws {GatewayError} `invalid_request` if the organisation has none of this name and version
 */
export async function findPreset(
  { presets }: Pick<Gateway, "presets">,
  { accountId }: Principal,
  name: string,
): Promise<FoundPreset> {
  const called = calledPreset(name);
  const found = called && await presets.find(accountId, called);
  if (called === undefined || found === undefined) {
    throw new GatewayError(
      "invalid_request",
      `model: your organisation has no preset ${
        JSON.stringify(name.slice(0, maxRepeatedChars))
      }; ` +
        `a preset is called as ${presetMark}name, or ${presetMark}name@3 for its third version`,
      { param: "model" },
    );
  }
  const { version, preset } = found;
  return {
    called: presetCall(called.name, version),
    model: called.model ?? preset.model,
    preset,
  };
}

/** Merges the preset that a body calls by its model into it, if it calls one. */
export async function withPresetOf(
  gateway: Pick<Gateway, "presets">,
  principal: Principal,
  style: Style,
  body: JsonBody,
): Promise<JsonBody> {
  const name = body.outline["model"];
  if (!mayBePreset(name)) return body;
  const { preset, model } = await findPreset(gateway, principal, name);
  return withPreset(style, body, preset, model).body;
}
