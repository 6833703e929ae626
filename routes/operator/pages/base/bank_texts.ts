/** Texts of the pages about bank notices. */
import type { BankNoticeState, ReviewReason } from "../../../../kv/money/payments/bank_notices.ts";
import { englishCount } from "../../../dashboard/text/format.ts";
import { defineTexts, type NamedPairs } from "../../../dashboard/text/i18n.ts";

/** The entry of the navigation, and the label of the search. */
export const reviewLabel = { en: "Review", vi: "Đối soát" };

const reasons: NamedPairs<ReviewReason> = {
  no_code: ["No code in the memo", "Nội dung không có mã"],
  unknown_code: ["The code belongs to no order", "Mã không thuộc đơn nạp nào"],
  several_accounts: ["Codes of several customers", "Mã của nhiều khách hàng"],
  order_cancelled: ["The order was cancelled", "Đơn nạp đã bị huỷ"],
  account_closed: ["The account was deleted", "Tài khoản đã bị xoá"],
  account_blocked: ["The account is blocked", "Tài khoản đang bị chặn"],
  wrong_account: ["Not one of our receiving accounts", "Không phải tài khoản nhận tiền của ta"],
  amount_over_limit: ["Above the limit for automatic credit", "Vượt mức tự động ghi có"],
  possible_duplicate: ["May repeat another notice", "Có thể trùng với thông báo khác"],
  credited_by_hand: [
    "Money was moved by hand under its id: name the account to join the two",
    "Đã ghi sổ thủ công theo mã của thông báo: hãy nêu tài khoản để ghép lại",
  ],
  import_own_account: [
    "Imported by the operator whose account it would be credited to",
    "Do chính chủ tài khoản được ghi có nhập từ tệp",
  ],
  import_over_limit: [
    "Imported by an operator, and above one operator's limit",
    "Nhập từ tệp, vượt hạn mức của một người vận hành",
  ],
  payer_number_of_ours: [
    "Paid for an order from an account with a number of ours",
    "Trả cho một đơn nạp từ tài khoản có số giống tài khoản của ta",
  ],
  returned: ["Put back by an operator", "Người vận hành đưa trở lại"],
};

const states: NamedPairs<BankNoticeState["kind"]> = {
  received: ["Received", "Đã nhận tin"],
  credited: ["Credited", "Đã ghi có"],
  review: ["In review", "Chờ đối soát"],
  ignored: ["Set aside", "Bỏ qua"],
  duplicate: ["Duplicate", "Trùng"],
  refund_pending: ["Refund in progress", "Đang hoàn tiền"],
  refunded: ["Refunded", "Đã hoàn tiền"],
};

