/** The first call in a minute. */
import { snippets } from "../../../customer/connect/recipes.ts";
import type { Guide, GuideCode, GuideFacts } from "./guide.ts";

// The way of the money.

export const billing: Guide = {
  slug: "billing",
  texts: () => ({
    en: {
      title: "Money",
      lead: "A prepaid wallet in VND, a price for each model, a receipt for each call.",
      sections: [
        {
          title: "Prices",
          text: [
            "[Models and prices](/models) shows the price of each model, by the token or by the call. A running call keeps the price that it began with.",
          ],
        },
        {
          title: "Before a call",
          text: [
            "The most that a call can cost is reserved, and the difference comes back when it ends. If the wallet does not cover it, the answer gets a lower limit, named in `x-gateway-output-limit`; a `max_tokens` of your own keeps reservations small. A 402 says that the wallet is used up; a 429 `balance_on_hold` that running calls have reserved the balance for now.",
          ],
        },
        {
          title: "After a call",
          text: [
            "The receipt has tokens, prices, cost, time and attempts; `/v1/receipts` and the export under [Requests](/usage) have all of them. Errors are free.",
          ],
        },
        {
          title: "Limits",
          text: [
            "Each key can have a spending limit, models, addresses and an end. A lost key is revoked alone.",
          ],
        },
      ],
    },
    vi: {
      title: "Tiền",
      lead: "Một ví trả trước bằng VND, giá cho từng mô hình, biên nhận cho từng lượt gọi.",
      sections: [
        {
          title: "Giá",
          text: [
            "[Mô hình và giá](/models) ghi giá của từng mô hình, theo token hoặc theo lượt gọi. Lượt gọi đang chạy giữ nguyên giá lúc bắt đầu.",
          ],
        },
        {
          title: "Trước lượt gọi",
          text: [
            "Số tiền nhiều nhất mà lượt gọi có thể tốn được tạm giữ, phần thừa trả lại khi kết thúc. Nếu ví không đủ, câu trả lời nhận giới hạn thấp hơn, ghi trong `x-gateway-output-limit`; tự đặt `max_tokens` thì số tiền tạm giữ nhỏ. 402 nghĩa là ví đã hết tiền; 429 `balance_on_hold` nghĩa là các lượt gọi đang chạy tạm giữ hết số dư.",
          ],
        },
        {
          title: "Sau lượt gọi",
          text: [
            "Biên nhận ghi token, đơn giá, chi phí, thời gian và các lần thử; `/v1/receipts` và bản xuất trong [Lượt gọi](/usage) có đủ. Lỗi không mất tiền.",
          ],
        },
        {
          title: "Giới hạn",
          text: [
            "Mỗi khoá API có thể có hạn mức chi, danh sách mô hình, địa chỉ và ngày hết hạn. Lộ khoá nào thu hồi đúng khoá đó.",
          ],
        },
      ],
    },
  }),
};

function firstCall({ baseUrl, model }: GuideFacts): GuideCode[] {
  const { chat, messages } = snippets(baseUrl, model);
  return [
    ...chat.filter(({ name }) => name !== "TypeScript"),
    ...messages.filter(({ name }) => name === "TypeScript"),
  ].map(({ name, code }) => ({ name, code }));
}

export const quickstart: Guide = {
  slug: "quickstart",
  texts: (facts) => ({
    en: {
      title: "Quick start",
      lead: "From a new account to the first answer.",
      sections: [
        {
          title: "1. Get a key",
          text: [
            "[Create an account](/sign-up): its first key is there, in code that runs. Fill the [wallet](/wallet), and create a key for each further machine or application under API keys.",
          ],
        },
        {
          title: "2. Change two lines",
          text: [
            `Keep the SDK that you use. Set its base address to \`${facts.baseUrl}/v1\` (Chat Completions, Responses) or \`${facts.baseUrl}\` (Messages, Gemini), and its key to yours.`,
          ],
          code: firstCall(facts),
        },
        {
          title: "3. See what it cost",
          text: [
            "Every answer that does not stream has `x-gateway-cost-vnd`, and every call has a receipt under [Requests](/usage), found by its `x-request-id`. Calls that fail cost nothing.",
          ],
        },
        {
          title: "If it does not work",
          text: [
            "A 404 means a wrong base address: add or remove `/v1`. A 401 means a wrong key, a 402 an empty wallet. All errors are in [Errors and retries](/docs/errors).",
          ],
        },
      ],
    },
    vi: {
      title: "Bắt đầu nhanh",
      lead: "Từ tài khoản mới đến câu trả lời đầu tiên.",
      sections: [
        {
          title: "1. Lấy khoá API",
          text: [
            "[Tạo tài khoản](/sign-up): khoá API đầu tiên có sẵn, trong đoạn mã chạy được ngay. Nạp tiền vào [ví](/wallet), và tạo thêm khoá API cho mỗi máy hay ứng dụng khác ở trang Khoá API.",
          ],
        },
        {
          title: "2. Đổi hai dòng",
          text: [
            `Giữ nguyên SDK bạn đang dùng. Đặt địa chỉ gốc là \`${facts.baseUrl}/v1\` (Chat Completions, Responses) hoặc \`${facts.baseUrl}\` (Messages, Gemini), và khoá API là khoá của bạn.`,
          ],
          code: firstCall(facts),
        },
        {
          title: "3. Xem chi phí",
          text: [
            "Mỗi câu trả lời không streaming có `x-gateway-cost-vnd`, và mỗi lượt gọi có biên nhận trong [Lượt gọi](/usage), tìm theo `x-request-id`. Lượt gọi lỗi không mất tiền.",
          ],
        },
        {
          title: "Nếu chưa chạy được",
          text: [
            "404 là sai địa chỉ gốc: thêm hoặc bỏ `/v1`. 401 là sai khoá API, 402 là ví hết tiền. Mọi lỗi có trong [Lỗi và thử lại](/docs/errors).",
          ],
        },
      ],
    },
  }),
};
