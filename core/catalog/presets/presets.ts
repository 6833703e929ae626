/**
 * Known providers: `preset` of a provider in `gateway.json`.
 *
 * - Folder `core/catalog/presets/`: what is known of providers, as data, each with its source.
 * - In: the name of a preset, and the places of its address that an operator filled.
 * - Out: address, authentication, paths, styles, capabilities and time-outs.
 * - Never: contains prices, models or keys, or code of a single provider.
 */
import { aggregatorPresets } from "./aggregators.ts";
import { asianPresets } from "./asia.ts";
import { cloudPresets, localPresets, vendorPresets } from "./vendors.ts";
import type { Preset } from "./preset.ts";

type Merged<Groups> = Groups extends readonly [infer First, ...infer Rest] ? First & Merged<Rest>
  : unknown;

/** `never` if two of the groups have a name in common: the later preset would win without a word. */
type Disjoint<Groups, Seen = never> = Groups extends readonly [infer First, ...infer Rest]
  ? [keyof First & Seen] extends [never] ? Disjoint<Rest, Seen | keyof First> : never
  : unknown;

type Groups = readonly [
  typeof vendorPresets,
  typeof cloudPresets,
  typeof aggregatorPresets,
  typeof asianPresets,
  typeof localPresets,
];

const all: Merged<Groups> & Disjoint<Groups> = {
  ...vendorPresets,
  ...cloudPresets,
  ...aggregatorPresets,
  ...asianPresets,
  ...localPresets,
};

/** The name of a preset. */
export type PresetName = keyof Merged<Groups>;

/** Returns a preset. */
export function presetOf(name: PresetName): Preset {
  return all[name];
}

/** Whether a text is the name of a preset. */
function isPresetName(name: string): name is PresetName {
  return Object.hasOwn(all, name);
}

/** The names of all presets, in the order of the documentation. */
export const presetNames: readonly PresetName[] = Object.keys(all).filter(isPresetName);
