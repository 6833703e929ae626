/** Services that the threads of a gateway offer each other. */
import type { ReplayedAnswer } from "../../../core/calls/replay/replayed_answers.ts";
import type { KeptResponse } from "../../../core/calls/request/kept_responses.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { JsonObject } from "../../../core/lib/json/json.ts";
import type {
  RatedEnd,
  RateFigures,
  RateRefusal,
  RateRequest,
  RateUse,
} from "../../../core/limits/rate_book.ts";
import type { SharedAffinity } from "../../../core/routing/route_affinity.ts";
import type {
  SharedState,
  TokenAnswer,
  WantedToken,
} from "../../../core/routing/contract/router.ts";
import type { Budget } from "../../../core/limits/budgets.ts";
import type {
  BegunCall,
  BudgetUse,
  LimitedKey,
  LimitGrant,
  LimitRefusal,
  PeriodNeed,
} from "../../../kv/services/limits/limit_book.ts";
import type { PeriodAmounts } from "../../../kv/services/limits/spent_sums.ts";
import type { NoticeKind } from "../../../kv/engine/store/change_notices.ts";
import type { StoreServices } from "../../../kv/engine/messages/message_store.ts";
import type { NamedResponse } from "../../api/gateway/keyed_calls.ts";
import type { RegistrySnapshot } from "../../telemetry/registry.ts";

/** The limits of keys, whose book the owner has. A call of a key with limits has a number. */
export type LimitServices = {
  beginLimited(call: {
    readonly key: LimitedKey;
    readonly need: PeriodNeed;
    readonly startedAtMs: number;
  }): Promise<
    LimitRefusal | Omit<BegunCall, "call"> & { readonly call: number }
  >;
  extendLimited(
    more: { readonly call: number; readonly amountMicroVnd: bigint },
  ): Promise<LimitGrant | LimitRefusal>;
  giveBackLimited(part: { readonly call: number; readonly amountMicroVnd: bigint }): void;
  endLimited(end: { readonly call: number; readonly used: PeriodAmounts }): void;
  budgetUse(of: {
    readonly accountId: AccountId;
    readonly budgets: readonly Budget[];
    readonly atMs: number;
  }): Promise<readonly BudgetUse[]>;
};

/** The rate limits, whose book the owner has. An admitted call has a number. */
export type RateServices = {
  beginRated(
    request: RateRequest,
  ): Promise<
    RateRefusal | { readonly ok: true; readonly call: number; readonly figures: RateFigures }
  >;
  endRated(end: RatedEnd & { readonly call: number }): void;
  rateUse(ids: readonly string[]): readonly RateUse[] | Promise<readonly RateUse[]>;
};

/** Items of Responses answers that a worker looks for. */
export interface WantedItems {
  readonly account: AccountId;
  readonly ids: readonly string[];
}

/** Services of the owner for a worker. */
export type OwnerServices = StoreServices & LimitServices & RateServices & {
  /** Whole lines of the log, without the last line break. */
  lines(lines: string): void;
  /** The worker listens. */
  ready(nothing: null): void;
  /** The worker cannot listen, for a reason in one line. */
  failed(problem: string): void;
  share(states: readonly SharedState[]): void;
  /** All that is known of routes, for a worker that starts. */
  shared(nothing: null): readonly SharedState[];
  tokenFor(wanted: WantedToken): Promise<TokenAnswer>;
  shareAffinities(entries: readonly SharedAffinity[]): void;
  metrics(nothing: null): Promise<string>;
  replayed(id: string): Promise<ReplayedAnswer | undefined>;
  finished(id: string): Promise<boolean>;
  items(wanted: WantedItems): Promise<readonly JsonObject[]>;
  response(of: NamedResponse): Promise<KeptResponse | undefined>;
  removeResponse(of: NamedResponse): Promise<boolean>;
};

/** Services of a worker for its owner. */
export type WorkerServices = {
  notice(kind: NoticeKind): void;
  merge(states: readonly SharedState[]): void;
  mergeAffinities(entries: readonly SharedAffinity[]): void;
  snapshot(nothing: null): { readonly metrics: RegistrySnapshot; readonly calls: number };
  /** Waits for a call that is settled and has not passed on its last byte. */
  replayed(id: string): Promise<ReplayedAnswer | undefined>;
  finished(id: string): Promise<boolean>;
  items(wanted: WantedItems): readonly JsonObject[];
  response(of: NamedResponse): KeptResponse | undefined;
  removeResponse(of: NamedResponse): boolean;
  /** From now on `/readyz` answers 503. */
  stopping(nothing: null): void;
  /** Ends running calls at once. */
  abort(nothing: null): void;
  /** Accepts nothing more, waits for running calls, settles; resolves when all is done. */
  close(nothing: null): Promise<void>;
};
