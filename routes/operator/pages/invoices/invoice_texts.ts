/** Texts of the operator's invoice pages. */
import { defineTexts } from "../../../dashboard/text/i18n.ts";

export const operatorInvoiceTexts = defineTexts({
  en: {
    lead:
      "Requests for VAT invoices. Issue them with your invoicing provider, then attach number and file here.",
    export: "Export the queue",
    exportText:
      "Everything requested or in progress, one row per invoice. New requests are marked as in progress.",
    asCsv: "Download CSV",
    asJson: "Download JSON",
    all: "All",
    issue: "Mark as issued",
    send: "Mark as sent",
    sendText: (email: string) =>
      `An email goes to ${email}, and the files appear in the customer's account.`,
    rejected: "Reject",
    rejectedText: "The customer is told the reason by email and can ask again with a correction.",
    replaced: "Replace",
    replacedText:
      "For an issued invoice that is wrong. The customer asks again; the new one names this one.",
    file: "PDF or XML, at most 2 MB",
    attach: "Attach",
  },
  vi: {
    lead:
      "Yêu cầu hoá đơn GTGT. Phát hành ở nhà cung cấp hoá đơn, rồi ghi số và đính kèm tệp tại đây.",
    export: "Xuất hàng chờ",
    exportText:
      "Mọi yêu cầu mới hoặc đang xử lý, mỗi hoá đơn một dòng. Yêu cầu mới sẽ chuyển sang đang xử lý.",
    asCsv: "Tải CSV",
    asJson: "Tải JSON",
    all: "Tất cả",
    issue: "Đánh dấu đã phát hành",
    send: "Đánh dấu đã gửi",
    sendText: (email) => `Thư được gửi đến ${email}, và tệp hiện trong tài khoản của khách.`,
    rejected: "Từ chối",
    rejectedText: "Khách được báo lý do qua thư và có thể sửa để yêu cầu lại.",
    replaced: "Thay thế",
    replacedText:
      "Cho hoá đơn đã phát hành bị sai. Khách yêu cầu lại; hoá đơn mới ghi rõ thay thế hoá đơn này.",
    file: "PDF hoặc XML, tối đa 2 MB",
    attach: "Đính kèm",
  },
});
