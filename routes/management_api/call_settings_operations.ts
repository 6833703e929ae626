/** Operations on how calls of an organisation are served: settings, presets, and provider keys of its own. */
import { microVndPerVnd } from "../../core/billing/money/micro_vnd.ts";
import type { CallSettings } from "../../core/calls/request/call_settings.ts";
import { type PresetParameters, presetVersion } from "../../core/calls/request/presets.ts";
import { defined } from "../../core/lib/base/defined.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import {
  always,
  constant,
  count,
  dateTime,
  isoTime,
  listOf,
  optional,
  text,
} from "../../core/lib/json/schemas.ts";
import {
  type ListedPreset,
  listPresets,
  type PresetVersion,
  readPreset,
} from "../../kv/people/organisations/presets.ts";
import { listTeams, type Team } from "../../kv/people/organisations/teams.ts";
import { listOwnKeys, type OwnKey } from "../../kv/people/api_keys/own_keys.ts";
import { callSettingsChange, settingPriceNames } from "../acts/call_settings.ts";
import { ownKeyRemoval, ownKeySetting } from "../acts/own_keys.ts";
import { presetDeletion, presetSaving } from "../acts/presets.ts";
import { wrongParameter } from "../http/query.ts";
import { listing } from "./lists.ts";
import {
  actOperation,
  found,
  goneShape,
  type ManagementOperation,
  organisationPath,
  reading,
  shape,
  snakeName,
} from "./operation.ts";

const settingsSchema: JsonObject = {
  type: "object",
  description: "Settings of calls under the names of `ChangeCallSettings`; empty: none.",
};

/** Writes settings as this API takes them; empty for none. */
export function callSettingsJson(calls: CallSettings | undefined): JsonObject {
  const { models, order, only, ignore, regions, allowFallbacks, sort, maxPrice } = calls ?? {};
  const list = (some: readonly string[] | undefined) => some?.slice();
  const prices = settingPriceNames.flatMap((name): [string, number][] => {
    const amount = maxPrice?.[name];
    return amount === undefined ? [] : [[name, Number(amount / microVndPerVnd)]];
  });
  return defined({
    models: list(models),
    order: list(order),
    only: list(only),
    ignore: list(ignore),
    regions: list(regions),
    allow_fallbacks: allowFallbacks,
    sort,
    data_collection: calls?.forbidsTraining === true ? "deny" : undefined,
    zdr: calls?.forbidsRetention,
    max_price: prices.length === 0 ? undefined : Object.fromEntries(prices),
    cost_in_usage: calls?.tellsCost,
    auto_cache: calls?.autoCache,
    allowed_models: list(calls?.allowedModels),
    no_images: calls?.noImages,
    no_files: calls?.noFiles,
    mcp_servers: list(calls?.mcpServers),
    rules: calls?.rules?.map(({ name, action, pattern }) => ({ name, action, pattern })),
  });
}

/** Writes the parameters of a preset as this API takes them. */
function parametersJson({ stop, ...others }: PresetParameters): JsonObject {
  const written = Object.entries(others).map(([name, value]) => [snakeName(name), value] as const);
  return { ...Object.fromEntries(written), ...defined({ stop: stop?.slice() }) };
}

const listedShape = shape<ListedPreset>("Preset", "A preset, without its prompt.", [
  constant("object", "preset"),
  always("name", text, ({ name }) => name),
  always("model", text, ({ model }) => model),
  always("version", { ...count, description: "The newest." }, ({ version }) => version),
  always(
    "oldest_version",
    { ...count, description: "The oldest that is kept." },
    ({ oldest }) => oldest,
  ),
  always("saved_at", dateTime, ({ savedAtMs }) => isoTime(savedAtMs)),
]);

const versionShape = shape<PresetVersion>("PresetVersion", "A version of a preset.", [
  constant("object", "preset_version"),
  always("name", text, ({ name }) => name),
  always("version", count, ({ version }) => version),
  always("saved_at", dateTime, ({ savedAtMs }) => isoTime(savedAtMs)),
  always("model", text, ({ preset }) => preset.model),
  optional("system", text, ({ preset }) => preset.system),
  always("parameters", { type: "object" }, ({ preset }) => parametersJson(preset.parameters ?? {})),
  always("calls", settingsSchema, ({ preset }) => callSettingsJson(preset.calls)),
]);

const presetsPath = `${organisationPath}/presets`;
const presetPath = `${presetsPath}/{name}`;

