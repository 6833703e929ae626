/** What the operator's pages need of the gateway. */
import type { Catalog } from "../../../../core/catalog/catalog.ts";
import type { MasterKeys } from "../../../../core/people/api_keys/seal.ts";
import type { RouteReport } from "../../../../core/routing/contract/router.ts";
import type { TopupSettings } from "../../../../core/trade/settings/settings.ts";
import type { BalanceOf } from "../../../../kv/money/payments/bank_assignment.ts";
import type { BankIntake } from "../../../../kv/money/payments/bank_intake.ts";
import type { RefusedVersion } from "../../../../kv/services/catalog/live_catalog.ts";
import type { Control } from "../../../../kv/engine/control/control.ts";
import type { Authority } from "../../../../kv/people/operators/operator_authority.ts";
import type { WalletEngine } from "../../../../kv/money/wallet/mod.ts";
import type { RateView } from "../../../dashboard/page/rate_view.ts";
import type { CatalogEditing } from "../../catalog/editing.ts";
import type { PageDeps } from "../../../dashboard/page/page_deps.ts";
import type { SepayPollResult } from "../../../payments/sepay_poll.ts";

/** The dependencies of all pages under `/operator`. */
export interface OperatorDeps extends PageDeps {
  readonly wallet: Pick<WalletEngine, "balance">;
  readonly topup: TopupSettings;
  /** Seals the secrets of second factors. */
  readonly masterKeys: MasterKeys;
  readonly intake: BankIntake;
  readonly control: Pick<Control, "switches" | "update">;
  /** The catalogue that calls use now. */
  readonly currentCatalog: () => Catalog;
  readonly routes: () => readonly RouteReport[];
  /** Rate limits and their use; absent: none are shown. */
  readonly rates?: RateView | undefined;
  /** What changing the catalogue needs. */
  readonly editing: CatalogEditing;
  /** The version that this process cannot serve, if there is one. */
  readonly refusedCatalog?: () => RefusedVersion | undefined;
  /** Reads the provider's list of movements now. Absent: no token is set. */
  readonly poll?: (() => Promise<SepayPollResult>) | undefined;
  /** Called after a mail was added to the queue. */
  readonly hintMail: () => void;
}

/** Returns a function that reads balances, including money that running calls reserve. */
export function balanceIn({ wallet }: Pick<OperatorDeps, "wallet">): BalanceOf {
  return async (accountId) => (await wallet.balance(accountId)).totalMicroVnd;
}

/** Returns what one operator may do without a second. */
export function aloneIn({ topup }: Pick<OperatorDeps, "topup">): Authority {
  return { kind: "alone", limitMicroVnd: topup.approvalAboveMicroVnd };
}
