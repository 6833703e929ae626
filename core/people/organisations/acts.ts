/**
 * Roles and acts in an organisation: one table of who may do what. Pages, the management API and the tests read it; no
 * other place decides by a role.
 *
 * - Folder `core/people/organisations/`: roles of members, what each may do, and the bounds of an organisation.
 * - In: the role of a member, the name of an act.
 * - Out: whether the act is allowed, and on whose things; checked names.
 * - Never: reads who is a member (`kv/people/organisations/` does).
 */

/** The roles of members, from the most to the least. An organisation has exactly one owner. */
export const roles = ["owner", "admin", "developer", "billing", "viewer"] as const;

/** Role of a member in an organisation. */
export type Role = typeof roles[number];

/** The roles that a member can be given; ownership is handed over instead. */
export const givenRoles = ["admin", "developer", "billing", "viewer"] as const;

/** A role that a member can be given. */
export type GivenRole = typeof givenRoles[number];

/** `all`: on everything of the organisation. `own`: on what the member has made. `no`: not at all. */
export type Reach = "all" | "own" | "no";

/** The reaches of the roles, in their order. */
type ActRow = readonly [
  owner: Reach,
  admin: Reach,
  developer: Reach,
  billing: Reach,
  viewer: Reach,
];

/** All acts of members. Acts on oneself (password, sessions, leaving) need no role and are not here. */
const actTable = {
  /** Overview, requests, receipts, charts, exports of usage, rates in use. */
  view_usage: ["all", "all", "all", "all", "all"],
  /** Names, limits and masked secrets of keys. */
  view_keys: ["all", "all", "all", "no", "all"],
  /** The balance, orders, the statement. */
  view_money: ["all", "all", "all", "all", "all"],
  /** VAT invoices and the details of the buyer. */
  view_invoices: ["all", "all", "no", "all", "no"],
  view_members: ["all", "all", "all", "all", "all"],
  /** Calls in the playground, paid by the organisation. */
  call_models: ["all", "all", "all", "no", "no"],
  /** Making, showing, changing, rotating and revoking API keys. */
  change_keys: ["all", "all", "own", "no", "no"],
  /** Orders of top-ups, vouchers, the warning about a low balance. */
  top_up: ["all", "all", "no", "all", "no"],
  /** Requests for VAT invoices and the details of the buyer. */
  change_invoices: ["all", "all", "no", "all", "no"],
  /** Inviting, removing, roles of others, teams. */
  change_members: ["all", "all", "no", "no", "no"],
  /** Name, mails and rules of the organisation. */
  change_organisation: ["all", "all", "no", "no", "no"],
  /** Presets of calls, with their prompts. */
  change_presets: ["all", "all", "all", "no", "no"],
  /** Budgets and the tags that calls must have. */
  change_budgets: ["all", "all", "no", "no", "no"],
  view_budgets: ["all", "all", "all", "all", "all"],
  change_webhooks: ["all", "all", "no", "no", "no"],
  /** Keys of the management API, which can do what an admin can. */
  change_management_keys: ["all", "all", "no", "no", "no"],
  /** Activity: who did what. */
  view_activity: ["all", "all", "no", "no", "no"],
  /** Everything that the gateway keeps of the organisation, in one file. */
  export_organisation: ["all", "no", "no", "no", "no"],
  hand_over: ["all", "no", "no", "no", "no"],
  delete_organisation: ["all", "no", "no", "no", "no"],
} as const satisfies Record<string, ActRow>;

/** An act of a member. */
export type Act = keyof typeof actTable;

function isAct(name: string): name is Act {
  return Object.hasOwn(actTable, name);
}

/** All acts, in the order of the table. */
export const acts: readonly Act[] = Object.keys(actTable).filter(isAct);

/**
 * Returns on whose things a role may do an act.
 *
 * @example
 * ```ts
 * import { reachOf } from "./acts.ts";
 * if (reachOf("developer", "change_keys") !== "own") throw new Error();
 * if (reachOf("viewer", "top_up") !== "no") throw new Error();
 * ```
 */
export function reachOf(role: Role, act: Act): Reach {
  return actTable[act][roles.indexOf(role)] ?? "no";
}

/** Whether a role may do an act, at least on what the member has made. */
export function may(role: Role, act: Act): boolean {
  return reachOf(role, act) !== "no";
}

/** Whether a member may do an act on something that `makerId` made; without a maker it is no member's own. */
export function mayOn<Id extends string>(
  member: { readonly role: Role; readonly personId: Id },
  act: Act,
  makerId: Id | undefined,
): boolean {
  const reach = reachOf(member.role, act);
  return reach === "all" || (reach === "own" && makerId === member.personId);
}
