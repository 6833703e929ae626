/**
 * Polls SePay's list of movements as a second source, so that a lost webhook is noticed. The time
 * windows of polls overlap, so no state is kept between them; known movements are recognised by id
 * or by the bank's reference.
 *
 * - Folder `routes/payments/`: second sources of bank movements (the list of SePay, statement files), and files of
 *   invoices.
 * - In: pages of that list, and files.
 * - Out: notices in the intake of `kv/money/payments/`.
 * - Never: credits a wallet; the intake does.
 */
import { readSepayPage, type SepayPage } from "../../core/trade/bank/sepay.ts";
import { vietnamDateTime } from "../../core/lib/time/vietnam_time.ts";
import type { BankIntake } from "../../kv/money/payments/bank_intake.ts";
import { plainAccountNumber } from "../../core/trade/bank/receiving_account.ts";
import { parseStatement } from "../../core/trade/statements/statement_csv.ts";
import type { Operator } from "../../kv/people/audit/operator_audit.ts";

// Imports a bank's statement file: each row enters the same intake as a webhook notice.

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

/** Pages of 100 movements read in one poll: three days of a very busy account. */
const maxBankPollPages = 50;

/** Bytes of one page of a provider's list: a hundred movements of under 10 KB each. */
const maxBankPageBytes = 1024 * 1024;

/** Needs of a poll. */
export interface SepayPollDeps {
  readonly intake: BankIntake;
  readonly nowMs: () => number;
  readonly apiToken: string;
  /** `fetch`, or a replacement in tests. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
}

/** The result of a poll. */
export type SepayPollResult =
  | {
    readonly ok: true;
    readonly seen: number;
    readonly fresh: number;
    readonly unreadable: number;
  }
  /** `status` and `retryAfterSeconds` come from the provider's answer. */
  | {
    readonly ok: false;
    readonly why: "unreachable" | "refused" | "malformed";
    readonly status?: number;
    readonly retryAfterSeconds?: number;
  };

const sepayBaseUrl = "https://userapi.sepay.vn/v2";
const requestMs = 20_000;

/**
 * Reads the movements of the last `windowMs` and hands them to the intake, oldest first.
 *
 * @throws whatever the store throws; the next poll reads the same window again
 */
export async function pollSepay(
  deps: SepayPollDeps,
  windowMs: number,
): Promise<SepayPollResult> {
  let seen = 0;
  let fresh = 0;
  let unreadable = 0;
  for (let page = 1; page <= maxBankPollPages; page++) {
    const read = await readPage(deps, windowMs, page);
    if (!("events" in read)) return read;
    unreadable += read.unreadable.length;
    for (const { reason, raw } of read.unreadable) {
      await deps.intake.keepUnreadable("sepay-poll", reason, raw);
    }
    for (const event of read.events) {
      seen++;
      const raw = JSON.stringify(
        event,
        (_, value) => typeof value === "bigint" ? `${value}` : value,
      );
      if (await deps.intake.take(event, raw) === "new") fresh++;
    }
    if (!read.hasMore) break;
  }
  return { ok: true, seen, fresh, unreadable };
}

/** Reads the JSON of an answer, up to the size of a page with a hundred movements. */
async function boundedJson(response: Response): Promise<unknown> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > maxBankPageBytes) throw new SyntaxError("The page is too large");
    text += decoder.decode(chunk, { stream: true });
  }
  return JSON.parse(text + decoder.decode());
}

async function readPage(
  deps: SepayPollDeps,
  windowMs: number,
  page: number,
): Promise<SepayPage | Extract<SepayPollResult, { ok: false }>> {
  const query = new URLSearchParams({
    transaction_date_from: vietnamDateTime(deps.nowMs() - windowMs),
    transfer_type: "in",
    transaction_date_sort: "asc",
    per_page: "100",
    page: String(page),
  });
  let response: Response;
  let body: unknown;
  try {
    response = await deps.fetch(`${sepayBaseUrl}/transactions?${query}`, {
      headers: { authorization: `Bearer ${deps.apiToken}`, accept: "application/json" },
      // A redirect would send the token to another host.
      redirect: "error",
      signal: AbortSignal.timeout(requestMs),
    });
    body = response.ok ? await boundedJson(response) : await response.body?.cancel();
  } catch (error) {
    return { ok: false, why: error instanceof SyntaxError ? "malformed" : "unreachable" };
  }
  if (!response.ok) {
    const retryAfter = Number(response.headers.get("retry-after"));
    return {
      ok: false,
      why: "refused",
      status: response.status,
      ...(retryAfter > 0 && { retryAfterSeconds: retryAfter }),
    };
  }
  return readSepayPage(body) ?? { ok: false, why: "malformed", status: response.status };
}
