/** Says the details that the gateway itself writes into the audit log in the reader's language; reasons stay as typed. */
import { parseVnd } from "../../../../core/billing/money/micro_vnd.ts";
import type { AuditLine, OperatorAct } from "../../../../kv/people/audit/operator_audit.ts";
import { englishCount, formatCount, formatMoneyShort } from "../../../dashboard/text/format.ts";
import { defineTexts, type Locale } from "../../../dashboard/text/i18n.ts";

const texts = defineTexts({
  both: {
    campaigns: {
      signup: ["Credit for a sign-up", "Tặng khi đăng ký"],
      voucher: ["Voucher codes", "Mã quà tặng"],
      bonus: ["Bonus on a top-up", "Thưởng nạp tiền"],
    },
    awaiting: ["; waits for a second operator", "; chờ người vận hành thứ hai"],
    announcements: { incident: ["Incident", "Sự cố"], maintenance: ["Maintenance", "Bảo trì"] },
    ended: ["Ended", "Đã kết thúc"],
    byHand: [" (had been credited by hand)", " (đã được ghi có thủ công trước đó)"],
    switches: { on: ["On", "Bật"], off: ["Off", "Tắt"] },
  },
  en: {
    upTo: (kind: string, name: string, most: string) => `${kind} “${name}”, up to ${most}`,
    vouchers: (count: string, uses: string, name: string) =>
      `${englishCount(count, "code", "codes")}, ${
        englishCount(uses, "use", "uses")
      } each: “${name}”`,
    routes: { enable: "Put back", drain: "Draining", disable: "Taken out" },
    imported: (rows: string, fresh: string, problems: string) =>
      `${englishCount(rows, "row", "rows")}, ${fresh} new, ${
        englishCount(problems, "problem", "problems")
      }`,
    polled: (seen: string, fresh: string) =>
      `${englishCount(seen, "movement", "movements")}, ${fresh} new`,
    dropped: (rows: string, oldest: string, newest: string) =>
      `${englishCount(rows, "row", "rows")} from ${oldest} to ${newest}`,
    months: (month: string, receipts: string) =>
      `${month}: ${englishCount(receipts, "receipt", "receipts")}`,
  },
  vi: {
    upTo: (kind, name, most) => `${kind} “${name}”, tối đa ${most}`,
    vouchers: (count, uses, name) => `${count} mã, mỗi mã dùng ${uses} lần: “${name}”`,
    routes: { enable: "Đưa vào lại", drain: "Đang rút dần", disable: "Đã ngắt" },
    imported: (rows, fresh, problems) => `${rows} dòng, ${fresh} dòng mới, ${problems} lỗi`,
    polled: (seen, fresh) => `${seen} giao dịch, ${fresh} mới`,
    dropped: (rows, oldest, newest) => `${rows} dòng từ ${oldest} đến ${newest}`,
    months: (month, receipts) => `${month}: ${receipts} biên lai`,
  },
});

type Words = (detail: string, t: typeof texts["en"], locale: Locale) => string | undefined;

/** Finds the word for a part of a detail; the part itself where there is none. */
function wordOf(words: Readonly<Record<string, string>>, part: string): string {
  return Object.entries(words).find(([name]) => name === part)?.[1] ?? part;
}

/** A word of ours before a colon, and what follows. */
function prefixed(detail: string, words: Readonly<Record<string, string>>): string | undefined {
  const [, word = "", rest = ""] = /^(\w+): (.*)$/s.exec(detail) ?? [];
  return word === "" ? undefined : `${wordOf(words, word)}: ${rest}`;
}

const count = (text: string | undefined, locale: Locale) => formatCount(Number(text), locale);

/** Words that acts write by themselves, by act. */
const wordsOf: Partial<Readonly<Record<OperatorAct, Words>>> = {
  campaign_made(detail, t, locale) {
    const [, kind = "", name = "", most = "", awaits] =
      /^(\w+) "(.*)", at most ([\d.]+) VND(, waits for a second operator)?$/s.exec(detail) ?? [];
    const sum = most === "" ? undefined : parseVnd(most);
    if (sum === undefined) return undefined;
    const words = t.upTo(wordOf(t.campaigns, kind), name, formatMoneyShort(sum, locale));
    return awaits === undefined ? words : `${words}${t.awaiting}`;
  },
  vouchers_made(detail, t, locale) {
    const [, codes, uses, name = ""] = /^(\d+) codes, (\d+) uses each: (.*)$/s.exec(detail) ?? [];
    return codes && t.vouchers(count(codes, locale), count(uses, locale), name);
  },
  announcement_published: (detail, t) => prefixed(detail, t.announcements),
  announcement_updated: (detail, t) =>
    detail.startsWith("ended: ") ? `${t.ended}: ${detail.slice("ended: ".length)}` : undefined,
  route_changed: (detail, t) => prefixed(detail, t.routes),
  statement_imported(detail, t, locale) {
    const [, rows, fresh, problems] = /^(\d+) rows, (\d+) new, (\d+) problems$/.exec(detail) ?? [];
    return rows && t.imported(count(rows, locale), count(fresh, locale), count(problems, locale));
  },
  notices_polled(detail, t, locale) {
    const [, seen, fresh] = /^(\d+) seen, (\d+) new$/.exec(detail) ?? [];
    return seen && t.polled(count(seen, locale), count(fresh, locale));
  },
  notice_assigned: (detail, t) => detail.replace(" (had been credited by hand)", t.byHand),
  rows_dropped(detail, t, locale) {
    const [, rows, oldest = "", newest = ""] = /^(\d+) rows from (\S+) to (\S+)$/.exec(detail) ??
      [];
    return rows && t.dropped(count(rows, locale), oldest, newest);
  },
  receipts_dropped: (detail, t, locale) =>
    detail.replaceAll(
      /(\d{4}-\d\d): (\d+) receipts/g,
      (_, month: string, receipts: string) => t.months(month, count(receipts, locale)),
    ),
};

/** Says a detail in the reader's language. */
export function auditDetail({ act, detail }: Pick<AuditLine, "act" | "detail">, locale: Locale) {
  return wordsOf[act]?.(detail, texts[locale], locale) ?? detail;
}

/** Says what was acted on, where it is a word and no name. */
export function auditSubject({ act, subject }: Pick<AuditLine, "act" | "subject">, locale: Locale) {
  return act === "maintenance_changed" ? wordOf(texts[locale].switches, subject) : subject;
}
