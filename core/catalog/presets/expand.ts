/** Completes a provider of `gateway.json` with what its preset says. */
import { defaultConnectMs } from "../../net/http1/heads.ts";
import type { Driver } from "../../net/transport/transport.ts";
import { defined } from "../../lib/base/defined.ts";
import { type Cloud, credentialHeaderName, type ProviderAuth } from "../entries/cloud_schema.ts";
import type { RouteStyle } from "../entries/model.ts";
import { type PresetName, presetOf } from "./presets.ts";
import { type DataPolicy, type FilledPlaces, type Preset, presetPlaces } from "./preset.ts";

/** A provider as the operator wrote it. */
export interface WrittenProvider extends FilledPlaces {
  readonly preset?: PresetName | undefined;
  readonly baseUrl?: string | undefined;
  readonly apiKeyEnv?: string | readonly string[] | undefined;
  readonly apiKeyVault?: string | readonly string[] | undefined;
  readonly auth?: ProviderAuth | undefined;
  readonly cloud?: Cloud | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly driver?: Driver | undefined;
  readonly paths: Partial<Readonly<Record<RouteStyle, string>>>;
  readonly timeouts: {
    readonly connectMs?: number | undefined;
    readonly firstOutputMs?: number | undefined;
    readonly idleMs?: number | undefined;
  };
  readonly unresolvedNames: boolean;
  readonly organization?: string | undefined;
  readonly currency?: string | undefined;
  readonly dataPolicy?: DataPolicy | undefined;
}

/** A provider that is reached over the network. */
export interface HttpProvider {
  readonly kind: "http";
  readonly preset?: PresetName;
  readonly baseUrl: string;
  /** The variables of its keys; empty for one whose keys are stored, and for a server that is called without. */
  readonly apiKeyEnv: readonly string[];
  /** The names of its keys that are sealed in the store. */
  readonly apiKeyVault: readonly string[];
  readonly auth: ProviderAuth;
  readonly cloud?: Cloud;
  readonly headers: Readonly<Record<string, string>>;
  /** Absent: that of the platform. */
  readonly driver?: Driver;
  readonly paths: Partial<Readonly<Record<RouteStyle, string>>>;
  readonly timeouts: {
    readonly connectMs: number;
    readonly firstOutputMs?: number;
    readonly idleMs?: number;
  };
  readonly unresolvedNames: boolean;
  /** The organisation of all its keys; absent: each key is an account of its own. */
  readonly organization?: string;
  /** The code of the currency of its invoices; absent: VND. */
  readonly currency?: string;
  /** Policy for prompts and answers, as far as it is known. */
  readonly dataPolicy?: DataPolicy;
}

interface Problem {
  readonly path: string;
  readonly message: string;
}

function missingPlaces(written: WrittenProvider, preset: Preset | undefined): Problem[] {
  const wanted = preset?.places ?? [];
  const missing = wanted.filter((name) => written[name] === undefined)
    .map((path) => ({ path, message: `the preset needs it` }));
  const idle = presetPlaces.filter((name) => written[name] !== undefined && !wanted.includes(name))
    .map((path) => ({ path, message: "has no meaning without a preset that needs it" }));
  return [...missing, ...idle];
}

function filled(baseUrl: string, places: FilledPlaces): string {
  return presetPlaces.reduce((url, name) => url.replace(`{${name}}`, places[name] ?? ""), baseUrl);
}

function problemsOf(written: WrittenProvider, provider: HttpProvider, preset: Preset | undefined) {
  const problems = missingPlaces(written, preset);
  if (provider.baseUrl === "") {
    problems.push({
      path: "baseUrl",
      message: "is required without a preset: the address of the provider, without /v1",
    });
  }
  const keys = provider.apiKeyEnv.length + provider.apiKeyVault.length;
  if (keys === 0 && preset?.isKeyless !== true) {
    problems.push({
      path: "apiKeyEnv",
      message: "is required: the name of an environment variable that holds the key; " +
        "or apiKeyVault, the name of a stored key",
    });
  }
  if (provider.headers[credentialHeaderName(provider.auth)] !== undefined) {
    problems.push({ path: "headers", message: "must not contain the header that carries the key" });
  }
  return problems;
}

/** Completes a provider. What the operator wrote comes before what the preset says. */
export function expandProvider(
  written: WrittenProvider,
): { readonly provider: HttpProvider; readonly problems: readonly Problem[] } {
  const preset = written.preset === undefined ? undefined : presetOf(written.preset);
  const presetAuth = typeof preset?.auth === "function" ? preset.auth(written) : preset?.auth;
  const { connectMs, firstOutputMs, idleMs } = written.timeouts;
  const provider: HttpProvider = {
    kind: "http",
    ...defined({ preset: written.preset, cloud: written.cloud ?? preset?.cloud?.(written) }),
    baseUrl: written.baseUrl ?? filled(preset?.baseUrl ?? "", written),
    apiKeyEnv: [written.apiKeyEnv ?? []].flat(),
    apiKeyVault: [written.apiKeyVault ?? []].flat(),
    auth: written.auth ?? presetAuth ?? "bearer",
    headers: written.headers,
    paths: { ...preset?.paths, ...written.paths },
    timeouts: {
      connectMs: connectMs ?? preset?.timeouts?.connectMs ?? defaultConnectMs,
      ...defined({ firstOutputMs, idleMs: idleMs ?? preset?.timeouts?.idleMs }),
    },
    unresolvedNames: written.unresolvedNames,
    ...defined({
      driver: written.driver,
      organization: written.organization,
      currency: written.currency,
      // At another address than its own, a preset says nothing about who runs the server.
      dataPolicy: written.dataPolicy ??
        (written.baseUrl === undefined ? preset?.dataPolicy : undefined),
    }),
  };
  return { provider, problems: problemsOf(written, provider, preset) };
}
