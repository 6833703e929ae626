/** Notes top-ups whose bonus is to be decided. The note is all that the commit of a top-up needs to write. */
import { creditOperationId } from "../../../core/trade/bank/bank_notice.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import type { CreditedTransfer } from "../payments/bank_matching.ts";
import { bonusDueKey } from "../../engine/schema/keys.ts";
import type { AtomicWrite } from "../../engine/store/key_value_store.ts";

/** A top-up whose bonus is not decided yet. */
export interface BonusDue {
  readonly operationId: string;
  readonly accountId: AccountId;
  readonly amountMicroVnd: bigint;
  readonly creditedAtMs: number;
}

/** Notes a top-up in the commit that credits it. */
export function noteTopup(
  operation: AtomicWrite,
  { account, event, atMs }: CreditedTransfer,
): void {
  const operationId = creditOperationId(event);
  const due: BonusDue = {
    operationId,
    accountId: account.id,
    amountMicroVnd: event.amountMicroVnd,
    creditedAtMs: atMs,
  };
  operation.set(bonusDueKey(operationId), due);
}
