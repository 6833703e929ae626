/** Texts of the operator's card about the rate limits of an account. */
import { defineTexts } from "../../../dashboard/text/i18n.ts";

export const rateCardTexts = defineTexts({
  en: {
    change: "Change the limits of this account",
    text:
      "They replace the defaults for this account on every instance within two seconds. What was used in the last minute still counts.",
    fieldHint: (limit: string) => `Empty: the default (${limit}). 0: no limit.`,
    unlimited: "no limit",
    models: "On single models",
    modelsHint:
      "One model per line: id, calls per minute, tokens per minute, calls at once, with - for the default and 0 for no limit. For example: premium-1 60 100000 -",
    save: "Save limits",
    problems: {
      limit: "Limits are whole numbers, 0 for none, or empty for the default.",
      model:
        "A line of the models is wrong: write the id of a model and three limits, such as premium-1 60 - 0.",
    },
  },
  vi: {
    change: "Đổi giới hạn của tài khoản này",
    text:
      "Giới hạn này thay mặc định cho tài khoản trên mọi máy trong vòng hai giây. Những gì đã dùng trong phút qua vẫn được tính.",
    fieldHint: (limit) => `Để trống: mặc định (${limit}). 0: không giới hạn.`,
    unlimited: "không giới hạn",
    models: "Trên từng mô hình",
    modelsHint:
      "Mỗi dòng một mô hình: mã, lượt gọi mỗi phút, token mỗi phút, lượt gọi cùng lúc; dấu - là mặc định, 0 là không giới hạn. Ví dụ: premium-1 60 100000 -",
    save: "Lưu giới hạn",
    problems: {
      limit: "Giới hạn là số nguyên, 0 là không giới hạn, để trống là mặc định.",
      model:
        "Có dòng mô hình chưa đúng: hãy ghi mã mô hình và ba giới hạn, ví dụ premium-1 60 - 0.",
    },
  },
});
