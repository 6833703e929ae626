/** The facts of a provider's handling of prompts and answers, by which callers choose routes. */
import type { DataPolicy } from "./presets/preset.ts";
import type { ProviderEntry } from "./schema.ts";

/** The sandbox is part of the gateway, which keeps no prompts. */
const sandboxPolicy: DataPolicy = { trains: false, retains: false };

/** Returns what is known of a provider; an absent member is not known. */
export function dataPolicyOf(entry: ProviderEntry): DataPolicy {
  return entry.kind === "sandbox" ? sandboxPolicy : entry.dataPolicy ?? {};
}
