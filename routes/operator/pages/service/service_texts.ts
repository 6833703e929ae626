/** Texts of the overview and of the page about routes and maintenance. */
import { englishCount } from "../../../dashboard/text/format.ts";
import { defineTexts } from "../../../dashboard/text/i18n.ts";

export const serviceTexts = defineTexts({
  en: {
    liability: "Customer balances",
    liabilityNote: (count: string) => `in ${englishCount(count, "wallet", "wallets")}`,
    revenueToday: "Revenue today",
    revenueMonth: "Revenue, 30 days",
    creditedToday: "Topped up today",
    creditedMonth: "Topped up, 30 days",
    partial: "The store holds more than the overview reads: these sums are too low.",
    todo: "To do",
    reviews: (count: string) =>
      `${englishCount(count, "bank notice waits", "bank notices wait")} for a decision`,
    unreadable: (count: string) =>
      `${englishCount(count, "bank notice", "bank notices")} could not be read`,
    unmatched: (count: string) =>
      `${englishCount(count, "bank notice", "bank notices")} could not be matched for five minutes`,
    approvals: (count: string) => `${englishCount(count, "approval", "approvals")} waiting`,
    invoices: (count: string) =>
      englishCount(count, "invoice request waits", "invoice requests wait"),
    routesDown: (count: string) =>
      `${englishCount(count, "route is", "routes are")} out of service`,
    nothing: "Nothing to do.",
    verify: "Verification of the ledger",
    verifyText:
      "Reads everything since the last sealed day and verifies that every wallet is credits minus charges, that nothing is negative, and that bank and ledger agree. Days that are over and right are sealed.",
    verifyButton: "Verify now",
    proven: (accounts: string, receipts: string) =>
      `Verified: ${englishCount(accounts, "account", "accounts")}, ${
        englishCount(receipts, "receipt", "receipts")
      } read.`,
    sealedTo: (day: string) => `Sealed up to ${day}.`,
    problems: (count: string) => englishCount(count, "problem", "problems"),
    moving: (count: string) =>
      `${
        englishCount(count, "account was", "accounts were")
      } in use all the time and could not be verified.`,
    maintenance: "Maintenance",
    maintenanceOn: (since: string) => `On since ${since}. Every API call is answered with 503.`,
    maintenanceOff: "Off. The service answers calls.",
    message: "Message to callers",
    turnOn: "Turn on",
    turnOff: "Turn off",
    turnOnConfirm: "Answer every API call with 503?",
    routesShown: (shown: string, all: string) =>
      shown === all
        ? englishCount(all, "route", "routes")
        : `${shown} of ${englishCount(all, "route", "routes")}`,
    routeCount: (count: string) => englishCount(count, "route", "routes"),
    inTrouble: (count: string) => `${count} off or failing`,
    searchHint: "model, provider or route",
    state: "State",
    allRoutes: "All",
    troubleOnly: "Off or failing",
    noRoute: "No route matches",
    noRouteHint: "Try another word, or all states.",
    stuck: "stuck",
    keysResting: (resting: string, all: string) =>
      `keys of the provider: ${resting} of ${all} resting`,
    failures: (failed: string, calls: string) => `${failed} of ${calls} failed`,
    firstOutput: "First token",
    enable: "Enable",
    drain: "Drain",
    disable: "Disable",
    states: { enabled: "On", disabled: "Off", draining: "Draining" },
    breaker: { closed: "healthy", open: "resting", half_open: "on trial" } as Readonly<
      Record<string, string>
    >,
  },
  vi: {
    liability: "Số dư của khách hàng",
    liabilityNote: (count) => `trong ${count} ví`,
    revenueToday: "Doanh thu hôm nay",
    revenueMonth: "Doanh thu 30 ngày",
    creditedToday: "Nạp hôm nay",
    creditedMonth: "Nạp tiền 30 ngày",
    partial: "Kho dữ liệu lớn hơn phần trang này đọc: các tổng này thấp hơn thực tế.",
    todo: "Cần làm",
    reviews: (count) => `${count} thông báo ngân hàng chờ quyết định`,
    unreadable: (count) => `${count} thông báo ngân hàng không đọc được`,
    unmatched: (count) => `${count} thông báo ngân hàng quá năm phút chưa xử lý được`,
    approvals: (count) => `${count} yêu cầu chờ người thứ hai duyệt`,
    invoices: (count) => `${count} yêu cầu hoá đơn đang chờ`,
    routesDown: (count) => `${count} tuyến đang ngừng`,
    nothing: "Không có việc nào đang chờ.",
    verify: "Chứng minh sổ cái",
    verifyText:
      "Đọc mọi dữ liệu từ ngày đã niêm phong gần nhất và chứng minh mỗi ví bằng tổng ghi có trừ tổng phí, không có số âm, và ngân hàng khớp sổ cái. Ngày đã kết thúc và đúng được niêm phong.",
    verifyButton: "Chứng minh ngay",
    proven: (accounts, receipts) =>
      `Đã chứng minh: ${accounts} tài khoản, đọc ${receipts} biên nhận.`,
    sealedTo: (day) => `Đã niêm phong đến ngày ${day}.`,
    problems: (count) => `${count} vấn đề`,
    moving: (count) =>
      `${count} tài khoản liên tục hoạt động: chưa chứng minh được cho các tài khoản đó.`,
    maintenance: "Bảo trì",
    maintenanceOn: (since) => `Đang bật từ ${since}. Mọi lượt gọi API nhận 503.`,
    maintenanceOff: "Đang tắt. Dịch vụ trả lời bình thường.",
    message: "Lời nhắn cho người gọi",
    turnOn: "Bật",
    turnOff: "Tắt",
    turnOnConfirm: "Trả 503 cho mọi lượt gọi API?",
    routesShown: (shown, all) => shown === all ? `${all} tuyến` : `${shown} trên ${all} tuyến`,
    routeCount: (count) => `${count} tuyến`,
    inTrouble: (count) => `${count} tắt hoặc lỗi`,
    searchHint: "mô hình, nhà cung cấp hoặc tuyến",
    state: "Trạng thái",
    allRoutes: "Tất cả",
    troubleOnly: "Tắt hoặc lỗi",
    noRoute: "Không có tuyến phù hợp",
    noRouteHint: "Hãy thử từ khác, hoặc chọn mọi trạng thái.",
    stuck: "đang treo",
    keysResting: (resting, all) => `khoá API của nhà cung cấp: ${resting} trên ${all} đang nghỉ`,
    failures: (failed, calls) => `${failed} trên ${calls} lỗi`,
    firstOutput: "Token đầu tiên",
    enable: "Bật",
    drain: "Rút dần",
    disable: "Tắt",
    states: { enabled: "Bật", disabled: "Tắt", draining: "Đang rút" },
    breaker: { closed: "tốt", open: "đang nghỉ", half_open: "thử lại" },
  },
});
