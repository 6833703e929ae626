/** Recognises a hosting platform whose instances come and go, and the settings that follow from it. */
import { type Environment, holdsControls } from "../lib/environment/environment.ts";
import { parseUrl } from "../lib/runtime/built_ins.ts";

// Reads `GATEWAY_KV`.

/** Place of the gateway's records. */
export type StoreLocation =
  | { readonly kind: "memory" }
  | { readonly kind: "file"; readonly path: string }
  /** The store that Deno Deploy opens without a path, shared by all instances of the app. */
  | { readonly kind: "deploy" }
  /** A KV Connect server: several instances may share it. */
  | { readonly kind: "remote"; readonly url: string }
  /**
   * A PostgreSQL server, possibly several hosts of which one accepts writes. The address may
   * contain a password.
   */
  | { readonly kind: "postgres"; readonly url: string };

/** A location, or a `problem` that repeats nothing of the text. */
export type StoreLocationResult =
  | { readonly ok: true; readonly store: StoreLocation }
  | { readonly ok: false; readonly problem: string };

const refused = (problem: string): StoreLocationResult => ({ ok: false, problem });

/** Several hosts, `one:5432,two:5432`, do not form a URL: each is checked on its own. */
function postgresLocation(text: string): StoreLocationResult {
  const [, scheme = "", user = "", hosts = "", rest = ""] =
    /^(postgres(?:ql)?:\/\/)((?:[^@/?#]*@)?)([^/?#]+)(.*)$/.exec(text) ?? [];
  const isValid = hosts.split(",").every((host) => {
    const url = parseUrl(`${scheme}${user}${host}${rest}`);
    return url !== null && url.hostname !== "";
  });
  if (!isValid) return refused("must be a valid address: postgres://user:password@host:5432/name");
  if (!/^\/[^?#]+/.test(rest)) return refused("must name the database: postgres://host/name");
  return { ok: true, store: { kind: "postgres", url: text } };
}

/**
 * Parses the location of the store.
 *
 * @example
 * ```ts
 * import { readStoreLocation } from "./platform.ts";
 * const read = readStoreLocation("https://kv.example.com");
 * if (!read.ok || read.store.kind !== "remote") throw new Error();
 * if (readStoreLocation("htps://kv.example.com").ok) throw new Error("a slip became a file");
 * ```
 */
export function readStoreLocation(text: string): StoreLocationResult {
  if (text === ":memory:") return { ok: true, store: { kind: "memory" } };
  if (text === "deploy") return { ok: true, store: { kind: "deploy" } };
  if (holdsControls(text)) return refused("must not contain line breaks or control characters");
  if (!text.includes("://")) return { ok: true, store: { kind: "file", path: text } };
  if (/^postgres(ql)?:\/\//.test(text)) return postgresLocation(text);
  const url = parseUrl(text);
  if (url === null || !/^https?:\/\//.test(text)) {
    return refused(
      "must be a file, :memory:, deploy, or a valid address with https://, http:// or postgres://",
    );
  }
  if (url.username !== "" || url.password !== "") {
    return refused(
      "must not contain user or password: the token of the store is DENO_KV_ACCESS_TOKEN",
    );
  }
  return { ok: true, store: { kind: "remote", url: text } };
}

/**
 * Settings of an instance on Deno Deploy unless the operator sets others.
 *
 * - The platform kills an instance 5 s after its signal to stop: streams get 1 s of it, their last
 *   events and settlements up to 3 s.
 * - Its instances have 512 MB of memory.
 */
const denoDeployDefaults: Environment = {
  GATEWAY_KV: "deploy",
  GATEWAY_DRAIN_MS: "1000",
  GATEWAY_MEMORY_MB: "512",
};

/** Whether the environment is that of Deno Deploy, which sets both variables in every instance. */
export function isDenoDeploy(environment: Environment): boolean {
  return environment["DENO_DEPLOYMENT_ID"] !== undefined ||
    environment["DENO_DEPLOY"] !== undefined;
}

/**
 * Adds the defaults of the platform to the variables that are set.
 *
 * @example
 * ```ts
 * import { withPlatformDefaults } from "./platform.ts";
 * const there = withPlatformDefaults({ DENO_DEPLOYMENT_ID: "a1", GATEWAY_DRAIN_MS: "500" });
 * if (there["GATEWAY_KV"] !== "deploy" || there["GATEWAY_DRAIN_MS"] !== "500") throw new Error();
 * if (withPlatformDefaults({})["GATEWAY_KV"] !== undefined) throw new Error("not the platform");
 * ```
 */
export function withPlatformDefaults(environment: Environment): Environment {
  return isDenoDeploy(environment) ? { ...denoDeployDefaults, ...environment } : environment;
}

/** Lists what cannot be where instances come and go; `kind` is that of the store. */
export function platformProblems(
  environment: Environment,
  kind: StoreLocation["kind"] | undefined,
): string[] {
  if (!isDenoDeploy(environment)) {
    return kind !== "deploy" ? [] : [
      "environment GATEWAY_KV: deploy names the store of Deno Deploy, where DENO_DEPLOYMENT_ID is " +
      "set; elsewhere use a file, postgres://… or the https:// address of that store",
    ];
  }
  const problems: string[] = [];
  if (kind === "file" || kind === "memory") {
    problems.push(
      "environment GATEWAY_KV: a local store ends with its instance on Deno Deploy; leave it " +
        "unset, or set postgres://… or https://…",
    );
  }
  if (environment["GATEWAY_MASTER_KEYS"] === undefined) {
    problems.push(
      "environment GATEWAY_MASTER_KEYS: must be set on Deno Deploy, where a generated key would " +
        "end with its instance",
    );
  }
  return problems;
}
