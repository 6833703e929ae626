/**
 * `doctor`: says what of the configuration is incomplete, how the store is, and how to mend it. It changes nothing, so it
 * can run beside a server and before the first start; each key of a provider is tried by one call that costs nothing.
 */
import { z } from "zod";
import type { Clock } from "../../../../core/lib/time/clock.ts";
import { tryParseExactly } from "../../../../core/lib/json/exact_json.ts";
import { callbackPathOf, type SignInProvider } from "../../../../core/config/sign_in_providers.ts";
import type { Config } from "../../../../core/config/config.ts";
import { hasRealProvider } from "../../../../core/config/catalog_reading.ts";
import { credentialHeader } from "../../../../core/catalog/entries/cloud_schema.ts";
import type { HttpProvider } from "../../../../core/catalog/presets/expand.ts";

const finding = z.object({
  /** `wrong`: does not work, or customers miss it. `advice`: works, but look at it. */
  state: z.enum(["good", "advice", "wrong"]),
  area: z.string(),
  what: z.string(),
  /** Step that mends it. */
  mend: z.string().exactOptional(),
});

/** One line of the report. */
export type Finding = Readonly<z.output<typeof finding>>;

/** Reads the findings of a running server. */
export const findingsJson = z.array(finding);

const good = (area: string, what: string): Finding => ({ state: "good", area, what });

/** Something that is not set: wrong for a gateway with customers, advice for a sandbox. */
function unset(config: Config, area: string, what: string, mend: string): Finding {
  return { state: isServing(config) ? "wrong" : "advice", area, what, mend };
}

function isServing({ catalog }: Config): boolean {
  return hasRealProvider(catalog);
}

function addressFindings(config: Config): Finding[] {
  const { baseUrl } = config;
  if (baseUrl === undefined) {
    return [unset(
      config,
      "address",
      "links in mails lead to the address that this process listens on",
      "set GATEWAY_BASE_URL to the public address, such as https://api.example.com",
    )];
  }
  return baseUrl.startsWith("https:") ? [good("address", baseUrl)] : [unset(
    config,
    "address",
    `${baseUrl} is not https: cookies and keys travel readable`,
    "put a TLS proxy in front (docs/operations/proxy.md) and set GATEWAY_BASE_URL to https://…",
  )];
}

function mailFindings(config: Config): Finding[] {
  if (config.mail.kind === "log") {
    return [unset(
      config,
      "mail",
      "mail is off: nobody can sign up, reset a password or be warned",
      "set MAIL_URL, such as smtp://user:password@host:587?from=… (docs/accounts.md)",
    )];
  }
  const sent = good("mail", `sent by ${config.mail.kind}`);
  return config.mail.from === undefined
    ? [sent, {
      state: "advice",
      area: "mail",
      what: "the sender is no-reply@ the host of GATEWAY_BASE_URL",
      mend: "add ?from=… to MAIL_URL if the mail service asks for another address",
    }]
    : [sent];
}

function operatorFindings(config: Config): Finding[] {
  const { operators } = config;
  if (operators.length === 0) {
    return [unset(
      config,
      "operators",
      "nobody can open /operator",
      "set GATEWAY_OPERATORS to the e-mail addresses of those who run the service",
    )];
  }
  const named = good("operators", `${operators.length} named`);
  return operators.length === 1
    ? [named, {
      state: "advice",
      area: "operators",
      what: "sums above GATEWAY_APPROVAL_ABOVE_VND wait for a second operator, and there is none",
      mend: "name a second address in GATEWAY_OPERATORS",
    }]
    : [named];
}

function bankFindings(config: Config): Finding[] {
  const { topup } = config;
  if (topup.receivingAccounts.length === 0) {
    return [unset(
      config,
      "bank",
      "customers cannot top up by bank transfer",
      "set GATEWAY_BANK_ACCOUNTS (docs/topup.md)",
    )];
  }
  const isNoticed = topup.sepay.hmacSecret !== undefined || topup.sepay.apiKey !== undefined ||
    topup.sepayApiToken !== undefined || topup.cassoWebhookKey !== undefined;
  return [
    good("bank", `${topup.receivingAccounts.length} account(s) receive transfers`),
    ...(isNoticed ? [] : [unset(
      config,
      "bank",
      "no notices of transfers arrive: each has to be credited by hand",
      "set the secret of SePay (SEPAY_WEBHOOK_SECRET) or of Casso (CASSO_WEBHOOK_KEY)",
    )]),
    ...(topup.vatRates.length > 0 ? [] : [{
      state: "advice" as const,
      area: "bank",
      what: "customers cannot ask for VAT invoices",
      mend: "set GATEWAY_VAT_RATES, such as 2025-07-01=8",
    }]),
  ];
}

