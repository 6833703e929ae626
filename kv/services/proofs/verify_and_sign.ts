/** Verifies the books, and signs the days that are sealed then. */
import type { TopupCheck } from "../../money/payments/topup_checks.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { ProblemList } from "../verify/checks/problems.ts";
import { type BooksOptions, type BooksReport, verifyMoney } from "../verify/verify_books.ts";
import { type SigningReport, signSealedDays } from "./signed_days.ts";
import { type VerifiedProofs, verifyProofs } from "./verify_proofs.ts";

/** Days that were signed, and what was verified of those before, if everything was read. */
export interface ProofsReport extends SigningReport {
  readonly verified?: Omit<VerifiedProofs, "problems">;
}

/** The result. Problems of proofs that were verified are among those of the books. */
export interface SignedBooks {
  readonly books: BooksReport;
  readonly topups: TopupCheck;
  readonly proofs: ProofsReport;
}

/** Verifies, and signs; wrong books are not signed. A full verification reads the signed days, too. */
export async function verifyAndSign(
  kv: KeyValueStore,
  options: BooksOptions & { readonly origin: string },
): Promise<SignedBooks> {
  let verified: ProofsReport["verified"];
  const { books, topups } = await verifyMoney(kv, options, async (isFull) => {
    if (!isFull) return new ProblemList();
    const { problems, ...read } = await verifyProofs(kv, options);
    verified = read;
    return problems;
  });
  const signed = books.ok
    ? await signSealedDays(kv, options)
    : { signedNow: [], problems: ["the books are wrong, so that no day is signed"] };
  return { books, topups, proofs: { ...signed, ...(verified !== undefined && { verified }) } };
}
