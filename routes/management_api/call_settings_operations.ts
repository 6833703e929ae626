/** Operations on the settings of calls of an organisation and its teams. */
import { microVndPerVnd } from "../../core/billing/money/micro_vnd.ts";
import type { CallSettings } from "../../core/calls/request/call_settings.ts";
import { defined } from "../../core/lib/base/defined.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import { always, constant, listOf, optional, text } from "../../core/lib/json/schemas.ts";
import { listTeams, type Team } from "../../kv/people/organisations/teams.ts";
import { callSettingsChange, settingPriceNames } from "../acts/call_settings.ts";
import {
  actOperation,
  type ManagementOperation,
  organisationPath,
  reading,
  shape,
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
    allowed_models: list(calls?.allowedModels),
    no_images: calls?.noImages,
    no_files: calls?.noFiles,
    rules: calls?.rules?.map(({ name, action, pattern }) => ({ name, action, pattern })),
  });
}

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
];
