/**
 * Seals days anew that no longer are as they were sealed, after a person has found out why: a call was settled very
 * late, a row was repaired, a master key is lost. Never automatic, and an act in the audit log.
 */
import { addAuditLine, commandLine } from "../../people/audit/operator_audit.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { cutChain } from "./days/checkpoint_chain.ts";
import { type BooksOptions, type BooksReport, verifyBooks } from "./verify_books.ts";

/**
 * Verifies everything. If nothing is wrong except the seals, it removes the checkpoints from a day on and seals the days
 * again; else it changes nothing.
 */
export async function resealDays(
  kv: KeyValueStore,
  fromDay: string,
  options: BooksOptions,
): Promise<BooksReport> {
  const whole = { ...options, isFull: true };
  const report = await verifyBooks(kv, whole);
  const isOnlySeals = report.problems.every(({ kind }) => kind === "seal") &&
    report.problems.length === report.problemCount;
  if (!isOnlySeals) return report;
  await cutChain(kv, fromDay, (op) =>
    addAuditLine(op, commandLine, {
      act: "days_resealed",
      subject: fromDay,
      detail: report.problems.map(({ detail }) => detail).join("; "),
      atMs: options.nowMs,
    }));
  return await verifyBooks(kv, whole);
}
