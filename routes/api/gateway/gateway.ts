/**
 * Everything the API needs, built once in `routes/server/assembly/assemble.ts`, with clock, network, store and random numbers.
 *
 * - Folder `routes/api/gateway/`: the services that the API needs, and what is known of running calls.
 * - In: the parts that `routes/server/assembly/` opened.
 * - Out: one `Gateway`; the calls in flight, their keys, their refunds.
 * - Never: opens a store, or reads the environment.
 */
import type { AnswerBudget } from "../../../core/lib/bytes/answer_budget.ts";
import type { BodyBudget } from "../../../core/lib/bytes/body_budget.ts";
import type { SeenPrompts } from "../../../core/calls/bounds/seen_prompts.ts";
import type { RouteAffinity } from "../../../core/routing/route_affinity.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import type { KeptResponses } from "../../../core/calls/request/kept_responses.ts";
import type { RecentItems } from "../../../core/calls/request/recent_items.ts";
import type { OutputExpectations } from "../../../core/calls/bounds/output_limit.ts";
import type { Config } from "../../../core/config/config.ts";
import type { Deadlines } from "../../../core/lib/time/deadlines.ts";
import type { RateBook } from "../../../core/limits/rate_book.ts";
import type { Availability, DayHistory } from "../../../core/routing/history/availability.ts";
import type { Router, RouterOfThreads } from "../../../core/routing/contract/router.ts";
import type { OwnKeyRouter } from "../../../core/routing/own_key_router.ts";
import type { LiveCatalog } from "../../../kv/services/catalog/live_catalog.ts";
import type { LiveVault } from "../../../kv/services/vault/live_vault.ts";
import type { Control } from "../../../kv/engine/control/control.ts";
import type { RateCardBook } from "../../../kv/money/costs/provider_sheet.ts";
import type { KeyDirectory } from "../../../kv/people/api_keys/key_directory.ts";
import type { PresetBook } from "../../../kv/people/organisations/presets.ts";
import type { WalletEngine } from "../../../kv/money/wallet/mod.ts";
import type { KeyLimitBook } from "../../../kv/services/limits/limit_book.ts";
import type { RefusedBodies } from "../../http/body/refused_bodies.ts";
import type { Registry } from "../../telemetry/registry.ts";
import type { CallObserver, EventCounts } from "../../telemetry/telemetry.ts";
import type { RefusedCallRecorder } from "../../../kv/services/calls/refused_call_recorder.ts";
import type { KeyedCalls, Peers } from "./keyed_calls.ts";
import type { CallsInFlight } from "./access_watch.ts";
import type { CallLog } from "../../telemetry/call_log.ts";
import type { MediaServices } from "./media_services.ts";
import type { PeerInstances } from "./peer_instances.ts";
import type { WithheldRefunds } from "./withheld_refunds.ts";
import type { CommitWatch } from "../../../kv/engine/parts/commit_watch.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";

/** The parts of a gateway that serve the API. */
export interface Gateway {
  readonly config: Config;
  /** The catalogue in force. A call takes it once, at its beginning. */
  readonly catalog: LiveCatalog;
  /** The keys of providers that are sealed in the store. */
  readonly vault: LiveVault;
  readonly clock: Clock;
  /** From 0 up to 1. */
  readonly random: () => number;
  readonly deadlines: Deadlines;
  readonly kv: KeyValueStore;
  /** Whether the store takes commits. */
  readonly commits: Pick<CommitWatch, "confirm">;
  readonly control: Control;
  readonly directory: KeyDirectory;
  readonly wallet: WalletEngine;
  readonly router: Router;
  /** Charges of a call whose organisation has provider keys; absent of all others. */
  readonly ownKeys?: Pick<OwnKeyRouter, "fee" | "feeOf">;
  readonly availability: Availability;
  /** The same by day, with the speed, for the public history. */
  readonly dayHistory: DayHistory;
  /** Recent reports of providers for prompts of streams. */
  readonly seenPrompts: SeenPrompts;
  /** The usual output of calls, by which streams reserve money. */
  readonly expectations: OutputExpectations;
  /** Routes that answered conversations last. */
  readonly routeAffinity: RouteAffinity;
  /** Items that Responses clients can refer to by id. */
  readonly recentItems: RecentItems;
  /** The presets of organisations. */
  readonly presets: PresetBook;
  /** Turns that Responses clients can continue by id. */
  readonly keptResponses: KeptResponses;
  readonly calls: CallsInFlight;
  /** Use of the limits of keys over a day or month. */
  readonly limits: KeyLimitBook;
  /** Use of rate limits. */
  readonly rates: RateBook;
  /** The budget for large request bodies. */
  readonly bodies: BodyBudget;
  /** Bodies of refused requests that are being discarded. */
  readonly refusedBodies: RefusedBodies;
  /** The budget for large answers. */
  readonly answers: AnswerBudget;
  /** Running calls with an `Idempotency-Key`. */
  readonly keyedCalls: KeyedCalls;
  /** Refunds of calls that were charged although their answer was withheld. */
  readonly withheldRefunds: WithheldRefunds;
  /** The rate cards of providers that are stored. */
  readonly rateCards: RateCardBook;
  /** Keeps the metadata of calls that are refused. */
  readonly refusedCalls: RefusedCallRecorder;
  readonly log: CallLog;
  readonly metrics: Registry;
  readonly events: EventCounts;
  /** Called when a call begins; the log calls it when the call ends. */
  readonly observer: CallObserver;
  readonly media: MediaServices;
  /** The other serving threads of this process, if there are any. */
  readonly peers: Peers | undefined;
  /** The other instances on the same store, if this one has an address for them. */
  readonly instances?: PeerInstances | undefined;
}

/** The gateway of a process, or of one thread of it. */
export interface ProcessGateway extends Gateway {
  readonly router: Router & RouterOfThreads;
}
