/** Acts on the settings of calls of an organisation and its teams; those of a key are changed with the key. */
import { z } from "zod";
import { fromVnd } from "../../core/billing/money/micro_vnd.ts";
import type { CallSettings } from "../../core/calls/request/call_settings.ts";
import {
  maxPreferredNames,
  type MaxPrice,
  routeSorts,
} from "../../core/calls/request/route_preferences.ts";
import { maxTextRules, ruleActions, ruleNameForm } from "../../core/calls/request/text_rules.ts";
import type { Catalog } from "../../core/catalog/catalog.ts";
import { defined } from "../../core/lib/base/defined.ts";
import { maxPatternChars, readPattern } from "../../core/lib/base/linear_pattern.ts";
import { maxModelNameChars } from "../../core/lib/base/limits.ts";
import { setCallSettings } from "../../kv/people/organisations/call_settings.ts";
import { done, idOf, operation, refused } from "./operation.ts";

const names = z.array(z.string().min(1).max(maxModelNameChars)).min(1).max(maxPreferredNames)
  .transform((some) => [...new Set(some)]);

/** Most models of a list of what may be called: more than a catalogue has. */
const maxAllowedModels = 500;

/** The highest price that can be set, in whole VND: above any price, and exact in a number. */
const maxPriceVnd = 1_000_000_000;

const price = z.int().min(0).max(maxPriceVnd).transform(fromVnd);

/** Names of the highest prices that settings may have. */
export const settingPriceNames = ["prompt", "completion", "request", "image"] as const;

const maxPrices = z.strictObject({
  prompt: price.exactOptional(),
  completion: price.exactOptional(),
  request: price.exactOptional(),
  image: price.exactOptional(),
});

const pattern = z.string().max(maxPatternChars).superRefine((text, refinement) => {
  const read = readPattern(text);
  if (typeof read !== "string") return;
  refinement.addIssue({ code: "custom", message: `must be a pattern; this one ${read}` });
});

const rule = z.strictObject({
  name: z.string().refine(
    (text) => ruleNameForm.test(text),
    'must be 1 to 30 letters, digits, "_", "." or "-"',
  ),
  action: z.enum(ruleActions),
  pattern,
});

/** The host of an MCP server. */
const host = z.string().max(253).toLowerCase().regex(
  /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/,
  "must be the name of a host, without scheme, port and path",
);

/** Settings of calls of a key as they are sent: they replace those that were. The models of a key are a setting of its own. */
export const keyCallSettingsInput = z.strictObject({
  models: names.exactOptional(),
  order: names.exactOptional(),
  only: names.exactOptional(),
  ignore: names.exactOptional(),
  regions: names.exactOptional(),
  allowFallbacks: z.boolean().exactOptional(),
  sort: z.enum(routeSorts).exactOptional(),
  dataCollection: z.enum(["allow", "deny"]).exactOptional(),
  zdr: z.boolean().exactOptional(),
  maxPrice: maxPrices.exactOptional(),
  costInUsage: z.boolean().exactOptional(),
  autoCache: z.boolean().exactOptional(),
  noImages: z.boolean().exactOptional(),
  noFiles: z.boolean().exactOptional(),
  mcpServers: z.array(host).max(maxPreferredNames).exactOptional(),
  rules: z.array(rule).min(1).max(maxTextRules).exactOptional(),
});

const modelNames = z.array(z.string().min(1).max(maxModelNameChars)).min(1).max(maxAllowedModels)
  .transform((some) => [...new Set(some)]);

/** Settings of calls of an organisation or a team as they are sent. */
const callSettingsInput = keyCallSettingsInput.extend({
  allowedModels: modelNames.exactOptional(),
});

/** Settings of calls as they were read. */
type SentCallSettings = z.output<typeof callSettingsInput>;

/** Returns settings as the store has them; `undefined`: there are none. */
export function callSettingsOf(
  { dataCollection, zdr, maxPrice, costInUsage, noImages, noFiles, ...same }: SentCallSettings,
): CallSettings | undefined {
  const prices: MaxPrice | undefined = maxPrice;
  const settings: CallSettings = {
    ...same,
    ...(dataCollection === "deny" && { forbidsTraining: true }),
    ...(zdr === true && { forbidsRetention: true }),
    ...(prices !== undefined && Object.keys(prices).length > 0 && { maxPrice: prices }),
    ...defined({ tellsCost: costInUsage }),
    ...(noImages === true && { noImages }),
    ...(noFiles === true && { noFiles }),
  };
  return Object.keys(settings).length === 0 ? undefined : settings;
}

/** Returns the first name in settings that the catalogue has not, by its member; names that were there may stay. */
export function unknownInCallSettings(
  sent: SentCallSettings,
  { find, providers }: Pick<Catalog, "find" | "providers">,
  former: CallSettings | undefined,
): "models" | "allowedModels" | "order" | "only" | "ignore" | undefined {
  const has = (member: "order" | "only" | "ignore") =>
    sent[member]?.every((name) =>
      Object.hasOwn(providers, name) || former?.[member]?.includes(name) === true
    ) !== false;
  const isModel = (name: string) =>
    find(name)?.kind === "chat" || former?.models?.includes(name) === true;
  if (sent.models?.every(isModel) === false) return "models";
  const isAllowable = (name: string) =>
    find(name)?.id === name || former?.allowedModels?.includes(name) === true;
  if (sent.allowedModels?.every(isAllowable) === false) return "allowedModels";
  return (["order", "only", "ignore"] as const).find((member) => !has(member));
}

const unknown = (field: string, message: string) =>
  ({ code: "invalid_request", field: `calls.${field}`, message }) as const;

/** Refusals of names in settings of calls. */
export const callSettingsRefusals = {
  models: unknown("models", "there is no such chat model"),
  allowedModels: unknown("allowedModels", "there is no model of this id"),
  order: unknown("order", "there is no such provider"),
  only: unknown("only", "there is no such provider"),
  ignore: unknown("ignore", "there is no such provider"),
} as const;

/** Replaces the settings of calls of the organisation, or of a team. */
export const callSettingsChange = operation({
  name: "changeCallSettings",
  act: "change_organisation",
  line: "call_settings_changed",
  input: z.strictObject({
    teamId: idOf("team", "must be the id of a team").exactOptional(),
    calls: callSettingsInput.nullable(),
  }),
  refusals: {
    missing: { code: "not_found", message: "There is no such team or organisation" },
    ...callSettingsRefusals,
  },
  async run({ kv, control, catalog }, { account, by, nowMs }, { teamId, calls: sent }) {
    const problem = sent === null
      ? undefined
      : unknownInCallSettings(sent, catalog, teamId === undefined ? account.calls : undefined);
    if (problem !== undefined) return refused(problem);
    const calls = sent === null ? undefined : callSettingsOf(sent);
    const isSet = await setCallSettings(kv, account.id, { teamId, calls, by, nowMs });
    await control.refresh();
    return isSet ? done({ teamId, calls }) : refused("missing");
  },
});
