/** Verifies the books, and signs the days that are sealed then. */
import type { TopupCheck } from "../../money/payments/topup_checks.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { type BooksOptions, type BooksReport, verifyMoney } from "../verify/verify_books.ts";
import { type SigningReport, signSealedDays } from "./signed_days.ts";

/** The result. */
export interface SignedBooks {
  readonly books: BooksReport;
  readonly topups: TopupCheck;
  readonly proofs: SigningReport;
}

/** Verifies, and signs; wrong books are not signed. */
export async function verifyAndSign(
  kv: KeyValueStore,
  options: BooksOptions & { readonly origin: string },
): Promise<SignedBooks> {
  const { books, topups } = await verifyMoney(kv, options);
  const proofs = books.ok
    ? await signSealedDays(kv, options)
    : { signedNow: [], problems: ["the books are wrong, so that no day is signed"] };
  return { books, topups, proofs };
}
