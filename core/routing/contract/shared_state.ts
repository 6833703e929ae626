/** What the threads of a process tell each other about routes. Durations, since each thread's monotonic clock has a zero of its own. */
import type { IssuedToken } from "../../clouds/credentials/authorizer.ts";
import type { SharedBreaker } from "../health/breaker.ts";
import type { SharedCredential } from "../health/credentials.ts";
import type { SharedEvidence } from "../health/evidence.ts";
import type { SharedLimit } from "../health/limited_customers.ts";
import type { Operation } from "./router.ts";

/** A route by its names: all threads have the same configuration. */
export interface RouteName {
  readonly modelId: string;
  readonly routeId: string;
}

/** One thing that a thread found out. */
export type SharedState =
  /** The breaker of a route changed. */
  | {
    readonly kind: "breaker";
    readonly route: RouteName;
    readonly operation: Operation;
    readonly breaker: SharedBreaker;
  }
  /** How attempts ended while the breaker was closed. */
  | {
    readonly kind: "evidence";
    readonly route: RouteName;
    readonly operation: Operation;
    readonly evidence: SharedEvidence;
  }
  /** What is known of a key of a provider, by its place: secrets do not travel. */
  | {
    readonly kind: "credential";
    readonly provider: string;
    readonly at: number;
    readonly credential: SharedCredential;
  }
  /** A provider limits a customer on a route; `undefined`: no more. */
  | {
    readonly kind: "customer";
    readonly route: RouteName;
    readonly customer: string;
    readonly limit: SharedLimit | undefined;
  }
  /** Calls that a limited route served, by customer. */
  | {
    readonly kind: "served";
    readonly route: RouteName;
    readonly calls: readonly (readonly [customer: string, calls: number])[];
  }
  /** A route reported what cannot be. */
  | { readonly kind: "false_report"; readonly route: RouteName };

/** The token that a thread needs for a key of a provider. */
export interface WantedToken {
  readonly provider: string;
  readonly at: number;
  /** The token that the provider refused, if one is to be replaced. */
  readonly refused: string | undefined;
}

/** What the thread that renews tokens answers. */
export type TokenAnswer = { readonly ok: true; readonly issued: IssuedToken } | {
  readonly ok: false;
  readonly reason: string;
  readonly isRefusal: boolean;
};

/** The part of a router for the other threads of the process. */
export interface RouterOfThreads {
  /** Takes over what another thread found out. */
  adopt(states: readonly SharedState[]): void;
  /** All that is known, for a thread that starts. */
  shared(): SharedState[];
  /** Gives another thread a valid token, and renews it first if it must. */
  tokenFor(wanted: WantedToken): Promise<TokenAnswer>;
}
