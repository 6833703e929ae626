/**
 * Reads everything the operator sets, once, at start. Pure: environment and file text are values.
 *
 * - Folder `core/config/`: the settings of the operator, each with what can be wrong with it.
 * - In: environment variables and the text of `gateway.json`, as values.
 * - Out: one `Config`, or every problem at once.
 * - Never: reads the process environment itself, or repeats a secret in the text of a problem.
 */
import type { Catalog } from "../catalog/catalog.ts";
import { readGatewayFile } from "../catalog/read_file.ts";
import {
  hasRealProvider,
  type ProviderKeys,
  type ReadCatalog,
  readCatalogWith,
  readProviderKeys,
  sandboxBesideReal,
} from "./catalog_reading.ts";
import { type Brand, type BrandLogo, defaultBrand, readLogo } from "../people/mail/brand.ts";
import { type BucketVariables, readBucketVariables } from "./bucket_variables.ts";
import { readVariables, type SupportContact, variableNames } from "./config_variables.ts";
import { readRetention, type RetentionSettings } from "./retention.ts";
import { readTrial, type TrialSettings, unpaidTrial } from "./trial.ts";
import { unknownVariables } from "./unknown_variables.ts";
import { readSignInProviders, type SignInProvider } from "./sign_in_providers.ts";
import { type Environment, setVariables } from "../lib/environment/environment.ts";
import type { Driver } from "../net/transport/transport.ts";
import type { MailSettings } from "../people/mail/mail_url.ts";
import { isDenoDeploy, type StoreLocation, withPlatformDefaults } from "./platform.ts";
import {
  readTopupSettings,
  type TopupSettings,
  topupVariableNames,
} from "../trade/settings/settings.ts";
import { defined } from "../lib/base/defined.ts";
import { parseUrl } from "../lib/runtime/built_ins.ts";

// Checks the proxies that the environment names.
//
// The runtime reads them itself (for `fetch`: provider driver, mail service, OpenID, bank
// movements) and silently skips one that it cannot parse: calls would then bypass the proxy.

const names = ["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY"].flatMap((name) => [
  name,
  name.toLowerCase(),
]);

function proxyProblem(text: string): string | undefined {
  const address = text.includes("://") ? text : `http://${text}`;
  if (!/^(?:https?|socks5h?):\/\//i.test(address)) {
    return "must start with http://, https://, socks5:// or socks5h://";
  }
  const url = /\s/.test(address) ? null : parseUrl(address);
  if (url === null || url.hostname === "" || url.hash !== "" || url.search !== "") {
    return "is not an address of a proxy; %, #, /, ? and @ in user and password must be percent-encoded";
  }
  // The runtime does not accept a user without a password.
  return url.username !== "" && !/:.*@/.test(address.slice(address.indexOf("://") + 3))
    ? "has a user but no password"
    : undefined;
}

/** Lists the proxies that would be skipped, one line each, without their text. */
function proxyProblems(
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  return names.flatMap((name) => {
    const text = environment[name];
    const problem = text === undefined || text === "" ? undefined : proxyProblem(text);
    return problem === undefined ? [] : [`${name}: ${problem}`];
  });
}