export const bankTexts = defineTexts({
  both: {
    reasons,
    states,
    source: ["Source", "Nguồn"],
    memo: ["Memo", "Nội dung"],
    importedBy: ["Imported by", "Người nhập tệp"],
    why: ["Why", "Lý do"],
    open: ["Open", "Mở"],
    notice: ["Bank notice", "Thông báo ngân hàng"],
    bankTime: ["Time at the bank", "Giờ tại ngân hàng"],
    received: ["Received here", "Nhận lúc"],
    account: ["Receiving account", "Tài khoản nhận"],
    payer: ["Payer", "Người chuyển"],
    reference: ["Reference", "Mã tham chiếu"],
    state: ["State", "Trạng thái"],
    about: ["Compare with", "So với"],
    raw: ["As received", "Nguyên văn"],
    near: ["Likely orders", "Đơn nạp có khả năng"],
    noNear: ["No likely orders were found.", "Không tìm thấy đơn nạp nào phù hợp."],
    code: ["Order", "Đơn nạp"],
    asked: ["Asked", "Số tiền đặt"],
    customer: ["Customer", "Khách hàng"],
    slip: ["one typing error", "lệch một ký tự"],
    sameAmount: ["same amount", "cùng số tiền"],
    assign: ["Credit to an order or account", "Ghi có cho một đơn nạp hoặc tài khoản"],
    target: ["Order code, email address or account id", "Mã đơn nạp, email hoặc mã tài khoản"],
    credit: ["Credit", "Ghi có"],
    other: ["Other decisions", "Quyết định khác"],
    duplicate: ["It is the same movement as", "Đây là cùng một giao dịch với"],
    duplicateRef: ["Source and id, e.g. sepay:92704", "Nguồn và id, ví dụ sepay:92704"],
    markDuplicate: ["Mark as duplicate", "Đánh dấu trùng"],
    ignore: ["It is not a top-up", "Không phải tiền nạp"],
    markIgnored: ["Set aside", "Bỏ qua"],
    startRefund: ["Send it back by bank", "Chuyển trả qua ngân hàng"],
    markRefund: ["Start refund", "Bắt đầu hoàn tiền"],
    finishRefund: ["The refund has been sent", "Đã chuyển trả"],
    bankReference: ["Reference of the refund", "Mã tham chiếu của lần hoàn"],
    markRefunded: ["Mark as refunded", "Đánh dấu đã hoàn"],
    back: ["Put back into the queue", "Đưa lại vào hàng chờ"],
    markBack: ["Put back", "Đưa lại"],
    unreadable: ["Notices that could not be read", "Thông báo không đọc được"],
    noUnreadable: ["All notices could be read.", "Mọi thông báo đều đọc được."],
    journal: ["Journal", "Nhật ký"],
    import: ["Import a statement", "Nhập sao kê"],
    receivingAccount: ["Statement of account", "Sao kê của tài khoản"],
    file: ["CSV file", "Tệp CSV"],
    importButton: ["Import", "Nhập"],
    poll: ["Ask the provider", "Hỏi nhà cung cấp"],
    pollButton: ["Read the list", "Đọc danh sách"],
    check: ["Compare bank and ledger", "Đối chiếu ngân hàng và sổ cái"],
    checkButton: ["Check now", "Đối chiếu ngay"],
    checked: ["Everything agrees.", "Mọi thứ khớp."],
    totals: {
      received: ["Received", "Đã nhận"],
      credited: ["Credited", "Đã ghi có"],
      suspense: ["In review", "Chờ đối soát"],
      refunded: ["Refunded", "Đã hoàn"],
      other: ["Set aside", "Bỏ qua"],
    },
    exportTopups: ["Export paid top-ups", "Xuất các khoản nạp"],
    from: ["From", "Từ ngày"],
    to: ["To", "Đến ngày"],
    download: ["Download CSV", "Tải CSV"],
  },
  en: {
    reviewLead: "Money that arrived and could not be matched automatically.",
    searchHint: "Amount, reference or part of the memo",
    nearText:
      "Codes one typing error away from the memo, and open orders of the same amount. Check before you click.",
    assignTo: (code: string) => `Credit to ${code}`,
    unreadableText:
      "They are genuine, but their format was not understood, or they contradict another with the same id. Each may represent money: compare it with the statement, credit by hand what is missing, then set it aside.",
    unreadableCount: (count: string) =>
      `${englishCount(count, "notice", "notices")} could not be read.`,
    moreUnreadable: (count: string) => `${count} more will follow when these are set aside.`,
    stillUnreadable: (count: string) =>
      `${englishCount(count, "notice", "notices")} could not be read: they are not in these sums.`,
    bankLead: "The journal of all bank notices, and second sources.",
    importText:
      "A CSV export of your bank. Movements that a webhook has reported are recognised, so you can import the file repeatedly. Do not save it in a spreadsheet first: its rows would have to be reviewed again.",
    imported: (rows: number, fresh: number) => `${rows} movements read, ${fresh} of them new.`,
    line: (line: number, what: string) => `Line ${line}: ${what}`,
    pollText: "Reads the provider's own list of the last two days now.",
    polled: (seen: number, fresh: number) => `${seen} movements seen, ${fresh} of them new.`,
    pollFailed: (why: string) => `The provider could not be read: ${why}.`,
    checkText: "Reads everything and proves that every movement is accounted for once.",
    found: (count: number) => englishCount(String(count), "problem", "problems"),
    exportText:
      "Every credited transfer of a period, for accounting, with or without an invoice request.",
  },
  vi: {
    reviewLead: "Tiền đã về nhưng chưa tự ghi có được.",
    searchHint: "Số tiền, mã tham chiếu hoặc một phần nội dung",
    nearText:
      "Mã chỉ lệch một ký tự so với nội dung, và đơn nạp đang chờ cùng số tiền. Hãy kiểm tra trước khi bấm.",
    assignTo: (code) => `Ghi có cho ${code}`,
    unreadableText:
      "Thông báo là thật, nhưng không hiểu được định dạng, hoặc mâu thuẫn với thông báo cùng id. Mỗi thông báo có thể là tiền: hãy so với sao kê, ghi có thủ công phần còn thiếu, rồi gác lại.",
    unreadableCount: (count) => `${count} thông báo không đọc được.`,
    moreUnreadable: (count) =>
      `Còn ${count} thông báo nữa, hiện ra khi các thông báo này được gác lại.`,
    stillUnreadable: (count) =>
      `${count} thông báo không đọc được: các tổng ở đây không tính đến chúng.`,
    bankLead: "Nhật ký mọi điều ngân hàng báo, và các nguồn thứ hai.",
    importText:
      "Tệp CSV xuất từ ngân hàng. Giao dịch đã có từ webhook sẽ được nhận ra; nhập lại bao nhiêu lần cũng được, nhưng đừng lưu lại bằng bảng tính trước khi nhập: các dòng sẽ phải đối soát lần nữa.",
    imported: (rows, fresh) => `Đã đọc ${rows} giao dịch, ${fresh} giao dịch mới.`,
    line: (line, what) => `Dòng ${line}: ${what}`,
    pollText: "Đọc ngay danh sách hai ngày gần nhất từ nhà cung cấp.",
    polled: (seen, fresh) => `Thấy ${seen} giao dịch, ${fresh} giao dịch mới.`,
    pollFailed: (why) => `Không đọc được từ nhà cung cấp: ${why}.`,
    checkText: "Đọc toàn bộ và chứng minh mỗi giao dịch được hạch toán đúng một lần.",
    found: (count) => `${count} vấn đề`,
    exportText: "Mọi khoản đã ghi có trong kỳ, cho sổ sách và cho hoá đơn không ai yêu cầu.",
  },
});
