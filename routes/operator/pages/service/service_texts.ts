/** Texts of the page about routes and maintenance, and of the verification of the ledger. */
import { englishCount } from "../../../dashboard/text/format.ts";
import { defineTexts } from "../../../dashboard/text/i18n.ts";

export const serviceTexts = defineTexts({
  both: {
    verifyButton: ["Verify the books", "Kiểm chứng sổ cái"],
    maintenance: ["Maintenance", "Bảo trì"],
    maintenanceOff: ["Off. The service answers calls.", "Đang tắt. Dịch vụ trả lời bình thường."],
    message: ["Message to callers", "Lời nhắn cho người gọi"],
    turnOn: ["Turn on", "Bật"],
    turnOff: ["Turn off", "Tắt"],
    turnOnConfirm: ["Answer every API call with 503?", "Trả 503 cho mọi lượt gọi API?"],
    searchHint: ["model, provider or route", "mô hình, nhà cung cấp hoặc tuyến"],
    state: ["State", "Trạng thái"],
    allRoutes: ["All", "Tất cả"],
    troubleOnly: ["Off or failing", "Tắt hoặc lỗi"],
    noRoute: ["No route matches", "Không có tuyến phù hợp"],
    noRouteHint: ["Try another word, or all states.", "Hãy thử từ khác, hoặc chọn mọi trạng thái."],
    stuck: ["stuck", "đang treo"],
    firstOutput: ["First token", "Token đầu tiên"],
    enable: ["Enable", "Bật"],
    drain: ["Drain", "Rút dần"],
    disable: ["Disable", "Tắt"],
  },
  en: {
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
    maintenanceOn: (since: string) => `On since ${since}. Every API call is answered with 503.`,
    routesShown: (shown: string, all: string) =>
      shown === all
        ? englishCount(all, "route", "routes")
        : `${shown} of ${englishCount(all, "route", "routes")}`,
    routeCount: (count: string) => englishCount(count, "route", "routes"),
    inTrouble: (count: string) => `${count} off or failing`,
    keysResting: (resting: string, all: string) =>
      `keys of the provider: ${resting} of ${all} resting`,
    failures: (failed: string, calls: string) => `${failed} of ${calls} failed`,
    states: { enabled: "On", failing: "Failing", disabled: "Off", draining: "Draining" },
    breaker: { closed: "healthy", open: "resting", half_open: "on trial" } as Readonly<
      Record<string, string>
    >,
  },
  vi: {
    proven: (accounts, receipts) =>
      `Đã chứng minh: ${accounts} tài khoản, đọc ${receipts} biên nhận.`,
    sealedTo: (day) => `Đã niêm phong đến ngày ${day}.`,
    problems: (count) => `${count} vấn đề`,
    moving: (count) =>
      `${count} tài khoản liên tục hoạt động: chưa chứng minh được cho các tài khoản đó.`,
    maintenanceOn: (since) => `Đang bật từ ${since}. Mọi lượt gọi API nhận 503.`,
    routesShown: (shown, all) => shown === all ? `${all} tuyến` : `${shown} trên ${all} tuyến`,
    routeCount: (count) => `${count} tuyến`,
    inTrouble: (count) => `${count} tắt hoặc lỗi`,
    keysResting: (resting, all) => `khoá API của nhà cung cấp: ${resting} trên ${all} đang nghỉ`,
    failures: (failed, calls) => `${failed} trên ${calls} lỗi`,
    states: { enabled: "Bật", failing: "Đang lỗi", disabled: "Tắt", draining: "Đang rút" },
    breaker: { closed: "tốt", open: "đang nghỉ", half_open: "thử lại" },
  },
});
