/**
 * Opens the wallet engine, which keeps wallets exact for any number of instances: a call usually
 * needs no store access before it starts, and shares one durable commit with other calls when it
 * ends. `lease/instance_lease.ts`, `lease/lease_book.ts`, `settle/transfers.ts` and
 * `settle/settlements.ts` describe the mechanism.
 *
 * - Folder `kv/money/wallet/`: the wallet engine: reservations, settlement, balances, and the recovery of money from
 *   dead instances.
 * - In: reservations before calls, receipts after them, and a timer for the work that follows.
 * - Out: money reserved or refused, durable settlements, balances.
 * - Never: sets a balance (there are only movements), or settles on a lease without checking the instance lease in
 *   the same commit.
 */
export type { DebtRules } from "./lease/transfer_plan.ts";
export { runningInstances, StoppedError, WrittenInstances } from "./lease/instance_lease.ts";
export type {
  Attachment,
  Balance,
  Extension,
  ReceiptDraft,
  Refusal,
  Reservation,
  ReserveResult,
  RowWriter,
  WalletEngine,
  WithheldAnswer,
} from "./lease/types.ts";
export { instanceTtlMs, openWalletEngine } from "./open_wallet_engine.ts";
export { reapEndedInstances, reapExpiredInstances } from "./reaper.ts";
export { warnOfLowBalances } from "./low_balance.ts";