function keyFindings({ masterKeys, backupKey, store }: Config): Finding[] {
  const sealed: Finding = masterKeys !== undefined
    ? good("master keys", "from GATEWAY_MASTER_KEYS")
    : {
      state: "advice",
      area: "master keys",
      what: store.kind === "file"
        ? "in the file master.key beside the store: without it no API key can be shown again"
        : "made anew with each start: for tests only",
      mend: "keep a copy of it apart from the store, or set GATEWAY_MASTER_KEYS",
    };
  return [
    sealed,
    backupKey === undefined
      ? {
        state: "advice",
        area: "backup",
        what: "no backup can be made",
        mend:
          "set GATEWAY_BACKUP_KEY and run `deno task admin backup` each night (docs/operations/backup.md)",
      }
      : good("backup", "can be made"),
  ];
}

function faceFindings(config: Config): Finding[] {
  const { support, company, pagesFolder } = config;
  const missing: readonly (readonly [unknown, string, string])[] = [
    [support, "customers find no contact", "set GATEWAY_BRAND_SUPPORT to an address"],
    [company, "the pages do not say who runs the service", "set GATEWAY_COMPANY, as the law asks"],
    [pagesFolder, "there are no terms and no privacy page", "set GATEWAY_PAGES to their folder"],
  ];
  return missing.filter(([value]) => value === undefined).map(([, what, mend]) => ({
    state: "advice",
    area: "pages",
    what,
    mend,
  }));
}

/** Lists what the configuration itself shows. */
export function configurationFindings(config: Config): Finding[] {
  return [
    addressFindings,
    mailFindings,
    operatorFindings,
    bankFindings,
    keyFindings,
    faceFindings,
  ].flatMap((look) => look(config));
}

// Tries the keys of providers: one call each.

/** Keys that are tried: more would be a load on the providers. */
const maxKeysTried = 32;

/** Milliseconds for one call: a provider that needs longer to list its models is unwell. */
const callMs = 10_000;

/** Verdict on a key by the answer to it: everybody answers 401 or 403 to a key that is refused. */
function verdictOf(area: string, key: string, status: number): Finding {
  if (status === 401 || status === 403) {
    return {
      state: "wrong",
      area,
      what: `${key} is refused with status ${status}`,
      mend: `put a valid key into ${key}, and look at \`auth\` of the provider`,
    };
  }
  if (status >= 200 && status < 300) return good(area, `${key} is accepted`);
  return {
    state: "advice",
    area,
    what: `answers with status ${status}, so nothing is known of ${key}`,
    mend: "test a route: `deno task admin route test`",
  };
}

/** The path that lists the models of a provider: it costs nothing, and nearly every server has it. */
function modelsPath({ auth, paths }: HttpProvider): string {
  if (paths.gemini !== undefined) return paths.gemini;
  if (paths.chat !== undefined) return paths.chat.replace(/\/chat\/completions$/, "/models");
  return auth === "x-goog-api-key" ? "/v1beta/models" : "/v1/models";
}

async function tryKey(
  name: string,
  provider: HttpProvider,
  key: { readonly name: string; readonly secret: string },
  fetch: typeof globalThis.fetch,
): Promise<Finding> {
  const area = `provider ${name}`;
  if (typeof provider.auth !== "string") {
    return {
      state: "advice",
      area,
      what: "signs in to a cloud, which is not tried here",
      mend: "test a route: `deno task admin route test`",
    };
  }
  const [header, value] = credentialHeader(provider.auth, key.secret);
  const path = modelsPath(provider);
  try {
    const response = await fetch(`${provider.baseUrl}${path}`, {
      headers: { ...provider.headers, [header]: value },
      redirect: "manual",
      signal: AbortSignal.timeout(callMs),
    });
    await response.body?.cancel();
    return verdictOf(area, key.name, response.status);
  } catch (error) {
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    return {
      state: "wrong",
      area,
      what: isLate ? `has not answered within ${callMs / 1000} s` : "cannot be reached",
      mend: "look at its baseUrl, at name servers and at the firewall of this machine",
    };
  }
}

