/** Recognises a hosting platform whose instances come and go, and the settings that follow from it. */
import type { Environment } from "../lib/environment/environment.ts";
import type { StoreLocation } from "./store_location.ts";

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
