/** Reads a catalogue together with what its providers need of the environment of this process. */
import type { BuildCatalogOptions, Catalog } from "../catalog/catalog.ts";
import { readContents, type ReadGatewayFile } from "../catalog/read_file.ts";
import { type Environment, secretProblem, withoutLineEnd } from "../lib/environment/environment.ts";

/** Secrets of each provider by provider name. Never logged. */
export type ProviderKeys = Readonly<Record<string, readonly string[]>>;

/** A catalogue that this process can serve. */
export interface ServableCatalog {
  readonly catalog: Catalog;
  readonly providerKeys: ProviderKeys;
}

/** The catalogue, or everything that prevents this process from serving it. */
export type CatalogReading =
  | { readonly ok: true } & ServableCatalog
  | { readonly ok: false; readonly problems: readonly string[] };

/**
 * Reads the contents of a catalogue.
 *
 * @param name what the contents are called in the problems
 */
export type ReadCatalog = (
  contents: unknown,
  name: string,
  options?: BuildCatalogOptions,
) => CatalogReading;

/** Whether a secret is the key of a service account: JSON, which never travels in a header itself. */
function isJsonKey(secret: string): boolean {
  if (!secret.trimStart().startsWith("{")) return false;
  try {
    JSON.parse(secret);
    return true;
  } catch {
    return false;
  }
}

/** Reads the secrets that providers name from the environment. */
export function readProviderKeys(
  secretNames: ReadGatewayFile["secretNames"],
  environment: Environment,
): { keys: Record<string, string[]>; problems: string[] } {
  const keys: Record<string, string[]> = {};
  const problems: string[] = [];
  for (const [name, names] of Object.entries(secretNames)) {
    keys[name] = [];
    for (const variable of names) {
      const secret = withoutLineEnd(environment[variable] ?? "");
      const problem = secret === ""
        ? `not set; providers.${name} needs it`
        : isJsonKey(secret)
        ? undefined
        : secretProblem(secret);
      if (problem === undefined) keys[name].push(secret);
      else problems.push(`environment ${variable}: ${problem}`);
    }
  }
  return { keys, problems };
}

/** Whether a catalogue has a provider other than the sandbox. */
export function hasRealProvider({ providers }: Catalog): boolean {
  return Object.values(providers).some((provider) => provider.kind !== "sandbox");
}

/** Lists the sandbox providers of a production catalogue, whose answers are made up. */
export function sandboxBesideReal({ providers }: Catalog, fileName: string): string[] {
  return Object.entries(providers).filter(([, { kind }]) => kind === "sandbox").map(([name]) =>
    `${fileName} providers.${name}: a sandbox beside real providers is refused on Deno Deploy, ` +
    "which is public: customers would pay for made-up answers"
  );
}

/**
 * Narrows the reading of catalogues to those that a running gateway may change to.
 *
 * One that started as a sandbox has a demo account with play money, which must never pay for calls of a real provider.
 */
export function readCatalogIn(mode: "sandbox" | "production", read: ReadCatalog): ReadCatalog {
  if (mode === "production") return read;
  return (contents, name, options) => {
    const reading = read(contents, name, options);
    if (!reading.ok || !hasRealProvider(reading.catalog)) return reading;
    const real = Object.entries(reading.catalog.providers).find(([, { kind }]) =>
      kind !== "sandbox"
    );
    const problem = `${name} providers.${real?.[0]}: this gateway runs as a sandbox with play ` +
      "money, so it takes no real provider; name one in gateway.json and start it again";
    return { ok: false, problems: [problem] };
  };
}

/** Makes the function that reads catalogues in an environment. */
export function readCatalogWith(
  environment: Environment,
  { isPublic }: { readonly isPublic: boolean },
): ReadCatalog {
  return (contents, name, options) => {
    const { catalog, secretNames, problems } = readContents(contents, name, options);
    const { keys, problems: missing } = readProviderKeys(secretNames, environment);
    const mixed = catalog !== undefined && isPublic && hasRealProvider(catalog)
      ? sandboxBesideReal(catalog, name)
      : [];
    const all = [...problems, ...missing, ...mixed];
    return catalog === undefined || all.length > 0
      ? { ok: false, problems: all }
      : { ok: true, catalog, providerKeys: keys };
  };
}
