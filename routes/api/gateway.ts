/** Everything the API needs, wired once in `main.ts`. Time, network, store and random are all in here. */
import type { AnswerBudget } from "../../core/lib/bytes/answer_budget.ts";
import type { BodyBudget } from "../../core/lib/bytes/body_budget.ts";
import type { SeenPrompts } from "../../core/calls/bounds/seen_prompts.ts";
import type { RouteAffinity } from "../../core/routing/route_affinity.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import type { RecentItems } from "../../core/calls/request/recent_items.ts";
import type { OutputExpectations } from "../../core/calls/bounds/output_expectations.ts";
import type { Config } from "../../core/config/config.ts";
import type { Deadlines } from "../../core/lib/time/deadlines.ts";
import type { Availability } from "../../core/routing/availability.ts";
import type { Router } from "../../core/routing/router.ts";
import type { Control } from "../../kv/operators/control.ts";
import type { KeyDirectory } from "../../kv/api_keys/key_directory.ts";
import type { KeyedWalletEngine } from "../../kv/api_keys/keyed_wallet.ts";
import type { RefusedBodies } from "../http/refused_bodies.ts";
import type { Registry } from "../telemetry/registry.ts";
import type { CallObserver } from "../telemetry/telemetry.ts";
import type { KeyedCalls } from "./keyed_calls.ts";
import type { CallsInFlight } from "./calls_in_flight.ts";
import type { CallLog } from "./call_log.ts";
import type { MediaServices } from "./media/media_services.ts";
import type { KeyValueStore } from "../../kv/store/key_value_store.ts";

export interface Gateway {
  readonly config: Config;
  readonly clock: Clock;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  readonly deadlines: Deadlines;
  readonly kv: KeyValueStore;
  readonly control: Control;
  readonly directory: KeyDirectory;
  readonly wallet: KeyedWalletEngine;
  readonly router: Router;
  readonly availability: Availability;
  /** What providers reported lately for the prompts of streams. */
  readonly seenPrompts: SeenPrompts;
  /** What calls produced of late, for what the next ones hold. */
  readonly expectations: OutputExpectations;
  /** Which route answered a conversation last. */
  readonly routeAffinity: RouteAffinity;
  /** What Responses clients may refer to by id. */
  readonly recentItems: RecentItems;
  readonly calls: CallsInFlight;
  /** What calls hold in memory of large bodies. */
  readonly bodies: BodyBudget;
  /** What refused requests still send. */
  readonly refusedBodies: RefusedBodies;
  /** What they hold of large answers. */
  readonly answers: AnswerBudget;
  /** Calls under a key of the client (`Idempotency-Key`). */
  readonly keyedCalls: KeyedCalls;
  readonly log: CallLog;
  readonly metrics: Registry;
  /** Asked where a call begins; its end reaches it through the log. */
  readonly observer: CallObserver;
  readonly media: MediaServices;
}
