/** Reads the environment variables of the configuration and describes what is wrong with each. */
import { z } from "zod";
import { type Brand, readColours } from "../people/mail/brand.ts";
import { isOneLine, oneLineForm } from "../lib/base/plain_text.ts";
import { normaliseEmail } from "../people/accounts/email_address.ts";
import {
  type Environment,
  secretProblem,
  secretText,
  wholeNumber,
} from "../lib/environment/environment.ts";
import { problemLines, readBySchema } from "../lib/environment/schema_words.ts";
import { masterKeysProblem } from "../people/api_keys/seal.ts";
import { leastMemoryMb, maxWorkers } from "./memory_bounds.ts";
import { retentionVariables } from "./retention.ts";
import { trialProblems, trialVariables } from "./trial.ts";
import { localAddress } from "../net/addresses/local_address.ts";
import { type MailSettings, readMailUrl } from "../people/mail/mail_url.ts";
import {
  isDenoDeploy,
  platformProblems,
  readStoreLocation,
  type StoreLocation,
} from "./platform.ts";
import { decodeBase64Url, parseUrl } from "../lib/runtime/built_ins.ts";

// Reads `GATEWAY_BACKUP_KEY`: 32 bytes in base64url, as a master key.

const keyBytes = 32;

/** Decodes the key; `undefined` if it is not one. */
export function backupKeyBytes(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!/^[A-Za-z0-9_-]+$/.test(text)) return undefined;
  const bytes = decodeBase64Url(text);
  return bytes?.length === keyBytes ? bytes : undefined;
}

/** Says what is wrong with the key, without quoting it. */
function backupKeyProblem(text: string): string | undefined {
  return backupKeyBytes(text) === undefined ? `must be ${keyBytes} bytes in base64url` : undefined;
}

// The support contact that pages and mails show, if the operator has set one.

/** The contact to which customers turn. */
export interface SupportContact {
  /** The contact as text, also for places without links. */
  readonly text: string;
  /** The contact as a link. */
  readonly href: string;
}

type ReadSupport =
  | { readonly ok: true; readonly support: SupportContact }
  | { readonly ok: false; readonly problem: string };

/**
 * Reads `GATEWAY_SUPPORT`: an e-mail address, or an https address of a page.
 *
 * @example
 * ```ts
 * import { readSupport } from "./config_variables.ts";
 * const mail = readSupport("help@gw.example");
 * if (!mail.ok || mail.support.href !== "mailto:help@gw.example") throw new Error("no mail");
 * const page = readSupport("https://gw.example/help");
 * if (!page.ok || page.support.text !== "https://gw.example/help") throw new Error("no page");
 * if (readSupport("http://gw.example").ok || readSupport("0900 000 000").ok) throw new Error("accepted");
 * ```
 */
export function readSupport(text: string): ReadSupport {
  const email = normaliseEmail(text);
  if (email !== undefined) return { ok: true, support: { text: email, href: mailtoOf(email) } };
  const url = parseUrl(text.trim());
  if (url?.protocol !== "https:" || url.username !== "" || url.password !== "") {
    return { ok: false, problem: "must be an e-mail address or an https address" };
  }
  return { ok: true, support: { text: url.href, href: url.href } };
}

/**
 * Encodes an address as a `mailto:` link; `?`, `&` and `%` are allowed in the address and not in
 * the link.
 */
function mailtoOf(email: string): string {
  return `mailto:${encodeURIComponent(email).replace("%40", "@")}`;
}

const store = z.string().transform((text, context): StoreLocation => {
  const read = readStoreLocation(text);
  if (read.ok) return read.store;
  context.addIssue({ code: "custom", message: read.problem });
  return z.NEVER;
});

const mail = z.string().transform((text, context): MailSettings => {
  const read = readMailUrl(text);
  if (read.ok) return read.mail;
  context.addIssue({ code: "custom", message: read.problem });
  return z.NEVER;
});

