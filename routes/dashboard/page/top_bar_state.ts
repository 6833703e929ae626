/** State of a customer's money and of the service in the top bar. */
import { topupMinMicroVnd } from "../../../core/trade/settings/settings.ts";
import type { Announcement } from "../../../kv/people/operators/announcements.ts";
import type { Membership } from "../../../kv/people/organisations/organisations.ts";
import type { ModelStatus } from "./deps.ts";

/** Level of a balance, by which it is coloured: calls are refused without money, and soon will be below the mark. */
export type BalanceLevel = "enough" | "low" | "empty";

interface ShownBalance {
  readonly totalMicroVnd: bigint;
  readonly level: BalanceLevel;
}

/** The state of the service in one word. */
export type ServiceState = "operational" | "degraded" | "incident" | "maintenance";

/** Facts of an account and of the service in the top bar. */
export interface TopBarState {
  readonly balance: ShownBalance;
  readonly service: ServiceState;
  /** Organisations of the signed-in person, for the switcher. */
  readonly organisations: readonly Membership[];
}

/**
 * Says how much a balance is worth a look. The mark is that of the customer's mails, else the smallest top-up.
 *
 * @example
 * ```ts
 * import { fromVnd } from "../../../core/billing/money/micro_vnd.ts";
 * import { balanceLevel } from "./top_bar_state.ts";
 * if (balanceLevel(fromVnd(9_999), undefined) !== "low") throw new Error("less than a top-up");
 * if (balanceLevel(fromVnd(9_999), fromVnd(5_000)) !== "enough") throw new Error("above the mark");
 * if (balanceLevel(0n, 0n) !== "empty") throw new Error("nothing left");
 * ```
 */
export function balanceLevel(
  totalMicroVnd: bigint,
  markMicroVnd: bigint | undefined,
): BalanceLevel {
  if (totalMicroVnd <= 0n) return "empty";
  return totalMicroVnd < (markMicroVnd ?? topupMinMicroVnd) ? "low" : "enough";
}

/** Names the state of the service: what operators announce comes before what routes show. */
export function serviceState(
  { maintenance, announcements, nowMs, models }: {
    readonly maintenance: string | undefined;
    /** Announcements that are not over. */
    readonly announcements: readonly Announcement[];
    readonly nowMs: number;
    readonly models: readonly ModelStatus[];
  },
): ServiceState {
  const begun = announcements.filter(({ startsAtMs }) => startsAtMs <= nowMs);
  if (maintenance !== undefined) return "maintenance";
  if (begun.some(({ kind }) => kind === "incident")) return "incident";
  if (begun.length > 0) return "maintenance";
  return models.every((state) => state === "up") ? "operational" : "degraded";
}
