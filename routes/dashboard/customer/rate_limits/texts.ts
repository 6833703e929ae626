/** Texts about rate limits. */
import { defineTexts } from "../../text/i18n.ts";

export const rateTexts = defineTexts({
  en: {
    title: "Rate limits",
    now: "Used in the last 60 seconds, over all servers.",
    none: "No rate limits are set.",
    limit: "Limit",
    of: "Of",
    used: "Now",
    share: "Share",
    usedOf: (used: string, limit: string) => `${used} of ${limit}`,
    names: {
      requestsPerMinute: "Calls per minute",
      tokensPerMinute: "Tokens per minute",
      callsAtOnce: "Calls at once",
    },
    scopes: {
      account: "This account",
      key: "This key",
      model: "A model, all customers",
      account_model: "This account on a model",
    },
    ofModel: (model: string) => `This account on ${model}`,
    keyHint:
      "Calls beyond a limit get a 429 with the seconds to wait. Limits of the service apply beside these.",
  },
  vi: {
    title: "Giới hạn tốc độ",
    now: "Đã dùng trong 60 giây qua, trên mọi máy chủ.",
    none: "Chưa đặt giới hạn tốc độ nào.",
    limit: "Giới hạn",
    of: "Của",
    used: "Hiện tại",
    share: "Tỷ lệ",
    usedOf: (used, limit) => `${used} trên ${limit}`,
    names: {
      requestsPerMinute: "Lượt gọi mỗi phút",
      tokensPerMinute: "Token mỗi phút",
      callsAtOnce: "Lượt gọi cùng lúc",
    },
    scopes: {
      account: "Tài khoản này",
      key: "Khoá API này",
      model: "Một mô hình, mọi khách hàng",
      account_model: "Tài khoản này trên một mô hình",
    },
    ofModel: (model) => `Tài khoản này trên ${model}`,
    keyHint:
      "Lượt gọi vượt giới hạn nhận lỗi 429 kèm số giây cần đợi. Giới hạn của dịch vụ vẫn áp dụng song song.",
  },
});