/** The configuration of the gateway. */
export interface Config {
  readonly port: number;
  readonly host: string;
  readonly store: StoreLocation;
  /** Whether this instance runs on Deno Deploy, which starts and stops instances by itself. */
  readonly onDenoDeploy: boolean;
  readonly region: string | undefined;
  /**
   * Public address of this service, without a trailing slash; for links and snippets. Undefined:
   * the address it listens on, which with port 0 is not known beforehand.
   */
  readonly baseUrl: string | undefined;
  /** Address at which other instances on the same store reach this one; undefined: they do not. */
  readonly peerAddress: string | undefined;
  /** Text of `GATEWAY_MASTER_KEYS`; undefined = generate beside a local store. */
  readonly masterKeys: string | undefined;
  /** Text of `GATEWAY_BACKUP_KEY`; undefined = no backup can be made or restored. */
  readonly backupKey: string | undefined;
  /** Settings of buckets in the environment, for commands that write to one. */
  readonly bucket: BucketVariables;
  /** E-mail addresses of operators, lower-case. */
  readonly operators: readonly string[];
  readonly mail: MailSettings;
  /** The name, logo and colour that customers see. */
  readonly brand: Brand;
  /** The support contact for customers; undefined: pages and mails name none. */
  readonly support: SupportContact | undefined;
  /** Company that runs the service, with tax code and address as the law asks; undefined: the pages do not say it. */
  readonly company: string | undefined;
  /** Active API keys for each member of an organisation of several. */
  readonly keysPerMember: number;
  /** Trial of models by visitors without an account. */
  readonly trial: TrialSettings;
  /** Folder of the pages that the operator supplies; undefined: there are none. */
  readonly pagesFolder: string | undefined;
  /** Bearer secret of `/operator/*` JSON and `/metrics`; undefined = those are off. */
  readonly operatorKey: string | undefined;
  /**
   * The catalogue with which the process starts: that of `gateway.json`, or of the store once it was opened. A running
   * gateway has the one in force in `Gateway.catalog`.
   */
  readonly catalog: Catalog;
  /** The contents of `gateway.json` as they are written. */
  readonly fileContents: unknown;
  /** Reads the contents of a version of the catalogue in the environment of this process. */
  readonly readCatalog: ReadCatalog;
  /** `sandbox`: no real provider is configured, so a demo account with play money is offered. */
  readonly mode: "sandbox" | "production";
  /** Warnings that an operator should read at the start, a line each. */
  readonly warnings: readonly string[];
  /** Secrets of each provider of {@linkcode Config.catalog} by provider name. Never logged. */
  readonly providerKeys: ProviderKeys;
  /** Header in which a trusted proxy names the client's address; undefined = the socket's own address counts. */
  readonly clientAddressHeader: string | undefined;
  /** Top-ups by bank transfer, and invoices. */
  readonly topup: TopupSettings;
  /** The providers at which customers may sign in, in the order of their buttons. */
  readonly signInProviders: readonly SignInProvider[];
  /** Whether the queue of the store wakes workers, where it has one. */
  readonly queue: boolean;
  /** Server that takes the connections of clients: the gateway's own, or the runtime's. */
  readonly httpServer: "own" | "runtime";
  /** Driver for providers without one of their own, and for addresses that customers name. */
  readonly driver: Driver;
  /** Milliseconds for which calls are still accepted after SIGTERM while `/readyz` answers 503. */
  readonly stopDelayMs: number;
  /** Milliseconds for which streams may continue after the socket has closed. */
  readonly drainMs: number;
  /** Threads that serve calls; undefined: by the cores and the memory of the machine. */
  readonly workers: number | undefined;
  /** Memory in MB that the process may use; undefined: each buffer has a bound of its own. */
  readonly memoryMb: number | undefined;
  /** Time for which rows are kept that leave the store by their age. */
  readonly retention: RetentionSettings;
  /** Milliseconds that an answer waits for the store to confirm its receipt. */
  readonly receiptWaitMs: number;
  /** Milliseconds that a call waits to begin while the store is away; 0: it is refused at once. */
  readonly storeWaitMs: number;
  /** Whether spans and metrics are sent by the runtime's exporter (`OTEL_DENO`). */
  readonly telemetry: boolean;
}

/** The configuration, or all problems of the environment and of `gateway.json`. */
export type ConfigResult =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: readonly string[] };

/** The text of a file, or why it could not be read. */
export type FileText = string | { readonly problem: string };

function readBrandLogo(
  { GATEWAY_BRAND_LOGO: written }: Environment,
  file: FileText | undefined,
  problems: string[],
): BrandLogo | undefined {
  if (written === undefined) return undefined;
  const read = readLogo(written.trim(), file);
  if (read.ok) return read.logo;
  problems.push(`environment GATEWAY_BRAND_LOGO: ${read.problem}`);
  return undefined;
}

type Values = NonNullable<ReturnType<typeof readVariables>["values"]>;

/** Whether Deno's exporter runs. */
function isTraced({ OTEL_DENO }: Values): boolean {
  return OTEL_DENO === "true" || OTEL_DENO === "1";
}

/** The runtime's server writes whole URLs into its spans, and a Gemini client may have its key in the query. */
function tracingProblems(values: Values | undefined): readonly string[] {
  return values !== undefined && values.GATEWAY_HTTP_SERVER === "runtime" && isTraced(values)
    ? [
      "environment GATEWAY_HTTP_SERVER: runtime with OTEL_DENO would export the keys in URLs of Gemini clients; use own",
    ]
    : [];
}

/**
 * Reads the configuration, or returns every problem at once.
 *
 * @param environment e.g. `Deno.env.toObject()`; a blank variable counts as not set
 * @param file text of `gateway.json`, or of what `GATEWAY_CONFIG` names in its place, or why it
 * could not be read
 * @param logoFile the same of the file that `GATEWAY_BRAND_LOGO` names, if it names one
 */
