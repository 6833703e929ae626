/** Says why money moved: what the gateway wrote in the reader's language, what a person wrote as it is. */
import { formatMoneyShort } from "../../../core/billing/money/display.ts";
import type { Locale } from "../../../core/lib/base/locale.ts";
import type { LedgerEntry } from "../../../kv/money/ledger/ledger.ts";
import { readSystemReason } from "../../../kv/money/ledger/system_reasons.ts";
import { inBothLanguages } from "./statement_texts.ts";

const texts = inBothLanguages({
  en: {
    video: {
      failed: (id: string, amount: string) => `Video ${id} failed: ${amount} refunded`,
      cancelled: (id: string, amount: string) => `Video ${id} was cancelled: ${amount} refunded`,
    },
    withheld: "The answer could not be confirmed in time and was withheld: refunded",
    voided: "Play money of the sandbox, taken back",
  },
  vi: {
    video: {
      failed: (id, amount) => `Video ${id} lỗi: đã hoàn ${amount}`,
      cancelled: (id, amount) => `Video ${id} bị huỷ: đã hoàn ${amount}`,
    },
    withheld: "Câu trả lời không được xác nhận kịp nên không giao: đã hoàn tiền",
    voided: "Thu hồi tiền thử của hệ thống thử nghiệm",
  },
});

/** Returns the reason of a line of the ledger for a page. */
export function ledgerReason({ reason }: Pick<LedgerEntry, "reason">, locale: Locale): string {
  const t = texts[locale];
  const read = readSystemReason(reason);
  switch (read?.kind) {
    case undefined:
      return reason;
    case "video":
      return t.video[read.state](read.videoId, formatMoneyShort(read.amountMicroVnd, locale));
    case "withheld":
    case "voided":
      return t[read.kind];
  }
}
