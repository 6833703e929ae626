/** The columns of ledger lines in a warehouse. */
import { idTimeMs } from "../../../core/lib/ids/ids.ts";
import type { LedgerEntry } from "../../money/ledger/ledger.ts";
import type { Column } from "./parquet.ts";

/** A column that is added stands last, and no column changes its meaning: warehouses keep what they have loaded. */
export const ledgerColumns: readonly Column<LedgerEntry>[] = [
  {
    name: "ledger_id",
    type: "text",
    about: "The id of the line; unique.",
    cell: ({ ledgerId }) => ledgerId,
  },
  {
    name: "moved_at",
    type: "time",
    about: "When money moved: the time in its id, which decides its day.",
    cell: ({ ledgerId }) => idTimeMs("ledger", ledgerId),
  },
  { name: "account_id", type: "text", about: "Whose money.", cell: ({ accountId }) => accountId },
  {
    name: "amount_vnd",
    type: "vnd",
    about: "More than 0: a credit; less: a debit.",
    cell: ({ amountMicroVnd }) => amountMicroVnd,
  },
  {
    name: "kind",
    type: "text",
    about: "Why: `topup`, `refund`, `admin`, …",
    cell: ({ kind }) => kind,
  },
  {
    name: "operation_id",
    type: "text",
    about: "The id of the cause; no two lines share one.",
    cell: ({ operationId }) => operationId,
  },
  {
    name: "request_id",
    type: "text",
    about: "The call that it gives back.",
    cell: ({ requestId }) => requestId,
  },
];
