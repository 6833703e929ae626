/**
 * The settings of an organisation beside its people, keys and budgets, as the model of organisations has them: one value
 * each, or things by their number. Which act of `docs/roles.md` each change is stands in its row.
 */
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { fromVnd } from "../../../core/billing/money/micro_vnd.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import { getInvoiceSettings } from "../../../kv/money/invoices/invoices.ts";
import { listTopupOrders } from "../../../kv/money/payments/topups.ts";
import type { Account } from "../../../kv/people/accounts/accounts.ts";
import { listCompanyDomains } from "../../../kv/people/organisations/company_sign_in.ts";
import { listPresets } from "../../../kv/people/organisations/presets.ts";
import { listTeams } from "../../../kv/people/organisations/teams.ts";
import { listEndpoints } from "../../../kv/people/webhooks/endpoints.ts";
import type { ActName } from "../../../routes/acts/spending.ts";

/** Values that a setting may have, and things of each kind that there may be. */
export const settingValues = 3;

export const organisationNames = ["Zirkonia", "Zirkonia & Co", "New Zirkonia"] as const;

/** How an act on settings is sent for a value, with the id of the thing that it is about. */
interface SettingWays {
  readonly form: (
    value: number,
    id: string,
  ) => readonly [path: string, fields?: Record<string, string>];
  readonly request: (
    value: number,
    id: string,
  ) => readonly [method: string, path: string, body?: unknown];
  /** What it changes, and how: a single setting, or one thing of a kind made, changed or ended. */
  readonly changes: readonly ["is", Single] | readonly ["makes" | "changes" | "ends", Kind];
}

const singles = ["name", "mark", "buyer", "tags", "movers", "calls"] as const;
type Single = typeof singles[number];

const kinds = ["teams", "domains", "webhooks", "orders", "presets"] as const;
type Kind = typeof kinds[number];

const phoneOf = (value: number) => value === 0 ? "" : `+8490123456${value}`;

/** The tags that calls have to name; calls of a sequence always name both. */
const tagsOf = (value: number) => ["env", "team"].slice(0, value);
export const callTags = "team=search,env=prod";

const movedBy = (value: number) => value === 1 ? "makers" : "admins";
/** The order of routes of calls; nothing: none is set. */
const sortOf = (value: number) => ["", "price", "latency"][value] ?? "";
const markOf = (value: number) => String(value * 10_000);
const domainOf = (value: number) => `d${value}.zirkonia.example`;
const presetOf = (value: number) => `preset-${value}`;
const urlOf = (value: number) => `https://hooks${value}.zirkonia.example/in`;
const orderOf = (value: number) => 10_000 + value;
const api = "/v1/organisation";

