/**
 * Gives the account of an e-mail address a month of calls: `grow_log.ts <store file> <e-mail> <calls>`. Receipts and their
 * index are written as settlements and the indexer write them, a sixth of the calls is refused. Prints the token of a
 * session, and the id of one failed call.
 */
import {
  type AccountId,
  type ApiKeyId,
  beforeIdsOf,
  parseId,
  type RequestId,
} from "../core/lib/ids/ids.ts";
import type { Receipt } from "../core/billing/usage/receipt.ts";
import { findAccountByEmail } from "../kv/people/accounts/accounts.ts";
import { openSession } from "../kv/people/accounts/sessions.ts";
import { listApiKeys } from "../kv/people/api_keys/api_keys.ts";
import { writeRefusedCall } from "../kv/services/calls/refused_calls.ts";
import { RefusedHourCounts } from "../kv/services/calls/refused_hours.ts";
import { chunkGroups, groupReceipts } from "../kv/money/receipts/day_sum_group.ts";
import { writeIndex } from "../kv/money/receipts/index_write.ts";
import { ReceiptPageLayout } from "../kv/money/receipts/receipt_pages.ts";
import type { KeyValueStore } from "../kv/engine/store/key_value_store.ts";
import { print } from "./print.ts";
import { receiptDraft } from "./receipt_draft.ts";

const monthMs = 30 * 24 * 3_600_000;

/** Calls written at once, in one commit of receipts and a few of the index. */
const callsPerStep = 480;

/** One call of this many is refused. */
const refusedOneIn = 6;

/** One answered call of this many fails, and one of a tenth as many by a code of its own. */
const failedOneIn = 997;

/** One call of this many has the rare model. */
const rareOneIn = 100_003;

const models = ["premium-1", "premium-1-thinking", "fast-1"] as const;

/** The id of a call in the past; `newId` never goes back in time. */
function idAt(at: number, atMs: number): RequestId {
  const id = parseId("request", beforeIdsOf("request", atMs) + at.toString(36).padStart(16, "0"));
  if (id === undefined) throw new Error("not an id");
  return id;
}

/** The calls of the account, evenly over the month before `endMs`. */
class Month {
  readonly #accountId: AccountId;
  readonly #keyIds: readonly ApiKeyId[];

  constructor(accountId: AccountId, keyIds: readonly ApiKeyId[]) {
    this.#accountId = accountId;
    this.#keyIds = keyIds;
  }

  #keyOf(at: number): ApiKeyId {
    const keyId = this.#keyIds[at % this.#keyIds.length];
    if (keyId === undefined) throw new Error("The account has no key");
    return keyId;
  }

  receipt(at: number, atMs: number): Receipt {
    const { priceMicroVnd, ...draft } = receiptDraft(this.#keyOf(at));
    const fails = at % failedOneIn === 1;
    const code = at % (10 * failedOneIn) === 1 ? "upstream_timeout" : "upstream_unreachable";
    return {
      ...draft,
      requestId: idAt(at, atMs),
      accountId: this.#accountId,
      model: at % rareOneIn === 7 ? "rare-1" : models[at % models.length] ?? models[0],
      startedAtMs: atMs,
      latencyMs: 300 + (at * 613) % 9_000,
      firstOutputMs: 150 + (at * 97) % 700,
      costMicroVnd: fails ? 0n : priceMicroVnd,
      shortfallMicroVnd: 0n,
      ...fails && {
        outcome: "failed" as const,
        status: 502,
        attempts: [{ route: "provider/m", outcome: code, ms: 70 }],
      },
    };
  }

  refusal(at: number, atMs: number) {
    const isPoor = at % (100 * refusedOneIn) !== 0;
    return {
      requestId: idAt(at, atMs),
      accountId: this.#accountId,
      keyId: this.#keyOf(at),
      atMs,
      latencyMs: 3,
      message: "Refused by the bench",
      endpoint: "/v1/messages",
      model: "premium-1",
      ...isPoor
        ? { status: 402, code: "insufficient_balance" as const }
        : { status: 400, code: "invalid_request" as const },
    };
  }
}

async function writeReceipts(kv: KeyValueStore, receipts: readonly Receipt[]): Promise<void> {
  const pages = new ReceiptPageLayout();
  for (const receipt of receipts) pages.add(receipt);
  const op = kv.atomic();
  pages.write(op);
  await op.commit();
  for (const chunk of chunkGroups(groupReceipts(receipts))) {
    const outcome = await writeIndex(kv, chunk, { bounded: (call) => call });
    if (outcome !== "written") throw new Error(outcome);
  }
}

async function writeMonth(kv: KeyValueStore, month: Month, count: number): Promise<string> {
  const endMs = Date.now() - 60_000;
  const hours = new RefusedHourCounts(endMs);
  let failedId = "";
  for (let from = 0; from < count; from += callsPerStep) {
    const receipts: Receipt[] = [];
    const op = kv.atomic();
    for (let at = from; at < Math.min(from + callsPerStep, count); at++) {
      const atMs = Math.round(endMs - monthMs + at * monthMs / count);
      if (at % refusedOneIn === 0) {
        const refused = month.refusal(at, atMs);
        writeRefusedCall(op, refused, monthMs);
        hours.add(refused);
      } else receipts.push(month.receipt(at, atMs));
    }
    const counted = hours.write(op);
    await op.commit();
    counted();
    hours.trim(endMs);
    await writeReceipts(kv, receipts);
    failedId = receipts.find(({ outcome }) => outcome === "failed")?.requestId ?? failedId;
    if (from % (callsPerStep * 500) === 0) print(`  ${from} calls`);
  }
  return failedId;
}

const [path = "", email = "", count = "0"] = Deno.args;
using kv = await Deno.openKv(path);
const account = await findAccountByEmail(kv, email);
if (account === undefined) throw new Error(`There is no account of ${email}`);
const keys = await listApiKeys(kv, account.id);
const failedId = await writeMonth(
  kv,
  new Month(account.id, keys.map(({ id }) => id)),
  Number(count),
);
const { token } = await openSession(kv, {
  accountId: account.id,
  nowMs: Date.now(),
  method: "password",
  device: "bench",
  address: "127.0.0.1",
});
print(JSON.stringify({ token, failedId }));
