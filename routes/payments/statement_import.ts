/** Imports a bank's statement file: each row enters the same intake as a webhook notice. */
import { plainAccountNumber } from "../../core/trade/bank/receiving_account.ts";
import { parseStatement } from "../../core/trade/statements/statement_csv.ts";
import type { BankIntake } from "../../kv/money/payments/bank_intake.ts";
import type { Operator } from "../../kv/people/audit/operator_audit.ts";

/** The result of an import. */
export interface ImportResult {
  readonly rows: number;
  /**
   * Rows that no earlier statement had. Matching decides whether a webhook reported them already.
   */
  readonly fresh: number;
  readonly problems: readonly { readonly line: number; readonly what: string }[];
}

/**
 * Imports a statement. The same rows may come again in another file.
 *
 * @param importedBy the operator whose file it is: what it credits counts against what that person may move alone
 * @param account the receiving account of the file, used if the file does not name one
 * @throws whatever the store throws; import the file again then
 */
export async function importStatement(
  intake: BankIntake,
  text: string,
  account: string,
  importedBy: Operator,
): Promise<ImportResult> {
  const { events, formerIds, problems } = await parseStatement(text, plainAccountNumber(account));
  let fresh = 0;
  for (const event of events) {
    const { amountMicroVnd, direction, memo, reference = "", time } = event;
    const raw = JSON.stringify({
      line: `${
        new Date(time.atMs).toISOString()
      } ${direction} ${amountMicroVnd} ${reference} ${memo}`,
    });
    const formerId = formerIds.get(event.id);
    if (await intake.take(event, raw, { formerId, importedBy }) === "new") fresh++;
  }
  return { rows: events.length, fresh, problems };
}