const support = z.string().transform((text, context): SupportContact => {
  const read = readSupport(text);
  if (read.ok) return read.support;
  context.addIssue({ code: "custom", message: read.problem });
  return z.NEVER;
});

const peerAddress = z.string().transform((text, context) => {
  const url = parseUrl(text.trim());
  if (url !== null && /^https?:$/.test(url.protocol) && url.href === `${url.origin}/`) {
    return url.origin;
  }
  context.addIssue({ code: "custom", message: "must be http(s)://host:port, without a path" });
  return z.NEVER;
});

const masterKeys = z.string().superRefine((text, context) => {
  const problem = masterKeysProblem(text);
  if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
});

const backupKey = z.string().superRefine((text, context) => {
  const problem = backupKeyProblem(text);
  if (problem !== undefined) context.addIssue({ code: "custom", message: problem });
});

const operators = z.string().transform((text, context) => {
  const addresses: string[] = [];
  for (const part of text.split(",").filter((one) => one.trim() !== "")) {
    const email = normaliseEmail(part);
    if (email !== undefined) addresses.push(email);
    else {
      const message = `"${part.trim()}" is not an e-mail address; separate several by commas`;
      context.addIssue({ code: "custom", message });
    }
  }
  return addresses;
});

const brandColours = z.string().transform((text, context): NonNullable<Brand["colours"]> => {
  const read = readColours(text);
  if (read.ok) return read.colours;
  context.addIssue({ code: "custom", message: read.problem });
  return z.NEVER;
});

/** Characters of the name in the bar of a phone, beside the search. */
const maxBrandChars = 40;

/** Characters of the company in the footer: name, tax code and address take half. */
const maxCompanyChars = 300;

const variablesSchema = z.object({
  PORT: wholeNumber(0, 65_535).default(8787),
  HOST: z.string().trim().default("127.0.0.1"),
  GATEWAY_KV: store.default({ kind: "file", path: "./data/gateway.sqlite3" }),
  GATEWAY_REGION: z.string().max(64).optional(),
  GATEWAY_BASE_URL: z.url({ protocol: /^https?$/, error: "must be a URL with http or https" })
    .transform((url) => url.replace(/\/+$/, "")).optional(),
  GATEWAY_PEER_ADDRESS: peerAddress.optional(),
  GATEWAY_MASTER_KEYS: masterKeys.optional(),
  GATEWAY_BACKUP_KEY: backupKey.optional(),
  GATEWAY_OPERATORS: operators.default([]),
  GATEWAY_OPERATOR_KEY: secretText(24).optional(),
  GATEWAY_CLIENT_ADDRESS_HEADER: z.string()
    .regex(/^[a-z0-9-]+$/, "must be a lower-case header name").optional(),
  GATEWAY_SUPPORT: support.optional(),
  GATEWAY_BRAND_NAME: z.string().trim().min(1).max(maxBrandChars).refine(isOneLine, oneLineForm)
    .optional(),
  GATEWAY_BRAND_LOGO: z.string().trim().min(1).optional(),
  GATEWAY_BRAND_COLOUR: brandColours.optional(),
  GATEWAY_BRAND_SUPPORT: support.optional(),
  GATEWAY_COMPANY: z.string().trim().min(1).max(maxCompanyChars).optional(),
  GATEWAY_KEYS_PER_MEMBER: wholeNumber(1, 1_000).default(10),
  GATEWAY_PAGES: z.string().trim().min(1).optional(),
  GATEWAY_QUEUE: z.enum(["on", "off"], { error: "must be on or off" }).optional(),
  GATEWAY_HTTP_SERVER: z.enum(["own", "runtime"], { error: "must be own or runtime" }).optional(),
  GATEWAY_STOP_DELAY_MS: wholeNumber(0, 120_000).default(0),
  GATEWAY_RECEIPT_WAIT_MS: wholeNumber(1_000, 600_000).default(30_000),
  // Longer than a fail-over of PostgreSQL, shorter than the first time-outs of proxies.
  GATEWAY_STORE_WAIT_MS: wholeNumber(0, 600_000).default(30_000),
  GATEWAY_DRAIN_MS: wholeNumber(0, 900_000).default(25_000),
  GATEWAY_MEMORY_MB: wholeNumber(512, 1_048_576).optional(),
  ...retentionVariables,
  ...trialVariables,
  GATEWAY_WORKERS: wholeNumber(1, maxWorkers).optional(),
  OTEL_DENO: z.string().default(""),
  MAIL_URL: mail.default({ kind: "log" }),
});

