/**
 * The filter of `/operator/service`: search words, all routes or only those in trouble, and the route that was changed
 * last.
 */
import type { RouteReport } from "../../../../core/routing/contract/router.ts";

/** The filter of the route list. */
export interface RouteFilter {
  readonly search: string;
  readonly onlyTrouble: boolean;
  /** The row that was changed, by {@linkcode rowOf}: it is listed whatever the search. */
  readonly row: string | undefined;
}

/** Characters of a search; the rest is cut. */
const searchChars = 100;

/** Builds the id of a row. A route may serve several models under one id, so the model is part of it. */
export function rowOf({ model, route }: RouteReport): string {
  return `${model}:${route.id}`;
}

/** Reads the filter from the fields of an address or of a form. */
export function readRouteFilter(field: (name: string) => string | undefined): RouteFilter {
  return {
    search: (field("q") ?? "").trim().slice(0, searchChars),
    onlyTrouble: field("state") === "trouble",
    row: field("row") || undefined,
  };
}

/** Returns the address of the list, at the changed row. */
export function changedRowPath({ search, onlyTrouble, row = "" }: RouteFilter): string {
  const query = new URLSearchParams({
    ...(search !== "" && { q: search }),
    ...(onlyTrouble && { state: "trouble" }),
    row,
  });
  return `/operator/service?${query}#${encodeURIComponent(row)}`;
}

/** Whether a route does not get its calls as usual: switched, resting, on trial, stuck, or without a usable key. */
function isInTrouble({ switched, operations, credentials }: RouteReport): boolean {
  return switched !== undefined ||
    Object.values(operations).some(({ state, stuck }) => state !== "closed" || stuck) ||
    (credentials.count > 0 && credentials.resting === credentials.count);
}

/** The routes of one model. */
export interface RouteGroup {
  readonly model: string;
  readonly reports: readonly RouteReport[];
  readonly inTrouble: number;
}

/** Groups the matching routes by model, in the order of the catalogue. */
export function routeGroups(
  reports: readonly RouteReport[],
  { search, onlyTrouble, row }: RouteFilter,
): RouteGroup[] {
  const words = search.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const fits = (report: RouteReport) => {
    if (rowOf(report) === row) return true;
    if (onlyTrouble && !isInTrouble(report)) return false;
    const text = `${report.model} ${report.route.id}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return [...Map.groupBy(reports.filter(fits), ({ model }) => model)]
    .map(([model, some]) => ({
      model,
      reports: some,
      inTrouble: some.filter(isInTrouble).length,
    }));
}
