/** The place of a thread among those of a gateway that serves on several. */
import type { Config } from "../../../core/config/config.ts";
import type { Environment } from "../../../core/lib/environment/environment.ts";
import { defaultWorkers } from "../../../core/config/memory_bounds.ts";
import type { RateBook } from "../../../core/limits/rate_book.ts";
import type { SharedAffinity } from "../../../core/routing/route_affinity.ts";
import type {
  SharedState,
  TokenAnswer,
  WantedToken,
} from "../../../core/routing/contract/shared_state.ts";
import type { KeyLimitBook } from "../../../kv/services/limits/limit_book.ts";
import type { Peers } from "../../api/gateway/peers.ts";

/** What the configuration was read from, so that each thread reads the same. */
export interface ConfigSource {
  readonly environment: Environment;
  /** The text of `gateway.json`. */
  readonly file: string;
}

/** The place of a thread. The owner has the store open; workers serve calls. */
export type Thread =
  & {
    /** Threads that serve calls. */
    readonly workers: number;
    /** The spending of keys with limits, over all threads. */
    readonly limits: KeyLimitBook;
    /** Tells the other threads what was found out about routes. */
    readonly share: (states: readonly SharedState[]) => void;
  }
  & (
    | { readonly role: "owner" }
    | {
      readonly role: "worker";
      readonly peers: Peers;
      /** The owner's book of rate limits. */
      readonly rates: RateBook;
      /** Gets a token of a cloud from the owner, which renews them for all. */
      readonly askToken: (wanted: WantedToken) => Promise<TokenAnswer>;
      /** Tells them which route answered a prompt. */
      readonly shareAffinity: (entry: SharedAffinity) => void;
    }
  );

/** How many threads serve calls. Elsewhere than on Linux several sockets cannot share a port, so there is one. */
export function workersOf({ workers, memoryMb }: Config): number {
  if (Deno.build.os !== "linux") return 1;
  return workers ?? defaultWorkers(navigator.hardwareConcurrency, memoryMb);
}
