/** The operator's switches: maintenance, and routes taken out. Whoever turns one, the change carries its audit line. */
import type { Control } from "./control.ts";
import { type Actor, addAuditLine } from "./operator_audit.ts";

/** Who turns a switch, and when. */
export interface SwitchAct {
  readonly operator: Actor;
  readonly nowMs: number;
}

/** What may be done to a route; `enable` takes back either of the others. */
export const routeActions = ["enable", "drain", "disable"] as const;
export type RouteAction = typeof routeActions[number];

/** What clients are told when nobody wrote a message. */
export const plainMaintenanceMessage = "The service is under maintenance";

/**
 * Turns maintenance on, or off when there is no message.
 *
 * @throws {GatewayError} `overloaded` if others kept turning switches at the same time
 */
export async function setMaintenance(
  control: Pick<Control, "update">,
  message: string | undefined,
  { operator, nowMs }: SwitchAct,
): Promise<void> {
  await control.update(
    ({ routes }) =>
      message === undefined ? { routes } : { routes, maintenance: { message, sinceMs: nowMs } },
    (operation) =>
      addAuditLine(operation, operator, {
        act: "maintenance_changed",
        subject: message === undefined ? "off" : "on",
        detail: message ?? "",
        atMs: nowMs,
      }),
  );
}

/**
 * Takes a route out, or back in. That there is such a route is the caller's to check.
 *
 * @throws {GatewayError} `overloaded` if others kept turning switches at the same time
 */
export async function switchRoute(
  control: Pick<Control, "update">,
  change: { readonly routeId: string; readonly action: RouteAction; readonly reason: string },
  { operator, nowMs }: SwitchAct,
): Promise<void> {
  const { routeId, action, reason } = change;
  await control.update(
    (switches) => {
      const { [routeId]: _former, ...others } = switches.routes;
      if (action === "enable") return { ...switches, routes: others };
      const state = action === "drain" ? "draining" : "disabled";
      return { ...switches, routes: { ...others, [routeId]: { state, reason, sinceMs: nowMs } } };
    },
    (operation) =>
      addAuditLine(operation, operator, {
        act: "route_changed",
        subject: routeId,
        detail: `${action}: ${reason}`,
        atMs: nowMs,
      }),
  );
}
