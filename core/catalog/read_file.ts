/** Reads `gateway.json` and lists everything that is wrong with it, in its shape and beyond. */
import { z } from "zod";
import { ambiguousNumbers } from "../billing/money/read_amount.ts";
import type { Json } from "../lib/json/json.ts";
import { ambiguousPrices } from "./ambiguous_prices.ts";
import { problemLines, readBySchema } from "../lib/environment/schema_words.ts";
import { buildCatalog, type BuildCatalogOptions, buildModel, type Catalog } from "./catalog.ts";
import { type CatalogParts, catalogProblems, type UnreadModel } from "./problems.ts";
import { environmentName, gatewayFileSchema, modelSchema, storedKeyName } from "./schema.ts";

/** Names of the variables and files that hold the secrets of a provider. */
export interface SecretNames {
  readonly variables: readonly string[];
  /** Names of keys that are sealed in the store. */
  readonly storedKeys: readonly string[];
}

/** The result of reading `gateway.json`: the catalogue, or its problems. */
export interface ReadGatewayFile {
  /** The contents as they are written, without defaults; undefined if they are not JSON. */
  readonly contents: unknown;
  /** The catalogue; undefined if there is any problem. */
  readonly catalog: Catalog | undefined;
  /**
   * The names of the secrets of each provider that has any, by its name, even if the rest of it is
   * wrong.
   */
  readonly secretNames: Readonly<Record<string, SecretNames>>;
  readonly problems: readonly string[];
}

const anyRecord = z.record(z.string(), z.unknown());
const anyArray = z.array(z.unknown());
const word = z.string().optional().catch(undefined);

const claims = z.object({
  id: word,
  aliases: z.array(word).catch([]),
  routes: z.array(z.object({ provider: word }).catch({})).catch([]),
});

/** Reads what can be used of a model with a wrong shape. */
function claimsOf(raw: unknown): UnreadModel {
  const read = claims.safeParse(raw);
  if (!read.success) return { names: [], routeProviders: [] };
  const { id, aliases, routes } = read.data;
  return {
    names: [id, ...aliases].filter((name) => name !== undefined),
    routeProviders: routes.map(({ provider }) => provider).filter((name) => name !== undefined),
  };
}

const secretClaims = z.object({
  kind: z.unknown().optional(),
  apiKeyEnv: z.unknown().optional(),
  apiKeyVault: z.unknown().optional(),
});

/** Names among some written ones that can be names. */
function namesIn(written: unknown, schema: z.ZodType<string>): string[] {
  return [written].flat().flatMap((name) => {
    const named = schema.safeParse(name);
    return named.success ? [named.data] : [];
  });
}

/** Returns what a provider names for its secrets. */
function secretNamesOf(raw: unknown): SecretNames {
  const read = secretClaims.safeParse(raw);
  if (!read.success || read.data.kind === "sandbox") return { variables: [], storedKeys: [] };
  return {
    variables: namesIn(read.data.apiKeyEnv, environmentName),
    storedKeys: namesIn(read.data.apiKeyVault, storedKeyName),
  };
}

function secretNames(providers: Readonly<Record<string, unknown>>): ReadGatewayFile["secretNames"] {
  const named = Object.entries(providers).map(([name, raw]) => [name, secretNamesOf(raw)] as const);
  return Object.fromEntries(
    named.filter(([, { variables, storedKeys }]) => variables.length + storedKeys.length > 0),
  );
}

/** The providers of some contents by the stored keys that they name, whether or not the rest of them is right. */
export function providersByStoredKey(contents: unknown): Map<string, string[]> {
  const file = anyRecord.catch({}).parse(contents);
  const providers = new Map<string, string[]>();
  for (
    const [provider, { storedKeys }] of Object.entries(
      secretNames(anyRecord.catch({}).parse(file["providers"])),
    )
  ) {
    for (const key of storedKeys) providers.set(key, [...providers.get(key) ?? [], provider]);
  }
  return providers;
}

/** Collects what can be checked although the shape of another part is wrong. */
function readableParts(raw: unknown): CatalogParts & Pick<ReadGatewayFile, "secretNames"> {
  const file = anyRecord.catch({}).parse(raw);
  const rawProviders = anyRecord.safeParse(file["providers"]);
  const rawModels = anyArray.safeParse(file["models"]);
  const models = (rawModels.data ?? []).map((entry) => {
    const read = modelSchema.safeParse(entry);
    return read.success ? buildModel(read.data) : claimsOf(entry);
  });
  return {
    secretNames: secretNames(rawProviders.data ?? {}),
    providerNames: rawProviders.data && new Set(Object.keys(rawProviders.data)),
    models,
    defaultModel: rawModels.success ? word.parse(file["defaultModel"]) : undefined,
    webSearchModel: rawModels.success ? word.parse(file["webSearchModel"]) : undefined,
  };
}

/**
 * Reads the file.
 *
 * @param name the name of the file in the problems
 *
 * @example
 * ```ts
 * import { readGatewayFile } from "./read_file.ts";
 * const { catalog, problems } = readGatewayFile('{"providers":{},"models":[],"defaultModel":"x"}');
 * // Neither hides the other: there must be a model, and "x" is none.
 * if (catalog !== undefined || problems.length !== 2) throw new Error(problems.join("\n"));
 * ```
 */
export function readGatewayFile(text: string, name = "gateway.json"): ReadGatewayFile {
  let contents: Json;
  try {
    contents = JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return {
      contents: undefined,
      catalog: undefined,
      secretNames: {},
      problems: [`${name}: is not JSON (${why})`],
    };
  }
  const read = readContents(contents, name);
  const problems = [...ambiguousNumbers(text), ...ambiguousPrices(contents)];
  if (problems.length === 0) return read;
  const written = problems.map((problem) => `${name} ${problem}`);
  return { ...read, catalog: undefined, problems: [...read.problems, ...written] };
}

/** Reads the contents of the file, or of a version of the catalogue in the store. See {@linkcode readGatewayFile}. */
export function readContents(
  raw: unknown,
  name: string,
  options: BuildCatalogOptions = {},
): ReadGatewayFile {
  const file = readBySchema(gatewayFileSchema, raw);
  if (!file.ok) {
    const { secretNames, ...parts } = readableParts(raw);
    const beyond = catalogProblems(parts).map((problem) => `${name} ${problem}`);
    return {
      contents: raw,
      catalog: undefined,
      secretNames,
      problems: [...problemLines(name, file.problems), ...beyond],
    };
  }
  const built = buildCatalog(file.value, options);
  return {
    contents: raw,
    catalog: built.ok ? built.catalog : undefined,
    secretNames: secretNames(file.value.providers),
    problems: built.ok ? [] : built.problems.map((problem) => `${name} ${problem}`),
  };
}
