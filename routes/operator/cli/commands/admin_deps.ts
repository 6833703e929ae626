/**
 * What the administrator's commands need of the gateway.
 *
 * - Folder `routes/operator/cli/commands/`: the commands of `deno task admin`, a file for each subject.
 * - In: checked operands and options, the store.
 * - Out: JSON, changes with their audit lines, encrypted backups.
 * - Never: credits a bank notice: the operator's pages do, which ask twice.
 */
import type { MasterKeys } from "../../../../core/people/api_keys/seal.ts";
import type { Clock } from "../../../../core/lib/time/clock.ts";
import type { ReceivingAccount } from "../../../../core/trade/bank/receiving_account.ts";
import type { Control } from "../../../../kv/engine/control/control.ts";
import type { WalletEngine } from "../../../../kv/money/wallet/mod.ts";
import type { CatalogEditing } from "../../catalog/editing.ts";
import type { BeginReading } from "./store_readings.ts";
import type { ReadSnapshot } from "../../../../kv/engine/parts/snapshot.ts";
import type { KeyValueStore } from "../../../../kv/engine/store/key_value_store.ts";

/** The dependencies of all commands. */
export interface AdminDeps {
  readonly kv: KeyValueStore;
  readonly clock: Clock;
  readonly masterKeys: MasterKeys;
  readonly control: Control;
  readonly wallet: WalletEngine;
  readonly editing: CatalogEditing;
  readonly receivingAccounts: readonly ReceivingAccount[];
  /** Reads every row as of one moment, for a backup. */
  readonly snapshot?: ReadSnapshot;
  /** Set if the service runs on the same thread: full scans of the store then yield to its calls. */
  readonly beginReading?: BeginReading;
}