// Answers of providers have the time (RFC 9110, section 6.6.1), in whole seconds.

/** Milliseconds by which this machine's clock may differ from that of a provider: signatures of some end in minutes. */
const maxSkewMs = 10_000;

/** A `fetch` that notes how far the clocks of those who answer are from this one, beyond what the way may take. */
class TimedFetch {
  readonly skewsMs: number[] = [];
  readonly #world: Pick<DoctorWorld, "clock"> & { readonly fetch: typeof globalThis.fetch };

  constructor(world: Pick<DoctorWorld, "clock"> & { readonly fetch: typeof globalThis.fetch }) {
    this.#world = world;
  }

  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    const { clock, fetch } = this.#world;
    const beganMs = clock.nowMs();
    const response = await fetch(input, init);
    const theirMs = Date.parse(response.headers.get("date") ?? "");
    if (!Number.isNaN(theirMs)) {
      const early = Math.min(0, theirMs + 1_000 - beganMs);
      this.skewsMs.push(early + Math.max(0, theirMs - clock.nowMs()));
    }
    return response;
  };

  /** The finding about this machine's clock: one provider may be wrong, the median is not. */
  finding(): readonly Finding[] {
    if (this.skewsMs.length === 0) return [];
    const sorted = this.skewsMs.toSorted((one, other) => one - other);
    const skewMs = sorted[sorted.length >> 1] ?? 0;
    if (Math.abs(skewMs) <= maxSkewMs) return [good("clock", "agrees with those of the providers")];
    const seconds = Math.round(Math.abs(skewMs) / 1000);
    return [{
      state: "wrong",
      area: "clock",
      what: `is ${seconds} s ${skewMs < 0 ? "ahead of" : "behind"} those of the providers`,
      mend: "synchronise it by NTP: days, limits and signatures follow it",
    }];
  }
}

/** Tries every key that the environment has, each with one call that lists models. */
async function providerFindings(
  { catalog, providerKeys }: Pick<Config, "catalog" | "providerKeys">,
  world: ConstructorParameters<typeof TimedFetch>[0],
): Promise<Finding[]> {
  const timed = new TimedFetch(world);
  const tries = Object.entries(catalog.providers).flatMap(([name, provider]) => {
    if (provider.kind !== "http") return [];
    const secrets = providerKeys[name] ?? [];
    return provider.apiKeyEnv.map((variable, at) => () =>
      tryKey(name, provider, { name: variable, secret: secrets[at] ?? "" }, timed.fetch)
    );
  });
  const stored = Object.entries(catalog.providers).flatMap(([name, provider]): Finding[] =>
    provider.kind === "http" && provider.apiKeyVault.length > 0
      ? [{
        state: "advice",
        area: `provider ${name}`,
        what: "has keys that are sealed in the store, which are not tried here",
        mend: "test a route: `deno task admin route test`",
      }]
      : []
  );
  const found = await Promise.all(tries.slice(0, maxKeysTried).map((one) => one()));
  const untried = tries.length - found.length;
  return [
    ...found,
    ...(untried === 0 ? [] : [{
      state: "advice" as const,
      area: "providers",
      what: `${untried} further keys were not tried`,
      mend: "test their routes: `deno task admin route test`",
    }]),
    ...stored,
    ...timed.finding(),
  ];
}

// Asks the providers at which people sign in.

/** Answers of a provider that are read: its metadata, or the refusal of a code. */
const maxProviderAnswerChars = 64 * 1024;

const metadata = z.object({ issuer: z.string(), authorization_endpoint: z.string() });

/** Returns why sign-in at an OpenID provider cannot work. */
async function openIdProblem(
  { issuer }: SignInProvider,
  ask: (url: string, init?: RequestInit) => Promise<Response>,
): Promise<string | undefined> {
  const response = await ask(`${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`);
  const { data } = metadata.safeParse(await jsonOf(response));
  if (response.status !== 200 || data === undefined) {
    return `its /.well-known/openid-configuration cannot be read (status ${response.status})`;
  }
  return data.issuer === issuer ? undefined : `it calls itself ${data.issuer}, not ${issuer}`;
}