/** The names of the variables that the configuration reads. */
export const variableNames: readonly string[] = Object.keys(variablesSchema.shape);

/** The environment variables of the configuration, parsed. */
export type Variables = z.infer<typeof variablesSchema>;

/** Lists the problems of variables in combination. */
function jointProblems(environment: Environment): string[] {
  const problems: string[] = [];
  const { GATEWAY_SUPPORT: support, GATEWAY_BRAND_SUPPORT: ofBrand } = environment;
  if (support !== undefined && ofBrand !== undefined && support.trim() !== ofBrand.trim()) {
    problems.push(
      "environment GATEWAY_BRAND_SUPPORT: differs from GATEWAY_SUPPORT, its earlier name; set one of them",
    );
  }
  const { HOST: host, GATEWAY_BASE_URL: baseUrl, GATEWAY_KV: kv } = environment;
  if (host !== undefined && baseUrl === undefined && localAddress(host.trim(), 80) === undefined) {
    problems.push("environment HOST: cannot be part of a URL; set the address in GATEWAY_BASE_URL");
  }
  const location = kv === undefined ? undefined : readStoreLocation(kv);
  const kind = location?.ok === true ? location.store.kind : undefined;
  const needed = {
    remote: ["GATEWAY_MASTER_KEYS", "DENO_KV_ACCESS_TOKEN"],
    postgres: ["GATEWAY_MASTER_KEYS"],
    file: [],
    memory: [],
    deploy: [],
  };
  problems.push(...platformProblems(environment, kind));
  for (const name of needed[kind ?? "file"]) {
    if (environment[name] !== undefined) continue;
    if (name === "GATEWAY_MASTER_KEYS" && isDenoDeploy(environment)) continue; // reported above
    problems.push(`environment ${name}: must be set when GATEWAY_KV is a remote store`);
  }
  if (kind === "remote") {
    // The runtime reads the token itself, and fails on a line end.
    const problem = secretProblem(environment["DENO_KV_ACCESS_TOKEN"] ?? "");
    if (problem !== undefined) problems.push(`environment DENO_KV_ACCESS_TOKEN: ${problem}`);
  }
  return problems;
}

/** Each thread has the program in memory once more. */
function memoryProblems(
  { GATEWAY_WORKERS: workers = 1, GATEWAY_MEMORY_MB: memoryMb }: Variables,
): string[] {
  const leastMb = leastMemoryMb(workers);
  return memoryMb === undefined || memoryMb >= leastMb ? [] : [
    `environment GATEWAY_MEMORY_MB: must be at least ${leastMb} for GATEWAY_WORKERS=${workers}`,
  ];
}

/**
 * Reads the variables, or returns all their problems.
 *
 * @param environment what is set, see `setVariables`
 */
export function readVariables(
  environment: Environment,
): { readonly values: Variables | undefined; readonly problems: readonly string[] } {
  const read = readBySchema(variablesSchema, environment);
  const problems = read.ok
    ? [...memoryProblems(read.value), ...trialProblems(read.value)]
    : problemLines("environment", read.problems);
  return {
    values: read.ok ? read.value : undefined,
    problems: [...problems, ...jointProblems(environment)],
  };
}
