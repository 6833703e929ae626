/** Orders and names the rows of the margins page and of its file. */
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import { parseId } from "../../../../core/lib/ids/ids.ts";
import { getAccount } from "../../../../kv/people/accounts/accounts.ts";
import {
  marginBasisPoints,
  type MarginGroup,
  marginGroups,
  marginMicroVnd,
  type Margins,
  type MarginSum,
  noMargin,
  unknownCalls,
  unknownRoute,
} from "../../../../kv/money/costs/margins.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

/** What rows are sorted by. */
const sortings = ["name", "revenue", "cost", "margin", "share", "calls", "unknown"] as const;

/** A way to sort rows. */
export type Sorting = typeof sortings[number];

/** A row of the page. */
export interface MarginRow {
  /** A model, a route with its model, or an id. */
  readonly name: string;
  readonly sum: MarginSum;
  /** The same of the period before. */
  readonly before: MarginSum;
}

/** Reads a grouping of a query, by default by model. */
export function groupOf(text: string | undefined): MarginGroup {
  return marginGroups.find((group) => group === text) ?? "model";
}

/** Reads a sorting of a query; `undefined`: the usual one. */
export function sortingOf(text: string | undefined): Sorting | undefined {
  return sortings.find((sorting) => sorting === text);
}

/** Rows without a value come last, whatever the direction. */
const none = Number.NEGATIVE_INFINITY;

function valueOf({ sum }: MarginRow, by: Exclude<Sorting, "name">): number {
  switch (by) {
    case "revenue":
      return Number(sum.revenueMicroVnd);
    case "cost":
      return Number(sum.costMicroVnd);
    case "margin": {
      const margin = marginMicroVnd(sum);
      return margin === undefined ? none : Number(margin);
    }
    case "share":
      return marginBasisPoints(sum) ?? none;
    case "calls":
      return sum.calls;
    case "unknown":
      return unknownCalls(sum);
  }
}

/** Returns the rows of a grouping, sorted: by the usual sorting days the latest first, others by revenue. */
export function marginRows(
  now: Margins,
  before: Margins,
  { group, sorting, isUp }: {
    readonly group: MarginGroup;
    readonly sorting: Sorting | undefined;
    readonly isUp: boolean;
  },
): MarginRow[] {
  const rows = [...now.by[group]].map(([name, sum]): MarginRow => ({
    name,
    sum,
    before: before.by[group].get(name) ?? noMargin,
  }));
  const by = sorting ?? (group === "day" ? "name" : "revenue");
  const sign = isUp ? 1 : -1;
  return rows.sort((one, other) => {
    const names = one.name < other.name ? -1 : 1;
    if (by === "name") return sign * names;
    const [left, right] = [valueOf(one, by), valueOf(other, by)];
    if (left === right) return names;
    if (left === none) return 1;
    if (right === none) return -1;
    return sign * (left - right);
  });
}

/** Splits the name of a row of a route. */
export function routeOfRow(
  name: string,
): { readonly model: string; readonly route: string | undefined } {
  const space = name.indexOf(" ");
  const route = name.slice(space + 1);
  return { model: name.slice(0, space), route: route === unknownRoute ? undefined : route };
}

/** Reads the addresses of customers, by id. */
export async function emailsOf(
  kv: KeyValueStore,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const emails = new Map<string, string>();
  for (const id of ids) {
    const accountId: AccountId | undefined = parseId("account", id);
    const account = accountId === undefined ? undefined : await getAccount(kv, accountId);
    if (account?.email !== undefined) emails.set(id, account.email);
  }
  return emails;
}
