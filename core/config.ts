/** Everything the operator sets, read once at start. Pure: environment and file text come in as values. */
import { z } from "zod";
import { buildCatalog, type Catalog } from "./catalog/catalog.ts";
import { gatewayFileSchema } from "./catalog/schema.ts";
import { localAddress } from "./local_address.ts";
import { readTopupSettings, type TopupSettings } from "./topup/settings.ts";

/** Where the gateway keeps its records. */
export type StoreLocation =
  | { readonly kind: "memory" }
  | { readonly kind: "file"; readonly path: string }
  /** A KV Connect server: several instances may share it. */
  | { readonly kind: "remote"; readonly url: string };

export interface Config {
  readonly port: number;
  readonly host: string;
  readonly store: StoreLocation;
  readonly region: string | undefined;
  /**
   * Public address of this service, without a trailing slash; for links and snippets. Undefined: the address it listens
   * on, which with port 0 nobody knows before.
   */
  readonly baseUrl: string | undefined;
  /** Text of `GATEWAY_MASTER_KEYS`; undefined = generate beside a local store. */
  readonly masterKeys: string | undefined;
  /** E-mail addresses of operators, lower-case. */
  readonly operators: readonly string[];
  readonly mailUrl: string;
  /** Bearer secret of `/operator/*` JSON and `/metrics`; undefined = those are off. */
  readonly operatorKey: string | undefined;
  readonly catalog: Catalog;
  /** `sandbox`: no real provider is configured, so a demo account with play money is offered. */
  readonly mode: "sandbox" | "production";
  /** Secrets of each provider by provider name. Never logged. */
  readonly providerKeys: Readonly<Record<string, readonly string[]>>;
  /** Header in which a trusted proxy names the client's address; undefined = the socket's own address counts. */
  readonly clientAddressHeader: string | undefined;
  /** Money that comes in by bank, and invoices. */
  readonly topup: TopupSettings;
  /** Sign-in at an OpenID provider, if one is configured. */
  readonly openId: OpenIdConfig | undefined;
  /** How long streams may run on after SIGTERM. */
  readonly drainMs: number;
  /** Spans and metrics go out through the runtime's exporter (`OTEL_DENO`). */
  readonly telemetry: boolean;
}

/** An OpenID provider at which customers may sign in. */
export interface OpenIdConfig {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** Stands on the button. */
  readonly label: string;
}

export type ConfigResult =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: readonly string[] };

type Environment = Readonly<Record<string, string | undefined>>;

const environmentSchema = z.object({
  PORT: z.coerce.number().int().min(0).max(65_535).default(8787),
  HOST: z.string().min(1).default("127.0.0.1"),
  GATEWAY_KV: z.string().min(1).default("./data/gateway.sqlite3"),
  GATEWAY_REGION: z.string().min(1).optional(),
  GATEWAY_BASE_URL: z.url({ protocol: /^https?$/ }).optional(),
  GATEWAY_MASTER_KEYS: z.string().min(1).optional(),
  GATEWAY_OPERATORS: z.string().default(""),
  GATEWAY_OPERATOR_KEY: z.string().min(24, "must have at least 24 characters").optional(),
  GATEWAY_CLIENT_ADDRESS_HEADER: z.string().regex(
    /^[a-z0-9-]+$/,
    "must be a lower-case header name",
  )
    .optional(),
  GATEWAY_DRAIN_MS: z.coerce.number().int().min(0).max(900_000).default(25_000),
  OTEL_DENO: z.string().default(""),
  MAIL_URL: z.string().regex(
    /^(smtps?:\/\/|https:\/\/|log:)/,
    "must start with smtp://, smtps://, https:// or log:",
  )
    .default("log:"),
});

const openIdSchema = z.object({
  OIDC_ISSUER: z.url({ protocol: /^https?$/ }),
  OIDC_CLIENT_ID: z.string().min(1),
  OIDC_CLIENT_SECRET: z.string().min(1),
  OIDC_LABEL: z.string().min(1).default("OpenID"),
});

/** All of it or none of it: half a configuration is a mistake. */
function readOpenId(environment: Environment, problems: string[]): OpenIdConfig | undefined {
  const names = ["OIDC_ISSUER", "OIDC_CLIENT_ID", "OIDC_CLIENT_SECRET"];
  if (names.every((name) => environment[name] === undefined)) return undefined;
  const read = openIdSchema.safeParse(environment);
  if (!read.success) {
    problems.push(...issueLines("environment", read.error));
    return undefined;
  }
  const { data } = read;
  return {
    issuer: data.OIDC_ISSUER,
    clientId: data.OIDC_CLIENT_ID,
    clientSecret: data.OIDC_CLIENT_SECRET,
    label: data.OIDC_LABEL,
  };
}

