/** Dependencies of the wallet pages. */
import type { TopupSettings } from "../../../../core/trade/settings/settings.ts";
import type { WalletEngine } from "../../../../kv/money/wallet/mod.ts";
import type { PageDeps } from "../../page/page_deps.ts";

/** Needs of the wallet pages. */
export interface WalletDeps extends PageDeps {
  readonly wallet: Pick<WalletEngine, "balance">;
  readonly topup: TopupSettings;
  /** Called after a mail was added to the queue. */
  readonly hintMail: () => void;
}