/** Acts of which each operation changes a setting, or makes, changes or ends a thing. */
export const settingActs = {
  renameOrganisation: {
    form: (value) => ["/organisation/name", { name: organisationNames[value] ?? "" }],
    request: (value) => ["PATCH", api, { name: organisationNames[value] }],
    changes: ["is", "name"],
  },
  changeLowBalanceWarning: {
    form: (value) => ["/wallet/low-balance", { mark: markOf(value) }],
    request: (value) => ["PATCH", `${api}/low-balance`, { amount_vnd: value * 10_000 }],
    changes: ["is", "mark"],
  },
  changeBillingDetails: {
    form: (value) => ["/account/invoice", { type: "company", phone: phoneOf(value) }],
    request: (value) => ["PATCH", `${api}/billing-details`, {
      type: "company",
      phone: phoneOf(value),
    }],
    changes: ["is", "buyer"],
  },
  changeRequiredTags: {
    form: (value) => ["/budgets/tags", { tags: tagsOf(value).join(" ") }],
    request: (value) => ["PATCH", `${api}/required-tags`, { tags: tagsOf(value) }],
    changes: ["is", "tags"],
  },
  changeKeyRules: {
    form: (value) => ["/organisation/key-rules", { movedBy: movedBy(value) }],
    request: (value) => ["PATCH", `${api}/key-rules`, { moved_by: movedBy(value) }],
    changes: ["is", "movers"],
  },
  changeCallSettings: {
    form: (value) => ["/organisation/calls", { "calls-sort": sortOf(value) }],
    request: (value) => ["PATCH", `${api}/call-settings`, {
      calls: value === 0 ? null : { sort: sortOf(value) },
    }],
    changes: ["is", "calls"],
  },
  savePreset: {
    form: (value) => ["/organisation/presets", { name: presetOf(value), model: "low-cost-01" }],
    request: (value) => ["POST", `${api}/presets`, {
      name: presetOf(value),
      model: "low-cost-01",
    }],
    changes: ["makes", "presets"],
  },
  deletePreset: {
    form: (_, id) => ["/organisation/presets/delete", { name: id }],
    request: (_, id) => ["DELETE", `${api}/presets/${id}`],
    changes: ["ends", "presets"],
  },
  createTeam: {
    form: (value) => ["/organisation/teams", { teamName: `team ${value}` }],
    request: (value) => ["POST", `${api}/teams`, { name: `team ${value}` }],
    changes: ["makes", "teams"],
  },
  deleteTeam: {
    form: (_, id) => ["/organisation/teams/delete", { team: id }],
    request: (_, id) => ["DELETE", `${api}/teams/${id}`],
    changes: ["ends", "teams"],
  },
  addDomain: {
    form: (value) => ["/organisation/sign-in/domains", { domain: domainOf(value) }],
    request: (value) => ["POST", `${api}/domains`, { domain: domainOf(value) }],
    changes: ["makes", "domains"],
  },
  removeDomain: {
    form: (value) => ["/organisation/sign-in/domains/remove", { domain: domainOf(value) }],
    request: (value) => ["DELETE", `${api}/domains/${domainOf(value)}`],
    changes: ["ends", "domains"],
  },
  createWebhook: {
    form: (value) => ["/webhooks", {
      destination: "webhook",
      url: urlOf(value),
      kinds: "budget.reached",
      form: crypto.randomUUID(),
    }],
    request: (value) => ["POST", `${api}/webhooks`, {
      url: urlOf(value),
      kinds: ["budget.reached"],
    }],
    changes: ["makes", "webhooks"],
  },
  changeWebhook: {
    form: (_, id) => [`/webhooks/${id}/switch`, { on: "no" }],
    request: (_, id) => ["PATCH", `${api}/webhooks/${id}`, { enabled: false }],
    changes: ["changes", "webhooks"],
  },
  deleteWebhook: {
    form: (_, id) => [`/webhooks/${id}/delete`, { form: crypto.randomUUID() }],
    request: (_, id) => ["DELETE", `${api}/webhooks/${id}`],
    changes: ["ends", "webhooks"],
  },
  createTopup: {
    form: (value) => ["/wallet/orders", {
      amount: String(orderOf(value)),
      form: crypto.randomUUID(),
    }],
    request: (value) => ["POST", `${api}/topups`, { amount_vnd: orderOf(value) }],
    changes: ["makes", "orders"],
  },
  cancelTopup: {
    form: (_, id) => [`/wallet/orders/${id}/cancel`],
    request: (_, id) => ["POST", `${api}/topups/${id}/cancel`],
    changes: ["changes", "orders"],
  },
} as const satisfies Readonly<Partial<Record<ActName, SettingWays>>>;

export type SettingAct = keyof typeof settingActs;

const isSettingAct = (name: string): name is SettingAct => Object.hasOwn(settingActs, name);

export const settingActNames: readonly SettingAct[] = Object.keys(settingActs).filter(isSettingAct);

/** The acts that have a step of their own in the model. */
type SteppedAct =
  | "changeMember"
  | "removeMember"
  | "createInvitation"
  | "withdrawInvitation"
  | "handOver"
  | "createKey"
  | "changeKey"
  | "rotateKey"
  | "revokeKey"
  | "createManagementKey"
  | "revokeManagementKey"
  | "createBudget"
  | "changeBudget"
  | "deleteBudget";

/** The acts that sequences do not try, with the reason: an act that is tried nowhere does not compile. */
export const untriedActs: Readonly<
  Record<Exclude<ActName, SettingAct | SteppedAct>, string>
> = {
  authorizeApp: "gives a code, whose redeeming makes a key as createKey does: oauth_api_test",
  readmitMember:
    "only people who came from the organisation's provider are kept out after a removal",
  setProviderKey: "asks a provider; by page and program in own_keys_acts_test",
  removeProviderKey: "needs a key of a provider",
  connectCompanySignIn: "asks a provider for its metadata",
  changeCompanySignIn: "needs a provider",
  disconnectCompanySignIn: "needs a provider",
  requireCompanySignIn: "needs a provider",
  requireSecondFactor: "sends everybody without a factor away from the pages that are tried",
  verifyDomain: "asks a name server",
  redeemVoucher: "what a campaign gives has a model of its own, three_ways_test",
  requestInvoice: "needs paid top-ups",
  rotateWebhookSecret: "changes nothing but a secret that nobody sees again",
  testWebhook: "sends a request and changes nothing",
  resendWebhookDelivery: "sends a request and changes nothing",
};