export function readConfig(
  environment: Environment,
  file: FileText,
  logoFile?: FileText,
): ConfigResult {
  const set = withPlatformDefaults(setVariables(environment));
  const variables = readVariables(set);
  const topup = readTopupSettings(set);
  const fileName = set["GATEWAY_CONFIG"] ?? "gateway.json";
  const providerProblems: string[] = [];
  const signInProviders = readSignInProviders(set, providerProblems);
  const { contents, catalog, secretNames, problems } = typeof file === "string"
    ? readGatewayFile(file, fileName)
    : {
      contents: undefined,
      catalog: undefined,
      secretNames: {},
      problems: [`${fileName}: ${file.problem}`],
    };
  const secrets = readProviderKeys(secretNames, set);
  const logoProblems: string[] = [];
  const logo = readBrandLogo(set, logoFile, logoProblems);
  const all = [
    ...variables.problems,
    ...tracingProblems(variables.values),
    ...(topup.ok ? [] : topup.problems),
    ...providerProblems,
    ...logoProblems,
    ...proxyProblems(set).map((problem) => `environment ${problem}`),
    ...problems,
    ...secrets.problems,
  ];
  const { values } = variables;
  if (values === undefined || catalog === undefined || !topup.ok || all.length > 0) {
    return { ok: false, problems: all };
  }
  const isReal = hasRealProvider(catalog);
  const unpaid = isReal ? unpaidTrial(values) : [];
  if (unpaid.length > 0) return { ok: false, problems: unpaid };
  const onDenoDeploy = isDenoDeploy(set);
  if (isReal && onDenoDeploy) {
    const mixed = sandboxBesideReal(catalog, fileName);
    if (mixed.length > 0) return { ok: false, problems: mixed };
  }
  return {
    ok: true,
    config: {
      port: values.PORT,
      host: values.HOST,
      store: values.GATEWAY_KV,
      onDenoDeploy,
      region: values.GATEWAY_REGION ??
        (onDenoDeploy ? set["DENO_REGION"]?.slice(0, 64) : undefined),
      baseUrl: values.GATEWAY_BASE_URL,
      peerAddress: values.GATEWAY_PEER_ADDRESS,
      masterKeys: values.GATEWAY_MASTER_KEYS,
      backupKey: values.GATEWAY_BACKUP_KEY,
      bucket: readBucketVariables(set),
      operators: values.GATEWAY_OPERATORS,
      operatorKey: values.GATEWAY_OPERATOR_KEY,
      mail: values.MAIL_URL,
      brand: {
        name: values.GATEWAY_BRAND_NAME ?? defaultBrand.name,
        ...defined({ logo, colours: values.GATEWAY_BRAND_COLOUR }),
      },
      support: values.GATEWAY_BRAND_SUPPORT ?? values.GATEWAY_SUPPORT,
      company: values.GATEWAY_COMPANY,
      keysPerMember: values.GATEWAY_KEYS_PER_MEMBER,
      trial: readTrial(values),
      pagesFolder: values.GATEWAY_PAGES,
      clientAddressHeader: values.GATEWAY_CLIENT_ADDRESS_HEADER,
      topup: topup.settings,
      signInProviders,
      // On by default only on Deno Deploy: on a full disk the runtime's reader of a local queue ends the process.
      queue:
        (values.GATEWAY_QUEUE ?? (values.GATEWAY_KV.kind === "deploy" ? "on" : "off")) === "on",
      // A platform that starts instances brings sockets of its own, which only the runtime's server takes.
      httpServer: values.GATEWAY_HTTP_SERVER ??
        (onDenoDeploy || values.GATEWAY_KV.kind === "deploy" ? "runtime" : "own"),
      // The platform forbids `Deno.connect` to port 443, to which TLS would be started; `fetch` is free of that.
      driver: onDenoDeploy ? "fetch" : "http1",
      stopDelayMs: values.GATEWAY_STOP_DELAY_MS,
      drainMs: values.GATEWAY_DRAIN_MS,
      // Its instances have one core, and no file that threads could share.
      workers: onDenoDeploy ? 1 : values.GATEWAY_WORKERS,
      memoryMb: values.GATEWAY_MEMORY_MB,
      retention: readRetention(values),
      receiptWaitMs: values.GATEWAY_RECEIPT_WAIT_MS,
      storeWaitMs: values.GATEWAY_STORE_WAIT_MS,
      telemetry: isTraced(values),
      catalog,
      fileContents: contents,
      readCatalog: readCatalogWith(set, { isPublic: onDenoDeploy }),
      mode: isReal ? "production" : "sandbox",
      warnings: unknownVariables(
        Object.keys(set),
        new Set([
          "GATEWAY_CONFIG",
          ...variableNames,
          ...topupVariableNames,
          ...Object.values(secretNames).flatMap(({ variables }) => variables),
        ]),
      ),
      providerKeys: secrets.keys,
    },
  };
}
