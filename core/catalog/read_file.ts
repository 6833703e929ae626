/** Reads `gateway.json` and names everything that is wrong with it, in its shape and beyond. */
import { z } from "zod";
import { issueLines } from "../environment.ts";
import { buildCatalog, buildModel, type Catalog } from "./catalog.ts";
import { type CatalogParts, catalogProblems, type UnreadModel } from "./problems.ts";
import { gatewayFileSchema, modelSchema, type ProviderEntry, providerSchema } from "./schema.ts";

export interface ReadGatewayFile {
  /** Undefined if there is any problem. */
  readonly catalog: Catalog | undefined;
  /** Those whose shape is right: their secrets can be looked for. */
  readonly providers: Readonly<Record<string, ProviderEntry>>;
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

/** What can be said of a model of a wrong shape. */
function claimsOf(raw: unknown): UnreadModel {
  const read = claims.safeParse(raw);
  if (!read.success) return { names: [], routeProviders: [] };
  const { id, aliases, routes } = read.data;
  return {
    names: [id, ...aliases].filter((name) => name !== undefined),
    routeProviders: routes.map(({ provider }) => provider).filter((name) => name !== undefined),
  };
}

/** What can be checked although the shape of something is wrong. */
function readableParts(raw: unknown): CatalogParts & Pick<ReadGatewayFile, "providers"> {
  const file = anyRecord.catch({}).parse(raw);
  const rawProviders = anyRecord.safeParse(file["providers"]);
  const providers: Record<string, ProviderEntry> = {};
  for (const [name, entry] of Object.entries(rawProviders.data ?? {})) {
    const read = providerSchema.safeParse(entry);
    if (read.success) providers[name] = read.data;
  }
  const rawModels = anyArray.safeParse(file["models"]);
  const models = (rawModels.data ?? []).map((entry) => {
    const read = modelSchema.safeParse(entry);
    return read.success ? buildModel(read.data) : claimsOf(entry);
  });
  return {
    providers,
    providerNames: rawProviders.data && new Set(Object.keys(rawProviders.data)),
    models,
    defaultModel: rawModels.success ? word.parse(file["defaultModel"]) : undefined,
  };
}

/**
 * Reads the file.
 *
 * @example
 * ```ts
 * import { readGatewayFile } from "./read_file.ts";
 * const { catalog, problems } = readGatewayFile('{"providers":{},"models":[],"defaultModel":"x"}');
 * // Neither hides the other: there must be a model, and "x" is none.
 * if (catalog !== undefined || problems.length !== 2) throw new Error(problems.join("\n"));
 * ```
 */
export function readGatewayFile(text: string): ReadGatewayFile {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { catalog: undefined, providers: {}, problems: [`gateway.json: is not JSON (${why})`] };
  }
  const file = gatewayFileSchema.safeParse(raw);
  if (!file.success) {
    const { providers, ...parts } = readableParts(raw);
    const beyond = catalogProblems(parts).map((problem) => `gateway.json ${problem}`);
    return {
      catalog: undefined,
      providers,
      problems: [...issueLines("gateway.json", file.error), ...beyond],
    };
  }
  const built = buildCatalog(file.data);
  return {
    catalog: built.ok ? built.catalog : undefined,
    providers: file.data.providers,
    problems: built.ok ? [] : built.problems.map((problem) => `gateway.json ${problem}`),
  };
}
