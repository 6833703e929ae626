/** Texts of the operator's invoice pages. */
import { defineTexts } from "../../../dashboard/text/i18n.ts";

export const operatorInvoiceTexts = defineTexts({
  both: {
    export: ["Export the queue", "Xuất hàng chờ"],
    asCsv: ["Download CSV", "Tải CSV"],
    asJson: ["Download JSON", "Tải JSON"],
    all: ["All", "Tất cả"],
    issue: ["Mark as issued", "Đánh dấu đã phát hành"],
    send: ["Mark as sent", "Đánh dấu đã gửi"],
    rejected: ["Reject", "Từ chối"],
    replaced: ["Replace", "Thay thế"],
    file: ["PDF or XML, at most 2 MB", "PDF hoặc XML, tối đa 2 MB"],
    attach: ["Attach", "Đính kèm"],
  },
  en: {
    lead:
      "Requests for VAT invoices. Issue them with your invoicing provider, then attach number and file here.",
    exportText:
      "Everything requested or in progress, one row per invoice. New requests are marked as in progress.",
    sendText: (email: string) =>
      `An email goes to ${email}, and the files appear in the customer's account.`,
    rejectedText: "The customer is told the reason by email and can ask again with a correction.",
    replacedText:
      "For an issued invoice that is wrong. The customer asks again; the new one names this one.",
  },
  vi: {
    lead:
      "Yêu cầu hoá đơn GTGT. Phát hành ở nhà cung cấp hoá đơn, rồi ghi số và đính kèm tệp tại đây.",
    exportText:
      "Mọi yêu cầu mới hoặc đang xử lý, mỗi hoá đơn một dòng. Yêu cầu mới sẽ chuyển sang đang xử lý.",
    sendText: (email) => `Thư được gửi đến ${email}, và tệp hiện trong tài khoản của khách.`,
    rejectedText: "Khách được báo lý do qua thư và có thể sửa để yêu cầu lại.",
    replacedText:
      "Cho hoá đơn đã phát hành bị sai. Khách yêu cầu lại; hoá đơn mới ghi rõ thay thế hoá đơn này.",
  },
});
