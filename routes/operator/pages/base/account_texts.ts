/** Texts of the pages about accounts, approvals and the audit log. */
import type { OperatorAct } from "../../../../kv/people/audit/operator_audit.ts";
import { defineTexts, type Locale, type NamedPairs } from "../../../dashboard/text/i18n.ts";

/** The entry of the navigation, and the label of the search. */
export const accountsLabel = { en: "Customers", vi: "Khách hàng" };

const acts: NamedPairs<OperatorAct> = {
  account_made: ["Made account", "Tạo tài khoản"],
  account_blocked: ["Blocked account", "Chặn tài khoản"],
  account_unblocked: ["Unblocked account", "Bỏ chặn tài khoản"],
  account_signed_out: ["Signed out everywhere", "Đăng xuất mọi nơi"],
  note_added: ["Added note", "Thêm ghi chú"],
  api_key_made: ["Made API key", "Tạo khoá API"],
  api_key_revoked: ["Revoked API key", "Thu hồi khoá API"],
  wallet_adjusted: ["Changed wallet", "Điều chỉnh ví"],
  adjustment_requested: ["Asked to change wallet", "Yêu cầu điều chỉnh ví"],
  adjustment_refused: ["Refused request", "Từ chối yêu cầu"],
  notice_assigned: ["Credited notice", "Ghi có thông báo"],
  assignment_requested: ["Asked to credit notice", "Yêu cầu ghi có"],
  notice_marked_duplicate: ["Marked duplicate", "Đánh dấu trùng"],
  notice_ignored: ["Set notice aside", "Bỏ qua thông báo"],
  notice_refund_started: ["Started refund", "Bắt đầu hoàn tiền"],
  notice_refunded: ["Refunded", "Đã hoàn tiền"],
  notice_returned: ["Put notice back", "Đưa thông báo trở lại"],
  unreadable_notice_closed: ["Set unreadable notice aside", "Gác lại thông báo không đọc được"],
  statement_imported: ["Imported statement", "Nhập sao kê"],
  notices_polled: ["Asked provider", "Hỏi nhà cung cấp"],
  invoice_exported: ["Exported invoice", "Xuất hoá đơn"],
  invoice_issued: ["Issued invoice", "Phát hành hoá đơn"],
  invoice_sent: ["Sent invoice", "Gửi hoá đơn"],
  invoice_rejected: ["Rejected invoice", "Từ chối hoá đơn"],
  invoice_file_attached: ["Attached file", "Đính kèm tệp"],
  invoice_replaced: ["Replaced invoice", "Thay thế hoá đơn"],
  campaign_made: ["Made campaign", "Tạo chương trình tặng tiền"],
  campaign_approved: ["Agreed to campaign", "Duyệt chương trình tặng tiền"],
  campaign_paused: ["Paused campaign", "Tạm dừng chương trình"],
  campaign_resumed: ["Resumed campaign", "Chạy lại chương trình"],
  vouchers_made: ["Made voucher codes", "Tạo mã quà tặng"],
  announcement_published: ["Published announcement", "Đăng thông báo chung"],
  announcement_updated: ["Updated announcement", "Cập nhật thông báo chung"],
  maintenance_changed: ["Changed maintenance", "Đổi bảo trì"],
  letter_revived: ["Retried email or poll", "Thử lại thư hoặc lượt hỏi"],
  letter_forgotten: ["Removed email or poll", "Xoá thư hoặc lượt hỏi"],
  days_resealed: ["Sealed days anew", "Niêm phong lại các ngày"],
  proof_key_made: ["Made a new key for proofs", "Tạo khoá mới cho bằng chứng"],
  secrets_resealed: [
    "Sealed all secrets with the newest master key",
    "Mã hoá lại mọi secret bằng master key mới nhất",
  ],
  receipts_dropped: ["Dropped old receipts", "Xoá biên lai cũ"],
  rows_dropped: ["Dropped old rows", "Xoá dữ liệu cũ"],
  rate_limits_changed: ["Changed rate limits", "Đổi giới hạn tốc độ"],
  catalog_applied: ["Changed catalogue", "Thay đổi danh mục"],
  catalog_withdrawn: ["Withdrew scheduled catalogue", "Huỷ danh mục đã hẹn giờ"],
  catalog_file_declined: ["Declined gateway.json", "Từ chối gateway.json"],
  provider_key_added: ["Added provider key", "Thêm khoá nhà cung cấp"],
  provider_key_replaced: ["Replaced provider key", "Thay khoá nhà cung cấp"],
  provider_key_removed: ["Removed provider key", "Xoá khoá nhà cung cấp"],
  provider_key_resealed: ["Sealed provider key anew", "Niêm phong lại khoá nhà cung cấp"],
  route_changed: ["Changed route", "Đổi tuyến"],
  route_tested: ["Tested route", "Thử tuyến"],
  second_factor_enrolled: ["Enrolled second factor", "Đăng ký bước hai"],
  second_factor_passed: ["Passed second factor", "Qua bước hai"],
  second_factor_failed: ["Failed second factor", "Sai bước hai"],
  second_factor_forgotten: ["Forgot second factor", "Xoá bước hai"],
};