const refusal = z.object({ error: z.string() });

/** Returns why sign-in at GitHub cannot work; GitHub tells a wrong client from a made-up code. */
async function gitHubProblem(
  { issuer, clientId, clientSecret }: SignInProvider,
  ask: (url: string, init?: RequestInit) => Promise<Response>,
): Promise<string | undefined> {
  const response = await ask(`${issuer}/login/oauth/access_token`, {
    method: "POST",
    headers: { accept: "application/json" },
    body: new URLSearchParams({ client_id: clientId, client_secret: clientSecret, code: "doctor" }),
  });
  const { data } = refusal.safeParse(await jsonOf(response));
  if (data?.error === "bad_verification_code") return undefined;
  return data?.error === "incorrect_client_credentials" || response.status === 404
    ? "it does not accept GITHUB_CLIENT_ID with GITHUB_CLIENT_SECRET"
    : `it answers with status ${response.status} to a made-up code`;
}

async function jsonOf(response: Response): Promise<unknown> {
  const text = await response.text();
  return text.length > maxProviderAnswerChars ? undefined : tryParseExactly(text);
}

/** Looks at each provider at which people sign in. */
async function signInFindings(
  { signInProviders, baseUrl = "<GATEWAY_BASE_URL>" }: Config,
  fetch: typeof globalThis.fetch,
): Promise<Finding[]> {
  const area = "sign-in";
  if (signInProviders.length === 0) {
    return [{
      state: "advice",
      area,
      what: "password, mail link and passkey only",
      mend: "for Google, GitHub or another provider see docs/sign-in.md",
    }];
  }
  const ask = (url: string, init: RequestInit = {}) =>
    fetch(url, { ...init, redirect: "manual", signal: AbortSignal.timeout(callMs) });
  return await Promise.all(signInProviders.map(async (provider): Promise<Finding> => {
    const { id, label } = provider;
    const register = `register ${baseUrl}${callbackPathOf(id)} there as the redirect address`;
    try {
      const problem = await (id === "github" ? gitHubProblem : openIdProblem)(provider, ask);
      return problem === undefined ? good(area, `${label} answers; ${register}`) : {
        state: "wrong",
        area,
        what: `${label}: ${problem}`,
        mend: `${register}, and see docs/sign-in.md`,
      };
    } catch {
      return {
        state: "wrong",
        area,
        what: `${label} cannot be reached`,
        mend: "look at its address, at name servers and at the firewall of this machine",
      };
    }
  }));
}

const marks = { good: "ok   ", advice: "look ", wrong: "WRONG" } as const;

/** Writes the report. */
function reportText(findings: readonly Finding[]): string {
  const lines = findings.flatMap(({ state, area, what, mend }) => [
    `${marks[state]} ${area}: ${what}`,
    ...(mend === undefined ? [] : [`      ${mend}`]),
  ]);
  const wrong = findings.filter(({ state }) => state === "wrong").length;
  const end = wrong === 0
    ? "Nothing is wrong."
    : `${wrong} ${wrong === 1 ? "thing is" : "things are"} wrong.`;
  return `${[...lines, end].join("\n")}\n`;
}

/** Needs of the command. */
export interface DoctorWorld {
  readonly clock: Clock;
  readonly write: (text: string) => void | Promise<void>;
  /** Finds how the store is; not asked where a store is in memory. */
  readonly lookAtStore: () => Promise<readonly Finding[]>;
  readonly fetch?: typeof globalThis.fetch;
}

/** Runs the command. Returns its exit code: 1 if something is wrong. */
export async function runDoctor(
  config: Config,
  { clock, write, lookAtStore, fetch = globalThis.fetch }: DoctorWorld,
): Promise<number> {
  const findings = [
    ...(isServing(config) ? [] : [{
      state: "advice" as const,
      area: "sandbox",
      what:
        "no real provider is configured: calls get made-up answers, and the money is play money",
      mend: "name one in gateway.json (docs/operations/real-provider.md)",
    }]),
    ...configurationFindings(config),
    ...await signInFindings(config, fetch),
    ...(config.store.kind === "memory" ? [] : await lookAtStore()),
    ...await providerFindings(config, { clock, fetch }),
  ];
  await write(reportText(findings));
  return findings.some(({ state }) => state === "wrong") ? 1 : 0;
}
