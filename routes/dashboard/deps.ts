/** What the pages need of the world. */
import type { Catalog } from "../../core/catalog/catalog.ts";
import type { TopupSettings } from "../../core/payments/settings.ts";
import type { MasterKeys } from "../../core/api_keys/seal.ts";
import type { Control } from "../../kv/operators/control.ts";
import type { WalletEngine } from "../../kv/wallet/mod.ts";
import type { SignInDeps } from "./sign_in/deps.ts";

/** Whether a model answers right now, by the state of its routes. */
export type ModelStatus = "up" | "degraded" | "down";

/** Sends a request into the gateway's own API, on behalf of somebody at `clientAddress`. */
export type Dispatch = (request: Request, clientAddress: string) => Response | Promise<Response>;

/** Everything for the pages of this folder. */
export interface DashboardDeps extends SignInDeps {
  readonly wallet: Pick<WalletEngine, "balance">;
  readonly masterKeys: MasterKeys;
  /** Told after keys were changed, so that it holds at once on this instance. */
  readonly control: Pick<Control, "refresh">;
  readonly catalog: Catalog;
  readonly topup: TopupSettings;
  /** What the operator has set up: pages promise nothing else. */
  readonly offers: { readonly bankTransfer: boolean; readonly invoices: boolean };
  /** Absent: every model counts as up. */
  readonly modelStatus?: ((modelId: string) => ModelStatus) | undefined;
  /** The gateway's own API, for the playground: the same way that a call from outside takes. */
  readonly dispatch: Dispatch;
}
