/** Reads a catalogue together with what its providers need of the environment of this process. */
import type { BuildCatalogOptions, Catalog } from "../catalog/catalog.ts";
import { readContents, type ReadGatewayFile } from "../catalog/read_file.ts";
import { type Environment, secretProblem, withoutLineEnd } from "../lib/environment/environment.ts";

/** Secrets of each provider by provider name. Never logged. */
export type ProviderKeys = Readonly<Record<string, readonly string[]>>;

/** A catalogue that this process can serve. */
export interface ServableCatalog {
  readonly catalog: Catalog;
  /** The secrets of the environment: one for each variable that a provider names. */
  readonly providerKeys: ProviderKeys;
}

/** The keys of providers that are sealed in the store, as this process has them. */
export interface StoredKeys {
  /** The secret of a key; `undefined` if there is none of that name, or it cannot be opened here. */
  secretOf(name: string): string | undefined;
  /** Why there is no secret; `undefined` if there is one. */
  problemOf(name: string): string | undefined;
}

/** A key of a provider under the name of its variable, or of the stored key. Never logged. */
export interface ProviderKey {
  readonly name: string;
  readonly secret: string;
}

/** The keys of a provider in their order. Stored ones that are missing are left out. */
export function keysOfProvider(
  { catalog, providerKeys }: ServableCatalog,
  stored: StoredKeys,
  name: string,
): ProviderKey[] {
  const provider = catalog.providers[name];
  const written = providerKeys[name] ?? [];
  if (provider?.kind !== "http") return [];
  const variables = provider.apiKeyEnv.flatMap((name, at) => {
    const secret = written[at];
    return secret === undefined ? [] : [{ name, secret }];
  });
  const others = provider.apiKeyVault.flatMap((name) => {
    const secret = stored.secretOf(name);
    return secret === undefined ? [] : [{ name, secret }];
  });
  return [...variables, ...others];
}

/** The secrets of all providers, those that are stored included. */
export function withStoredKeys(servable: ServableCatalog, stored: StoredKeys): ProviderKeys {
  return Object.fromEntries(
    Object.keys(servable.catalog.providers).map((name) => [
      name,
      keysOfProvider(servable, stored, name).map(({ secret }) => secret),
    ]),
  );
}

/** The catalogue, or everything that prevents this process from serving it. */
export type CatalogReading =
  | { readonly ok: true } & ServableCatalog
  | { readonly ok: false; readonly problems: readonly string[] };

/** Options of reading a catalogue. */
export interface ReadCatalogOptions extends BuildCatalogOptions {
  /**
   * The stored keys that the catalogue may name: others are a problem. Absent: they are not looked at, since a version
   * that was published is served without a key that has gone since.
   */
  readonly storedKeys?: StoredKeys;
}

/**
 * Reads the contents of a catalogue.
 *
 * @param name what the contents are called in the problems
 */
export type ReadCatalog = (
  contents: unknown,
  name: string,
  options?: ReadCatalogOptions,
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

/** Describes what is wrong with the secret of a provider, or returns `undefined`. Never contains the secret. */
export function providerSecretProblem(secret: string): string | undefined {
  return isJsonKey(secret) ? undefined : secretProblem(secret);
}

/** Reads the secrets that providers name from the environment. */
export function readProviderKeys(
  secretNames: ReadGatewayFile["secretNames"],
  environment: Environment,
): { keys: Record<string, string[]>; problems: string[] } {
  const keys: Record<string, string[]> = {};
  const problems: string[] = [];
  for (const [name, { variables }] of Object.entries(secretNames)) {
    keys[name] = [];
    for (const variable of variables) {
      const secret = withoutLineEnd(environment[variable] ?? "");
      const problem = secret === ""
        ? `not set; providers.${name} needs it`
        : providerSecretProblem(secret);
      if (problem === undefined) keys[name].push(secret);
      else problems.push(`environment ${variable}: ${problem}`);
    }
  }
  return { keys, problems };
}

/** Lists the stored keys that providers name and that are not there. */
function storedKeyProblems(
  secretNames: ReadGatewayFile["secretNames"],
  stored: StoredKeys,
  fileName: string,
): string[] {
  return Object.entries(secretNames).flatMap(([provider, { storedKeys }]) =>
    storedKeys.flatMap((key) => {
      const problem = stored.problemOf(key);
      return problem === undefined
        ? []
        : [`${fileName} providers.${provider}.apiKeyVault: ${problem}`];
    })
  );
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
  return (contents, name, { storedKeys, ...options } = {}) => {
    const { catalog, secretNames, problems } = readContents(contents, name, options);
    const { keys, problems: unset } = readProviderKeys(secretNames, environment);
    const missing = storedKeys === undefined
      ? unset
      : [...unset, ...storedKeyProblems(secretNames, storedKeys, name)];
    const mixed = catalog !== undefined && isPublic && hasRealProvider(catalog)
      ? sandboxBesideReal(catalog, name)
      : [];
    const all = [...problems, ...missing, ...mixed];
    return catalog === undefined || all.length > 0
      ? { ok: false, problems: all }
      : { ok: true, catalog, providerKeys: keys };
  };
}
