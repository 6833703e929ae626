/** What every page needs of the gateway. */
import type { SupportContact } from "../../core/config/support.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import type { KeyValueStore } from "../../kv/store/key_value_store.ts";

/** Enough to know who is looking. Every sub-app of the dashboard gets at least this. */
export interface PageDeps {
  readonly kv: KeyValueStore;
  readonly clock: Clock;
  /** Public address of the service, without a trailing slash. */
  readonly baseUrl: string;
  /** E-mail addresses of operators, lower-case. */
  readonly operators: readonly string[];
  /** No real provider is configured: play money. */
  readonly sandbox: boolean;
  /** Whom customers turn to. Absent: no page names anybody. */
  readonly support?: SupportContact | undefined;
  /** The operator's words on the maintenance that is under way, if there is one. */
  readonly maintenance?: (() => string | undefined) | undefined;
}