/** `changed`: switched off, or cancelled. */
type Thing = "made" | "changed";

export class SettingsModel {
  readonly singles: Record<Single, number> = {
    name: 0,
    mark: 0,
    buyer: 0,
    tags: 0,
    movers: 0,
    calls: 0,
  };
  readonly things: Readonly<Record<Kind, Map<number, Thing>>> = {
    teams: new Map(),
    domains: new Map(),
    webhooks: new Map(),
    orders: new Map(),
    presets: new Map(),
  };

  /** Whether it makes sense to try: a second thing of one number would be another one of the same name. */
  canBeTried(act: SettingAct, value: number): boolean {
    const [how, what] = settingActs[act].changes;
    return how === "is" || (how === "makes") !== this.things[what].has(value);
  }

  apply(act: SettingAct, value: number): void {
    const [how, what] = settingActs[act].changes;
    if (how === "is") this.singles[what] = value;
    else if (how === "ends") this.things[what].delete(value);
    else this.things[what].set(value, how === "makes" ? "made" : "changed");
  }

  expected() {
    const { name, mark, buyer, tags, movers, calls } = this.singles;
    const list = (of: Map<number, Thing>) => [...of].sort(([one], [other]) => one - other);
    const { teams, domains, webhooks, orders, presets } = this.things;
    return {
      name: organisationNames[name],
      mark: mark === 0 ? undefined : fromVnd(Number(markOf(mark))),
      buyer: phoneOf(buyer),
      tags: tagsOf(tags),
      movers: movedBy(movers),
      calls: sortOf(calls),
      teams: list(teams).map(([at]) => at),
      domains: list(domains).map(([at]) => at),
      webhooks: list(webhooks),
      orders: list(orders),
      presets: list(presets).map(([at]) => at),
    };
  }
}

/** The ids of the things that there are, by their number. */
export type ThingIds = Readonly<Record<Kind, ReadonlyMap<number, string>>>;

const numbers = Array.from({ length: settingValues }, (_, at) => at);

/** What the store has, in the words of the model, and the ids of things. */
export async function observedSettings(kv: KeyValueStore, account: Account) {
  const id: AccountId = account.id;
  const teams = await listTeams(kv, id);
  const domains = await listCompanyDomains(kv, id);
  const webhooks = await listEndpoints(kv, id);
  const presets = await listPresets(kv, id);
  const orders = await listTopupOrders(kv, id, { count: 50 });
  const ofPresets = numbers.flatMap((at) =>
    presets.filter(({ name }) => name === presetOf(at)).map(() => at)
  );
  const found = <Row>(rows: readonly Row[], isIt: (row: Row, at: number) => boolean) =>
    numbers.flatMap((at) => rows.filter((row) => isIt(row, at)).map((row) => [at, row] as const));
  const ofTeams = found(teams, ({ name }, at) => name === `team ${at}`);
  const ofDomains = found(domains, ({ domain }, at) => domain === domainOf(at));
  const ofWebhooks = found(webhooks, ({ url }, at) => url === urlOf(at));
  const ofOrders = found(
    orders,
    ({ askedMicroVnd }, at) => askedMicroVnd === fromVnd(orderOf(at)),
  );
  const ids: ThingIds = {
    teams: new Map(ofTeams.map(([at, team]) => [at, team.id])),
    domains: new Map(ofDomains.map(([at]) => [at, domainOf(at)])),
    webhooks: new Map(ofWebhooks.map(([at, one]) => [at, one.id])),
    orders: new Map(ofOrders.map(([at, { code }]) => [at, code])),
    presets: new Map(ofPresets.map((at) => [at, presetOf(at)])),
  };
  const settings = {
    name: account.organisation?.name,
    mark: account.lowBalanceMicroVnd,
    buyer: (await getInvoiceSettings(kv, id)).phone ?? "",
    tags: [...account.requiredTags ?? []],
    movers: account.makersMoveKeys === true ? "makers" : "admins",
    calls: account.calls?.sort ?? "",
    teams: ofTeams.map(([at]) => at),
    domains: ofDomains.map(([at]) => at),
    webhooks: ofWebhooks.map(([at, one]) => [at, one.isOn ? "made" : "changed"]),
    orders: ofOrders.map(([at, { state }]) => [at, state === "cancelled" ? "changed" : "made"]),
    presets: ofPresets,
  };
  return { ids, settings };
}