function storeLocation(text: string): StoreLocation {
  if (text === ":memory:") return { kind: "memory" };
  if (/^https?:\/\//.test(text)) return { kind: "remote", url: text };
  return { kind: "file", path: text };
}

function issueLines(prefix: string, error: z.ZodError): string[] {
  return error.issues.map((issue) => {
    const path = issue.path.map(String).join(".");
    return `${prefix}${path === "" ? "" : ` ${path}`}: ${issue.message}`;
  });
}

function readProviderKeys(
  catalog: Catalog,
  environment: Environment,
): { keys: Record<string, string[]>; problems: string[] } {
  const keys: Record<string, string[]> = {};
  const problems: string[] = [];
  for (const [name, provider] of Object.entries(catalog.providers)) {
    if (provider.kind === "sandbox") continue;
    const names = [provider.apiKeyEnv].flat();
    keys[name] = [];
    for (const variable of names) {
      const secret = environment[variable];
      if (secret === undefined || secret === "") {
        problems.push(`${variable}: not set; providers.${name} needs it`);
      } else keys[name].push(secret);
    }
  }
  return { keys, problems };
}

/**
 * Reads the configuration, or names every problem at once.
 *
 * @param environment e.g. `Deno.env.toObject()`
 * @param fileText text of `gateway.json`
 */
export function readConfig(environment: Environment, fileText: string): ConfigResult {
  const problems: string[] = [];
  const variables = environmentSchema.safeParse(environment);
  if (!variables.success) problems.push(...issueLines("environment", variables.error));

  const cannotLink = variables.data !== undefined &&
    variables.data.GATEWAY_BASE_URL === undefined &&
    localAddress(variables.data.HOST, variables.data.PORT) === undefined;
  if (cannotLink) {
    problems.push("environment HOST: is no part of a URL; name the address in GATEWAY_BASE_URL");
  }

  const topup = readTopupSettings(environment);
  if (!topup.ok) problems.push(...topup.problems.map((problem) => `environment ${problem}`));
  const openId = readOpenId(environment, problems);

  let catalog: Catalog | undefined;
  let parsed: unknown;
  try {
    parsed = JSON.parse(fileText);
    const file = gatewayFileSchema.safeParse(parsed);
    if (!file.success) problems.push(...issueLines("gateway.json", file.error));
    else {
      const built = buildCatalog(file.data);
      if (built.ok) catalog = built.catalog;
      else problems.push(...built.problems.map((problem) => `gateway.json ${problem}`));
    }
  } catch (error) {
    problems.push(`gateway.json: is not JSON (${error instanceof Error ? error.message : error})`);
  }

  let providerKeys: Record<string, string[]> = {};
  if (catalog !== undefined) {
    const read = readProviderKeys(catalog, environment);
    problems.push(...read.problems);
    providerKeys = read.keys;
  }
  if (!variables.success || catalog === undefined || !topup.ok || problems.length > 0) {
    return { ok: false, problems };
  }

  const { data } = variables;
  const real = Object.values(catalog.providers).some((provider) => provider.kind !== "sandbox");
  const store = storeLocation(data.GATEWAY_KV);
  if (store.kind === "remote" && data.GATEWAY_MASTER_KEYS === undefined) {
    return {
      ok: false,
      problems: ["GATEWAY_MASTER_KEYS: must be set when GATEWAY_KV is a remote store"],
    };
  }
  return {
    ok: true,
    config: {
      port: data.PORT,
      host: data.HOST,
      store,
      region: data.GATEWAY_REGION,
      baseUrl: data.GATEWAY_BASE_URL?.replace(/\/+$/, ""),
      masterKeys: data.GATEWAY_MASTER_KEYS,
      operators: data.GATEWAY_OPERATORS.split(",").map((e) => e.trim().toLowerCase()).filter(
        Boolean,
      ),
      operatorKey: data.GATEWAY_OPERATOR_KEY,
      mailUrl: data.MAIL_URL,
      clientAddressHeader: data.GATEWAY_CLIENT_ADDRESS_HEADER,
      topup: topup.settings,
      openId,
      drainMs: data.GATEWAY_DRAIN_MS,
      telemetry: data.OTEL_DENO === "true" || data.OTEL_DENO === "1",
      catalog,
      mode: real ? "production" : "sandbox",
      providerKeys,
    },
  };
}
