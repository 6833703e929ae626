/** The words of monthly statements, in both languages. */
import type { Locale } from "../../../core/lib/base/locale.ts";
import type { InvoiceState } from "../../../core/trade/invoices/invoice.ts";
import type { LedgerKind } from "../../../kv/money/ledger/ledger.ts";

/** Declares texts in both languages; a text that one of them lacks does not compile. */
export function inBothLanguages<Texts extends object>(
  tables: { readonly en: Texts; readonly vi: NoInfer<Texts> },
): Readonly<Record<Locale, Texts>> {
  return tables;
}

type Kinds = Readonly<Record<LedgerKind, string>>;

const kindsEn: Kinds = {
  topup: "Top-up",
  admin: "Correction",
  demo: "Play money",
  refund: "Refund",
  signup_credit: "Sign-up credit",
  voucher: "Voucher",
  bonus: "Bonus",
  credit_expiry: "Expired credit",
};
const kindsVi: Kinds = {
  topup: "Nạp tiền",
  admin: "Điều chỉnh",
  demo: "Tiền thử",
  refund: "Hoàn tiền",
  signup_credit: "Tặng khi đăng ký",
  voucher: "Mã quà tặng",
  bonus: "Thưởng nạp tiền",
  credit_expiry: "Tiền tặng hết hạn",
};

type States = Readonly<Record<InvoiceState, string>>;

const statesEn: States = {
  requested: "Requested",
  exported: "In progress",
  issued: "Issued",
  sent: "Sent",
  rejected: "Needs a correction",
  replaced: "Replaced",
};
const statesVi: States = {
  requested: "Đã yêu cầu",
  exported: "Đang xử lý",
  issued: "Đã phát hành",
  sent: "Đã gửi",
  rejected: "Cần chỉnh sửa",
  replaced: "Đã thay thế",
};

export const statementTexts = inBothLanguages({
  en: {
    kinds: kindsEn,
    states: statesEn,
    calls: "Calls",
    title: (month: string) => `Statement for ${month}`,
    facts: {
      seller: "Issued by",
      accountId: "Account",
      email: "Email",
      legalName: "Name",
      taxCode: "Tax code",
      address: "Address",
      period: "Period",
      currency: "Currency",
      state: "State",
      proof: "Proof",
    },
    period: (from: string, to: string) => `${from} to ${to}, Vietnam time`,
    open: "The month is not over: movements may follow",
    closed: "Complete",
    sections: {
      summary: "Summary",
      movements: "Movements",
      by_day: "Calls by day",
      by_model: "Calls by model",
      by_key: "Calls by key",
      topup_vat: "VAT in top-ups",
      invoices: "Invoices",
    },
    columns: {
      day: "Day",
      booked_at: "Time",
      item: "Item",
      detail: "Detail",
      reference: "Reference",
      state: "State",
      calls: "Calls",
      input_tokens: "Input tokens",
      output_tokens: "Output tokens",
      units: "Units",
      vat_rate: "VAT rate",
      gross_vnd: "Gross (VND)",
      net_vnd: "Net (VND)",
      vat_vnd: "VAT (VND)",
      amount_vnd: "Amount (VND)",
    },
    opening: "Opening balance",
    closing: "Closing balance",
    total: "Total",
    noRate: "no rate set",
    none: "None in this month.",
    further: (count: string) => `${count} further lines are in the XLSX and CSV files.`,
    page: (page: number, of: number) => `Page ${page} of ${of}`,
  },
  vi: {
    kinds: kindsVi,
    states: statesVi,
    calls: "Lượt gọi",
    title: (month) => `Sao kê tháng ${month}`,
    facts: {
      seller: "Bên phát hành",
      accountId: "Tài khoản",
      email: "Email",
      legalName: "Tên",
      taxCode: "Mã số thuế",
      address: "Địa chỉ",
      period: "Kỳ",
      currency: "Tiền tệ",
      state: "Trạng thái",
      proof: "Bằng chứng",
    },
    period: (from, to) => `${from} đến ${to}, giờ Việt Nam`,
    open: "Tháng chưa kết thúc: có thể còn phát sinh",
    closed: "Đầy đủ",
    sections: {
      summary: "Tổng hợp",
      movements: "Phát sinh",
      by_day: "Lượt gọi theo ngày",
      by_model: "Lượt gọi theo model",
      by_key: "Lượt gọi theo khoá API",
      topup_vat: "Thuế GTGT trong tiền nạp",
      invoices: "Hoá đơn",
    },
    columns: {
      day: "Ngày",
      booked_at: "Thời gian",
      item: "Khoản mục",
      detail: "Chi tiết",
      reference: "Tham chiếu",
      state: "Trạng thái",
      calls: "Lượt gọi",
      input_tokens: "Token vào",
      output_tokens: "Token ra",
      units: "Đơn vị",
      vat_rate: "Thuế suất",
      gross_vnd: "Gồm thuế (VND)",
      net_vnd: "Trước thuế (VND)",
      vat_vnd: "Thuế GTGT (VND)",
      amount_vnd: "Số tiền (VND)",
    },
    opening: "Số dư đầu kỳ",
    closing: "Số dư cuối kỳ",
    total: "Tổng cộng",
    noRate: "chưa đặt thuế suất",
    none: "Không có trong tháng này.",
    further: (count) => `Còn ${count} dòng nữa trong tệp XLSX và CSV.`,
    page: (page, of) => `Trang ${page} / ${of}`,
  },
});
