/** Texts of the page that greets a new account. */
import { defineTexts } from "../i18n.ts";

export const welcomeTexts = defineTexts({
  en: {
    title: "Your account is ready",
    lead: "Run one of these, and the call appears below. The key is already in the code.",
    leadWithoutSecret: "Run one of these with your key, and the call appears below.",
    key: "Your first key",
    keyNote: (name: string) =>
      `“${name}” is shown here for ten minutes. Later you find it under API keys, where your password shows it again.`,
    keyLater: "The key is no longer shown here. Its page shows it again, with your password.",
    keyPage: "Open the key",
    credit: (amount: string) => `You have ${amount} to try.`,
    empty: "Your wallet is empty. A call needs a balance.",
    topUp: "Top up",
    code: "Make your first call",
    tools: "Or set up the tool you use",
    waiting: "Waiting for your first call",
    waitingText: "This line turns into the call as soon as it arrives.",
    look: "Look again",
    arrived: "Your first call is here",
    arrivedText: "Every call has a receipt with its tokens, price and time.",
    continue: "Continue",
    playground: "Try it without code",
  },
  vi: {
    title: "Tài khoản đã sẵn sàng",
    lead: "Chạy một trong các đoạn mã này, lượt gọi sẽ hiện ở dưới. Khoá API đã có sẵn trong mã.",
    leadWithoutSecret:
      "Chạy một trong các đoạn mã này với khoá API của bạn, lượt gọi sẽ hiện ở dưới.",
    key: "Khoá API đầu tiên của bạn",
    keyNote: (name) =>
      `“${name}” hiện ở đây trong mười phút. Sau đó bạn tìm thấy nó trong mục Khoá API, nơi mật khẩu cho xem lại.`,
    keyLater: "Khoá API không còn hiện ở đây. Trang của khoá cho xem lại khi bạn nhập mật khẩu.",
    keyPage: "Mở trang của khoá API",
    credit: (amount) => `Bạn có ${amount} để dùng thử.`,
    empty: "Ví đang trống. Mỗi lượt gọi cần có số dư.",
    topUp: "Nạp tiền",
    code: "Thực hiện lượt gọi đầu tiên",
    tools: "Hoặc cài đặt công cụ bạn đang dùng",
    waiting: "Đang đợi lượt gọi đầu tiên",
    waitingText: "Dòng này sẽ thành lượt gọi ngay khi nó đến.",
    look: "Xem lại",
    arrived: "Lượt gọi đầu tiên đã đến",
    arrivedText: "Mỗi lượt gọi có biên nhận ghi token, giá và thời gian.",
    continue: "Tiếp tục",
    playground: "Chạy thử không cần mã",
  },
});