const presetOperations: readonly ManagementOperation[] = [
  listing({
    id: "listPresets",
    path: presetsPath,
    summary: "Presets",
    description: "The presets of the organisation by name, without their prompts.",
    act: "change_presets",
    item: listedShape,
    cursorOf: ({ name }) => String(name),
    rows: ({ deps, account }) => listPresets(deps.kv, account.id),
  }),
  reading({
    id: "getPreset",
    path: presetPath,
    summary: "One preset",
    description: "Its newest version, or the one that is asked for, with its prompt.",
    act: "change_presets",
    parameters: [{ name: "version", description: "Number of a version.", schema: count }],
    answer: versionShape,
    async read({ deps, account, param, query }) {
      const asked = query.get("version");
      const version = asked === null ? undefined : presetVersion(asked);
      if (asked !== null && version === undefined) {
        throw wrongParameter("version", "must be the number of a version");
      }
      const called = { name: param("name"), version };
      const read = await readPreset(deps.kv, deps.masterKeys, account.id, called);
      return found(read, "preset");
    },
  }),
  actOperation({
    operation: presetSaving,
    method: "post",
    path: presetsPath,
    summary: "Save a preset",
    description:
      "The first version of a new name, or the next one. Calls as `@preset/name` have it within two seconds; the ten " +
      "newest versions are kept, and called as `@preset/name@3`.",
    answer: versionShape,
    example: {
      name: "support",
      model: "general-01",
      system: "You answer customers of a shop.",
      parameters: { temperature: 0.2, max_tokens: 800 },
      calls: { models: ["premium-1"], sort: "latency" },
    },
  }),
  actOperation({
    operation: presetDeletion,
    method: "delete",
    path: presetPath,
    summary: "Delete a preset",
    description: "All its versions; calls by its name are refused from then on.",
    answer: goneShape,
  }),
];

interface AllSettings {
  readonly calls: CallSettings | undefined;
  readonly teams: readonly Team[];
}

const allShape = shape<AllSettings>(
  "CallSettingsOfAll",
  "The settings of calls of an organisation and its teams.",
  [
    constant("object", "call_settings"),
    always("calls", settingsSchema, ({ calls }) => callSettingsJson(calls)),
    always(
      "teams",
      listOf({
        type: "object",
        required: ["team_id", "calls"],
        properties: { team_id: text, calls: settingsSchema },
      }),
      ({ teams }) =>
        teams.map(({ id, calls }) => ({ team_id: id, calls: callSettingsJson(calls) })),
    ),
  ],
);

const oneShape = shape<
  { readonly teamId?: string | undefined; readonly calls?: CallSettings | undefined }
>(
  "CallSettings",
  "The settings of calls of an organisation or a team.",
  [
    constant("object", "call_settings"),
    optional("team_id", text, ({ teamId }) => teamId),
    always("calls", settingsSchema, ({ calls }) => callSettingsJson(calls)),
  ],
);

const path = `${organisationPath}/call-settings`;

const ownKeyShape = shape<OwnKey>(
  "ProviderKey",
  "A key of the organisation for a provider, which its calls use first. The key itself is in no answer.",
  [
    constant("object", "provider_key"),
    // The name of the provider.
    always("id", text, ({ provider }) => provider),
    // Its last four characters, or the begin of its SHA-256.
    always("fingerprint", text, ({ fingerprint }) => fingerprint),
    // Whether calls that it does not serve go on to the operator's routes.
    always("fallback", { type: "boolean" }, ({ fallback }) => fallback),
    // Whether the provider took it when it was entered; false: the provider did not say.
    always("is_tested", { type: "boolean" }, ({ isTested }) => isTested),
    always("set_at", dateTime, ({ setAtMs }) => isoTime(setAtMs)),
    // When the provider has last refused it, and with which status.
    optional("refused_at", dateTime, ({ problem }) => problem && isoTime(problem.atMs)),
    optional("refused_status", { type: "integer" }, ({ problem }) => problem?.status),
  ],
);

const ownKeysPath = `${organisationPath}/provider-keys`;

const ownKeyOperations: readonly ManagementOperation[] = [
  listing({
    id: "listProviderKeys",
    path: ownKeysPath,
    summary: "Provider keys",
    description:
      "The keys of the organisation for providers, by provider, without the keys themselves.",
    act: "change_organisation",
    item: ownKeyShape,
    rows: ({ deps, account }) => listOwnKeys(deps.kv, account.id),
  }),
  actOperation({
    operation: ownKeySetting,
    method: "post",
    path: ownKeysPath,
    summary: "Set a provider key",
    description:
      "Tries the key at the provider, seals it, and never shows it again; a key that is there is replaced. Without `key`, " +
      "only `fallback` is changed. Calls use it on all instances within two seconds.",
    answer: ownKeyShape,
    example: { provider: "anthropic", key: "sk-ant-…", fallback: true },
  }),
  actOperation({
    operation: ownKeyRemoval,
    method: "delete",
    path: `${ownKeysPath}/{id}`,
    summary: "Remove a provider key",
    description: "The key is gone for good, and calls use the operator's routes.",
    answer: goneShape,
  }),
];

/** The operations. */
export const callSettingsOperations: readonly ManagementOperation[] = [
  reading({
    id: "getCallSettings",
    path,
    summary: "Settings of calls",
    description: "Routes, prices and answers of calls, as set for the organisation and its teams.",
    act: "view_members",
    answer: allShape,
    read: async ({ account, deps }) => ({
      calls: account.calls,
      teams: await listTeams(deps.kv, account.id),
    }),
  }),
  actOperation({
    operation: callSettingsChange,
    method: "patch",
    path,
    summary: "Replace the settings of calls",
    description:
      "Of the organisation, or of the team that `team_id` names; `calls` replaces all of them, `null` clears. They hold " +
      "on all instances within two seconds.",
    answer: oneShape,
    example: {
      calls: { models: ["general-01"], data_collection: "deny", max_price: { prompt: 9000 } },
    },
  }),
  ...ownKeyOperations,
  ...presetOperations,
];
