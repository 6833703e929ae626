/** Errors, retries and idempotency. */
import { errorTable } from "../../../../../core/lib/errors/errors.ts";
import { failureCodesOfPages, wordsOfCode } from "../../../customer/usage/failure_words.ts";
import type { Locale } from "../../../text/i18n.ts";
import type { Guide } from "./guide.ts";

/** Statuses with the type and codes that they have, as rows of a table. */
function statusRows(): string[][] {
  const rows = Map.groupBy(Object.entries(errorTable), ([, { status }]) => status);
  return [...rows].sort(([a], [b]) => a - b).map(([status, codes]) => [
    `\`${status}\``,
    codes.map(([code]) => `\`${code}\``).join(", "),
    codes.some(([, { retry }]) => retry) ? "✓" : "–",
  ]);
}

/** Every code, with the words of receipts. */
function codeRows(locale: Locale): string[][] {
  return failureCodesOfPages.map((code) => {
    const { what, next } = wordsOfCode(code, locale);
    return [code, what, next];
  });
}

const idempotentCall = `answer = client.chat.completions.create(
    model="…",
    max_tokens=1024,
    messages=[{"role": "user", "content": "Hello!"}],
    extra_headers={"Idempotency-Key": str(uuid.uuid4())},
)`;

export const errors: Guide = {
  slug: "errors",
  texts: () => ({
    en: {
      title: "Errors and retries",
      lead: "What a status means, which calls to repeat, and how not to pay twice.",
      sections: [
        {
          title: "Statuses",
          text: [
            "The body has a type, a code, a message and often the field at fault. `retry-after` says when a retry can help, `x-should-retry` whether it can; the official SDKs follow both.",
          ],
          table: [["Status", "Codes", "Retry"], ...statusRows()],
        },
        {
          title: "Rate limits",
          text: [
            "A service may limit calls and tokens per minute, and calls at once, of an account, a key or a model; you can set lower limits on your own keys. Answers then say what is left: `x-ratelimit-remaining-requests` and `x-ratelimit-remaining-tokens`, or `anthropic-ratelimit-…` on Messages.",
            "A call beyond a limit gets 429 with the code `rate_limit_reached` and `retry-after`: the official SDKs wait and send it again.",
          ],
        },
        {
          title: "Errors are free",
          text: [
            "An error in place of an answer is never charged. A stream that breaks later is charged for what arrived.",
          ],
        },
        {
          title: "Repeat without paying again",
          text: [
            "Send an `Idempotency-Key` with any paid POST. For 24 hours the same key with the same path and body is charged once: while the first call runs, the repeated one gets the same answer.",
          ],
          code: [{ name: "Python", code: idempotentCall }],
        },
        {
          title: "Codes",
          text: ["What each code means, and what to do. Receipts link here."],
          table: [["Code", "What happened", "What to do"], ...codeRows("en")],
          hasCodes: true,
        },
        {
          title: "Ask for help",
          text: [
            "Name the `x-request-id` of the answer. Prompts and answers are not stored, so nobody can look them up.",
          ],
        },
      ],
    },
    vi: {
      title: "Lỗi và thử lại",
      lead:
        "Mỗi trạng thái nghĩa là gì, lượt gọi nào nên lặp lại, và làm sao để không trả tiền hai lần.",
      sections: [
        {
          title: "Trạng thái",
          text: [
            "Nội dung lỗi có loại, mã, lời giải thích và thường có cả trường bị sai. `retry-after` cho biết khi nào nên thử lại, `x-should-retry` cho biết có nên không; các SDK chính thức theo cả hai.",
          ],
          table: [["Trạng thái", "Mã lỗi", "Thử lại"], ...statusRows()],
        },
        {
          title: "Giới hạn tốc độ",
          text: [
            "Dịch vụ có thể giới hạn số lượt gọi và token mỗi phút, và số lượt gọi cùng lúc, của một tài khoản, khoá API hay mô hình; bạn có thể đặt giới hạn thấp hơn cho khoá API của mình. Khi đó câu trả lời cho biết còn bao nhiêu: `x-ratelimit-remaining-requests` và `x-ratelimit-remaining-tokens`, hoặc `anthropic-ratelimit-…` ở kiểu Messages.",
            "Lượt gọi vượt giới hạn nhận lỗi 429 với mã `rate_limit_reached` và `retry-after`: các SDK chính thức tự đợi rồi gửi lại.",
          ],
        },
        {
          title: "Lỗi không mất tiền",
          text: [
            "Lỗi thay cho câu trả lời không bao giờ bị tính tiền. Luồng đứt giữa chừng chỉ tính phần đã nhận.",
          ],
        },
        {
          title: "Lặp lại mà không trả thêm",
          text: [
            "Gửi `Idempotency-Key` với mọi POST có tính tiền. Trong 24 giờ, cùng mã đó với cùng đường dẫn và nội dung chỉ bị tính một lần: khi lượt đầu đang chạy, lượt lặp lại nhận cùng câu trả lời.",
          ],
          code: [{ name: "Python", code: idempotentCall }],
        },
        {
          title: "Mã lỗi",
          text: ["Mỗi mã nghĩa là gì, và nên làm gì. Biên nhận dẫn tới đây."],
          table: [["Mã", "Chuyện gì đã xảy ra", "Nên làm gì"], ...codeRows("vi")],
          hasCodes: true,
        },
        {
          title: "Cần hỗ trợ",
          text: [
            "Hãy gửi kèm `x-request-id` của câu trả lời. Câu hỏi và câu trả lời không được lưu, nên không ai xem lại được.",
          ],
        },
      ],
    },
  }),
};