/** Actors who have no address, by what the log has in its place. */
const programs: Readonly<Record<Locale, Readonly<Partial<Record<string, string>>>>> = {
  en: { "command line": "Command line", "operator key": "Operator key" },
  vi: { "command line": "Dòng lệnh", "operator key": "Khoá vận hành" },
};

/** Name of an actor on pages: the address of an operator, or a program. */
export function actorName(email: string, locale: Locale): string {
  return programs[locale][email] ?? email;
}

export const accountTexts = defineTexts({
  both: {
    acts,
    anyAct: ["Any act", "Mọi việc"],
    anybody: ["Anybody", "Mọi người"],
    auditSearchHint: ["An address, an id, a word of the reason", "Email, mã, một từ trong lý do"],
    noLines: ["No act fits", "Không có việc nào phù hợp"],
    searchHint: ["Email address, account id or order code", "Email, mã tài khoản hoặc mã đơn nạp"],
    notFound: ["No account was found.", "Không tìm thấy ai."],
    created: ["Since", "Từ"],
    customer: ["Customer", "Khách hàng"],
    spend: ["Charged, 30 days", "Đã tính, 30 ngày"],
    lastCall: ["Last call", "Lượt gọi cuối"],
    balance: ["Balance", "Số dư"],
    state: ["State", "Trạng thái"],
    states: {
      open: ["Open", "Đang mở"],
      blocked: ["Blocked", "Bị chặn"],
      deleted: ["Deleted", "Đã xoá"],
      organisationDeleted: ["Organisation deleted", "Đã xoá tổ chức"],
    },
    block: ["Block", "Chặn"],
    unblock: ["Unblock", "Bỏ chặn"],
    adjustField: ["Amount in ₫, negative to debit", "Số tiền (₫), số âm để lấy bớt"],
    adjustButton: ["Change", "Điều chỉnh"],
    statement: ["Statement, last 90 days", "Sao kê 90 ngày gần nhất"],
    orders: ["Top-up orders", "Đơn nạp"],
    invoices: ["Invoice requests", "Yêu cầu hoá đơn"],
    waiting: ["Waiting for a second operator", "Chờ người vận hành thứ hai"],
    decided: ["Decided", "Đã quyết định"],
    refuse: ["Refuse", "Từ chối"],
    money: ["Money", "Tiền"],
    from: ["From", "Từ"],
    to: ["To", "Đến"],
    order: ["Order", "Đơn nạp"],
    balanceChange: ["Balance", "Số dư"],
    evidence: ["Evidence", "Chứng cứ"],
    noEvidence: ["None: a correction by hand", "Không có: điều chỉnh thủ công"],
    byCorrection: ["Correction, no bank transfer", "Điều chỉnh, không có chuyển khoản"],
    takenTo: ["Correction, taken from the wallet", "Điều chỉnh, lấy ra khỏi ví"],
    act: ["Act", "Việc"],
    subject: ["Subject", "Đối tượng"],
    detail: ["Detail", "Chi tiết"],
    askedBy: ["Asked by", "Người yêu cầu"],
    decidedBy: ["Decided by", "Người quyết định"],
  },
  en: {
    adjustText: (limit: string) =>
      `Credits (positive) or debits (negative) the wallet, with a reason. Above ${limit} within 24 hours for one account, a second operator must approve.`,
    approvalsLead:
      "Requests above what one operator may move for one account within 24 hours. Neither the requester nor the approver may be the beneficiary.",
    asksFor: (amount: string) => `asks for ${amount}`,
    cannotDecide: {
      self: "You requested it: a second operator decides.",
      beneficiary: "The wallet is your own: another operator decides.",
    },
    kinds: { adjust: "Change of a wallet", assign: "Credit of a bank notice" },
    approvalStates: { pending: "Waiting", approved: "Approved", refused: "Refused" },
    auditLead: "Every act of every operator. Nothing is ever removed.",
  },
  vi: {
    adjustText: (limit) =>
      `Thêm (số dương) hoặc lấy bớt (số âm), kèm lý do. Trên ${limit} trong 24 giờ cho một tài khoản thì cần người thứ hai duyệt.`,
    approvalsLead:
      "Yêu cầu vượt hạn mức của một người vận hành cho một tài khoản trong 24 giờ. Người yêu cầu và người duyệt không được là người thụ hưởng.",
    asksFor: (amount) => `yêu cầu ${amount}`,
    cannotDecide: {
      self: "Bạn là người yêu cầu: cần người thứ hai quyết định.",
      beneficiary: "Đây là ví của chính bạn: người vận hành khác quyết định.",
    },
    kinds: { adjust: "Điều chỉnh ví", assign: "Ghi có thông báo ngân hàng" },
    approvalStates: { pending: "Đang chờ", approved: "Đã duyệt", refused: "Đã từ chối" },
    auditLead: "Mọi việc của mọi người vận hành. Không dòng nào bị xoá.",
  },
});
