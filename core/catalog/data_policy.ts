/** The facts of a provider's handling of prompts and answers, by which callers choose routes. */
import type { Catalog, Model } from "./catalog.ts";
import type { DataPolicy } from "./presets/preset.ts";
import type { ProviderEntry } from "./schema.ts";

/** The sandbox is part of the gateway, which keeps no prompts. */
const sandboxPolicy: DataPolicy = { trains: false, retains: false };

/** Returns what is known of a provider; an absent member is not known. */
export function dataPolicyOf(entry: ProviderEntry): DataPolicy {
  return entry.kind === "sandbox" ? sandboxPolicy : entry.dataPolicy ?? {};
}

/** A provider of a model, with the facts by which callers choose it. */
export interface ProviderFacts extends DataPolicy {
  readonly name: string;
  /** The regions of its routes that are known. */
  readonly regions: readonly string[];
}

/** Lists the providers of a model. */
export function providerFacts(
  { routes }: Pick<Model, "routes">,
  providers: Catalog["providers"],
): ProviderFacts[] {
  return [...new Set(routes.map(({ provider }) => provider))].map((name) => {
    const regions = routes.flatMap(({ provider, region }) =>
      provider === name && region !== undefined ? [region] : []
    );
    const entry = providers[name];
    return { name, regions: [...new Set(regions)], ...entry && dataPolicyOf(entry) };
  });
}
