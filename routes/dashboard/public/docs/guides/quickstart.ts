/** The first call in a minute. */
import { snippets } from "../../../customer/connect/connect_snippets.ts";
import type { Guide, GuideCode, GuideFacts } from "./guide.ts";

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
            "[Create an account](/sign-up): its first key is there, in code that runs. Fill the [wallet](/wallet), and [create a key](/keys/new) for each further machine or application.",
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
            "Every answer that does not stream has `x-gateway-cost-vnd`, and every call has a receipt under [Usage](/usage), found by its `x-request-id`. Calls that fail cost nothing.",
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
            "[Tạo tài khoản](/sign-up): khoá API đầu tiên có sẵn, trong đoạn mã chạy được ngay. Nạp tiền vào [ví](/wallet), và [tạo thêm khoá API](/keys/new) cho mỗi máy hay ứng dụng khác.",
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
            "Mỗi câu trả lời không streaming có `x-gateway-cost-vnd`, và mỗi lượt gọi có biên nhận trong [Mức sử dụng](/usage), tìm theo `x-request-id`. Lượt gọi lỗi không mất tiền.",
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
