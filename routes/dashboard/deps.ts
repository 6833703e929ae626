/** What the pages need of the world. */
import type { Catalog } from "../../core/catalog/catalog.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import type { MasterKeys } from "../../core/api_keys/seal.ts";
import type { SupportContact } from "../../core/config/support.ts";
import type { Control } from "../../kv/operators/control.ts";
import type { Teller } from "../../kv/wallet/mod.ts";
import type { SignInDeps } from "./sign_in/deps.ts";

/** Enough to know who is looking. Every sub-app of the dashboard gets at least this. */
export interface PageDeps {
  readonly kv: Deno.Kv;
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

/** Whether a model answers right now, by the state of its routes. */
export type ModelStatus = "up" | "degraded" | "down";

/** Sends a request into the gateway's own API, on behalf of somebody at `clientAddress`. */
export type Dispatch = (request: Request, clientAddress: string) => Response | Promise<Response>;

/** Everything for the pages of this folder. */
export interface DashboardDeps extends SignInDeps {
  readonly teller: Pick<Teller, "balance">;
  readonly masterKeys: MasterKeys;
  /** Told after keys were changed, so that it holds at once on this instance. */
  readonly control: Pick<Control, "refresh">;
  readonly catalog: Catalog;
  /** What the operator has set up: pages promise nothing else. */
  readonly offers: { readonly bankTransfer: boolean; readonly invoices: boolean };
  /** Absent: every model counts as up. */
  readonly modelStatus?: ((modelId: string) => ModelStatus) | undefined;
  /** The gateway's own API, for the playground: the same way that a call from outside takes. */
  readonly dispatch: Dispatch;
}
