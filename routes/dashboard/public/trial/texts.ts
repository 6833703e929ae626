/** Texts of the page on which visitors try models. */
import { englishCount, formatCount } from "../../text/format.ts";
import { defineTexts } from "../../text/i18n.ts";

interface TrialTexts {
  readonly title: string;
  readonly description: string;
  readonly lead: string;
  readonly leadPlay: string;
  readonly model: string;
  readonly prompt: string;
  readonly bounds: (chars: number, tokens: number) => string;
  readonly ask: string;
  readonly asking: string;
  readonly answer: string;
  readonly empty: string;
  readonly example: string;
  readonly answerOf: (model: string) => string;
  readonly noText: string;
  readonly receipt: string;
  readonly keyName: string;
  readonly broken: string;
  readonly rules: string;
  readonly ruleCalls: (calls: number) => string;
  readonly ruleStored: string;
  readonly ruleSame: string;
  readonly next: string;
  readonly nextText: string;
  readonly signUp: string;
  readonly code: string;
  readonly refusals: {
    readonly no_prompt: string;
    readonly long_prompt: (chars: number) => string;
    readonly no_model: string;
    readonly address_used_up: (calls: number) => string;
    readonly day_used_up: string;
    readonly unavailable: string;
    readonly busy: string;
    readonly refused: string;
    readonly failed: string;
  };
}

export const trialTexts = defineTexts<TrialTexts>({
  en: {
    title: "Try a model",
    description: "Ask a model a question without an account, and see what the answer costs.",
    lead: "Ask without an account. You see the answer and the receipt of the call; we pay it.",
    leadPlay:
      "Ask without an account. Play models answer here: they repeat your words and cost nothing.",
    model: "Model",
    prompt: "Your question",
    bounds: (chars, tokens) =>
      `At most ${formatCount(chars, "en")} characters; answers end after ${
        formatCount(tokens, "en")
      } tokens.`,
    ask: "Ask",
    asking: "Asking…",
    answer: "Answer",
    empty: "The answer appears here, with its receipt.",
    example: "Explain in two sentences what an API key is.",
    answerOf: (model) => `Answer of ${model}`,
    noText: "The model gave no text: it used up its tokens before.",
    receipt: "What the call cost",
    keyName: "Visitors",
    broken: "The answer broke off. Ask again.",
    rules: "How trying works",
    ruleCalls: (calls) =>
      `${
        englishCount(formatCount(calls, "en"), "question", "questions")
      } a day from your network, as long as the budget of the day lasts.`,
    ruleStored: "Your question and the answer are stored nowhere. The receipt has no texts.",
    ruleSame: "The call goes the same way as those of customers: same models, prices and receipts.",
    next: "More than one question?",
    nextText: "With an account you get conversations, pictures, API keys and your own receipts.",
    signUp: "Create an account",
    code: "See the code",
    refusals: {
      no_prompt: "Write a question first.",
      long_prompt: (chars) =>
        `Your question has more than ${formatCount(chars, "en")} characters. Shorten it.`,
      no_model: "This model cannot be tried here. Choose another one.",
      address_used_up: (calls) =>
        `Your network has asked ${
          englishCount(formatCount(calls, "en"), "question", "questions")
        } today, as many as it may. Come back tomorrow, or create an account to go on now.`,
      day_used_up:
        "What visitors may use today is used up. Come back tomorrow, or create an account to go on now.",
      unavailable: "Trying is switched off right now. With an account you can call every model.",
      busy: "Many people are trying models at the moment. Wait some seconds and ask again.",
      refused: "The provider refuses this question. Write it differently.",
      failed: "The model could not answer. Ask again, or choose another one. Nothing was charged.",
    },
  },
  vi: {
    title: "Thử một mô hình",
    description: "Hỏi mô hình một câu mà không cần tài khoản, và xem câu trả lời tốn bao nhiêu.",
    lead:
      "Hỏi mà không cần tài khoản. Bạn thấy câu trả lời và biên nhận của lượt gọi; chúng tôi trả tiền.",
    leadPlay:
      "Hỏi mà không cần tài khoản. Ở đây mô hình thử nghiệm trả lời: nó lặp lại lời bạn và không tốn tiền.",
    model: "Mô hình",
    prompt: "Câu hỏi của bạn",
    bounds: (chars, tokens) =>
      `Tối đa ${formatCount(chars, "vi")} ký tự; câu trả lời dừng sau ${
        formatCount(tokens, "vi")
      } token.`,
    ask: "Hỏi",
    asking: "Đang hỏi…",
    answer: "Câu trả lời",
    empty: "Câu trả lời và biên nhận sẽ hiện ở đây.",
    example: "Giải thích trong hai câu khoá API là gì.",
    answerOf: (model) => `Câu trả lời của ${model}`,
    noText: "Mô hình không trả về văn bản: nó đã dùng hết token trước đó.",
    receipt: "Lượt gọi tốn bao nhiêu",
    keyName: "Khách chưa đăng ký",
    broken: "Câu trả lời bị ngắt giữa chừng. Hãy hỏi lại.",
    rules: "Cách dùng thử",
    ruleCalls: (calls) =>
      `${
        formatCount(calls, "vi")
      } câu hỏi mỗi ngày từ mạng của bạn, khi ngân sách trong ngày vẫn còn.`,
    ruleStored: "Câu hỏi và câu trả lời không được lưu ở đâu cả. Biên nhận không chứa văn bản.",
    ruleSame: "Lượt gọi đi đúng đường của khách hàng: cùng mô hình, cùng giá, cùng biên nhận.",
    next: "Muốn hỏi nhiều hơn?",
    nextText: "Có tài khoản, bạn có hội thoại, hình ảnh, khoá API và biên nhận của riêng mình.",
    signUp: "Tạo tài khoản",
    code: "Xem mã",
    refusals: {
      no_prompt: "Hãy viết câu hỏi trước.",
      long_prompt: (chars) =>
        `Câu hỏi của bạn dài hơn ${formatCount(chars, "vi")} ký tự. Hãy viết ngắn lại.`,
      no_model: "Không thử được mô hình này ở đây. Hãy chọn mô hình khác.",
      address_used_up: (calls) =>
        `Mạng của bạn đã hỏi đủ ${
          formatCount(calls, "vi")
        } câu được phép hôm nay. Hãy quay lại ngày mai, hoặc tạo tài khoản để dùng tiếp ngay.`,
      day_used_up:
        "Phần dùng thử của hôm nay đã hết. Hãy quay lại ngày mai, hoặc tạo tài khoản để dùng tiếp ngay.",
      unavailable: "Hiện không dùng thử được. Có tài khoản, bạn gọi được mọi mô hình.",
      busy: "Đang có nhiều người dùng thử. Hãy đợi vài giây rồi hỏi lại.",
      refused: "Nhà cung cấp từ chối câu hỏi này. Hãy viết khác đi.",
      failed:
        "Mô hình không trả lời được. Hãy hỏi lại hoặc chọn mô hình khác. Lượt gọi này không tính phí.",
    },
  },
});

/** Why a visitor has no answer. */
export type TrialProblem = keyof TrialTexts["refusals"];
