/** Needs of every page. */
import type { SpendGranted } from "../../../core/trade/credits/pots.ts";
import type { Brand } from "../../../core/people/mail/brand.ts";
import type { SupportContact } from "../../../core/config/config_variables.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import type { KeyValueStore } from "../../../kv/engine/store/key_value_store.ts";
import type { SuppliedPages } from "./supplied_pages.ts";

/** Needs of identifying the visitor. Every page gets at least this. */
export interface PageDeps {
  readonly kv: KeyValueStore;
  readonly clock: Clock;
  /** Public address of the service, without a trailing slash. */
  readonly baseUrl: string;
  /** E-mail addresses of operators, lower-case. */
  readonly operators: readonly string[];
  /** No real provider is configured: the wallet has play money. */
  readonly sandbox: boolean;
  /** Place of given credit in the order of spending; first if absent. */
  readonly spendGranted?: SpendGranted | undefined;
  /** The support contact. Absent: no page names one. */
  readonly support?: SupportContact | undefined;
  /** The operator's name, logo and colours. Absent: those of the project. */
  readonly brand?: Brand | undefined;
  /** Company that runs the service. Absent: no page says it. */
  readonly company?: string | undefined;
  /** The pages that the operator supplies. Absent: none. */
  readonly suppliedPages?: SuppliedPages | undefined;
  /** Returns the operator's message about the current maintenance, if there is one. */
  readonly maintenance?: (() => string | undefined) | undefined;
}
