/** Texts of the page on which applications ask for a key. */
import { defineTexts } from "../../text/i18n.ts";

export const appTexts = defineTexts({
  both: {
    app: ["Application", "Ứng dụng"],
    goesTo: ["The key goes to", "Khoá API được gửi đến"],
    organisation: ["Paid by", "Bên trả tiền"],
    ownMachine: ["a program on this computer", "một chương trình trên máy này"],
    asksFor: ["With the key, the application can:", "Với khoá API, ứng dụng có thể:"],
    calls: [
      "call models, paid from your wallet, and read its own calls",
      "gọi mô hình bằng tiền trong ví của bạn và xem lượt gọi của chính nó",
    ],
    usage: [
      "also read balance, usage and receipts of the whole account",
      "xem cả số dư, mức sử dụng và biên nhận của toàn tài khoản",
    ],
    budget: ["Budget per month in VND", "Ngân sách mỗi tháng (VND)"],
    budgetHint: [
      "Calls above it are refused. Empty: your whole wallet.",
      "Lượt gọi vượt mức sẽ bị từ chối. Để trống: cả ví của bạn.",
    ],
    expiryHint: [
      "The end of that day, Vietnam time. Empty: until you revoke it.",
      "Hết ngày đó, giờ Việt Nam. Để trống: đến khi bạn thu hồi.",
    ],
    allow: ["Allow", "Cho phép"],
    deny: ["Deny", "Từ chối"],
    later: [
      "Change or revoke the key at any time under",
      "Bạn đổi hay thu hồi khoá lúc nào cũng được ở mục",
    ],
    wrongTitle: ["This request is not valid", "Yêu cầu này không hợp lệ"],
    back: ["Back to the application", "Quay lại ứng dụng"],
  },
  en: {
    title: (app: string) => `Give “${app}” an API key?`,
    unverified:
      "The application chose its name itself, and we have not checked it. Go on only if you have just started this there.",
    unknownText:
      "The link names no known application, or an address that is not one of the application. No key was made, and nothing was sent anywhere.",
    wrongText: (app: string) =>
      `“${app}” sent a request that its developers have to correct. No key was made.`,
  },
  vi: {
    title: (app) => `Cấp khoá API cho “${app}”?`,
    unverified:
      "Tên này do ứng dụng tự đặt, chúng tôi chưa kiểm chứng. Chỉ tiếp tục nếu chính bạn vừa bắt đầu việc này ở đó.",
    unknownText:
      "Liên kết không nêu ứng dụng nào hợp lệ, hoặc địa chỉ không phải của ứng dụng đó. Chưa có khoá nào được tạo và không có gì được gửi đi.",
    wrongText: (app) =>
      `“${app}” đã gửi một yêu cầu mà nhà phát triển cần sửa lại. Chưa có khoá nào được tạo.`,
  },
});
