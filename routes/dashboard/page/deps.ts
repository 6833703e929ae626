/** Needs of the customer's pages. */
import type { Catalog } from "../../../core/catalog/catalog.ts";
import type { Trial } from "../../../core/config/trial.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { TopupSettings } from "../../../core/trade/settings/settings.ts";
import type { Control } from "../../../kv/engine/control/control.ts";
import type { WalletEngine } from "../../../kv/money/wallet/mod.ts";
import type { KeyLimitBook } from "../../../kv/services/limits/limit_book.ts";
import type { OwnKeyDeps } from "../../acts/own_keys.ts";
import type { WebhookDeps } from "../../acts/webhooks.ts";
import type { RateView } from "./rate_view.ts";
import type { SignInDeps } from "./sign_in_deps.ts";

/** The availability of a model, by the state of its routes. */
export type ModelStatus = "up" | "degraded" | "down";

/** Sends a request to the gateway's own API on behalf of a client at `clientAddress`. */
export type Dispatch = (request: Request, clientAddress: string) => Response | Promise<Response>;

/** Models that visitors without an account may try, and who pays. */
export interface TrialDeps extends Omit<Trial, "payer"> {
  /** It costs nothing: the money is that of a sandbox. */
  readonly isPlay: boolean;
  /** Finds the account that pays; `undefined` if it does not exist. */
  readonly payer: () => Promise<AccountId | undefined>;
}

/** The dependencies of all pages in this folder. */
export interface DashboardDeps extends SignInDeps {
  readonly wallet: Pick<WalletEngine, "balance">;
  /** Refreshed after a key was changed, so that the change applies at once on this instance. */
  readonly control: Pick<Control, "refresh">;
  readonly catalog: Catalog;
  readonly checkOwnKey: OwnKeyDeps["checkOwnKey"];
  readonly topup: TopupSettings;
  /** Active API keys for each member of an organisation of several; absent: ten. */
  readonly keysPerMember?: number | undefined;
  /** The services that the operator has configured; pages offer nothing else. */
  readonly offers: { readonly bankTransfer: boolean; readonly invoices: boolean };
  /** Absent: every model counts as up. */
  readonly modelStatus?: ((modelId: string) => ModelStatus) | undefined;
  /** Rate limits and their use; absent: none are shown. */
  readonly rates?: RateView | undefined;
  /** Use of budgets. */
  readonly budgets: Pick<KeyLimitBook, "budgetUse">;
  /** Addresses that webhooks may reach, and the hint that one waits. */
  readonly webhooks: WebhookDeps;
  /** Absent: visitors cannot try models. */
  readonly trial?: TrialDeps | undefined;
  /** The gateway's own API, for the playground. Its calls are handled like calls from outside. */
  readonly dispatch: Dispatch;
}
