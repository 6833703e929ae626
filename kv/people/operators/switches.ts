/**
 * Turns the switches of operators: maintenance, and routes taken out. Each change carries its audit
 * line.
 */
import type { Control } from "../../engine/control/control.ts";
import { type Actor, addAuditLine } from "../audit/operator_audit.ts";

/** The operator who turns a switch, and the time. */
export interface SwitchAct {
  readonly operator: Actor;
  readonly nowMs: number;
}

/** The acts on a route; `enable` reverses the others. */
export const routeActions = ["enable", "drain", "disable"] as const;
export type RouteAction = typeof routeActions[number];

/** The message for clients if the operator wrote none. */
export const plainMaintenanceMessage = "The service is under maintenance";

/**
 * Turns maintenance on, or off if there is no message.
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
 * Takes a route out, or back in. The caller checks that the route exists.
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
