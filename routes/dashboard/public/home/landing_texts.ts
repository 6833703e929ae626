/** Texts of the landing page. */
import { englishCount } from "../../text/format.ts";
import { defineTexts } from "../../text/i18n.ts";

export const landingTexts = defineTexts({
  en: {
    title: "Model Gateway: one key for every model",
    description:
      "Text, images, speech and video of many providers behind one key. Prices in VND, a receipt for every call, no monthly fee.",
    headline: ["One address.", "One key.", "Every model."],
    lead:
      "Text, images, speech and video from many providers behind the API styles you already use. Paid from one prepaid wallet in VND, by the call.",
    start: "Create an account",
    prices: "See models and prices",
    change: "Change two lines, keep your SDK",
    sdk: {
      title: "Your SDK stays",
      text:
        "Messages, Chat Completions, Responses and Gemini style, tools and streaming included. Any chat model through each of them.",
    },
    transfer: {
      title: "Pay by bank transfer",
      text:
        "Scan a QR, and your wallet is filled in moments. No card, no monthly fee, and the balance never expires.",
    },
    prepaid: {
      title: "Pay by the call",
      text: "From a prepaid wallet. No card, no monthly fee, and the balance never expires.",
    },
    receipts: {
      title: "Every đồng accounted for",
      text: "Each call has a receipt with tokens, price and latency. Failed calls cost nothing.",
    },
    invoices: "VAT invoice on request.",
    privacy: {
      title: "Your prompts stay yours",
      text: "Only metadata is kept. Prompts and answers are never stored and never logged.",
    },
    models: (count: number) => `${count} models`,
    facts: {
      models: (count: string) => englishCount(count, "model", "models"),
      modelsNote: "text, image, speech, video",
      answered: "of calls answered, 30 days",
      verified: "The books agree",
      verifiedNote: "every receipt, ledger line and wallet, verified",
      all: "All",
      proofs: "Proofs",
    },
    live: "Prices today",
    liveLead: "All prices in VND. No extra fees.",
    model: "Model",
    price: "Price",
    status: "Status",
    statuses: { up: "Available", degraded: "Slow", down: "Down" },
    allModels: "All models and prices",
    receipt: "Every call ends in a receipt",
    receiptLead:
      "We hold the maximum cost, then charge the actual. The receipt shows how the sum was made and every route that was tried. Receipts, statement and invoice agree to the last fraction of a đồng.",
    receiptPoints: [
      { title: "A failed call is free.", text: "No answer, no charge." },
      { title: "Your data is yours.", text: "Prompts and answers are never stored." },
      { title: "If a provider fails,", text: "the next route answers." },
    ],
    receiptOf: (model: string) => `${model}, at the prices of today`,
    billing: "How calls are charged",
    path: "Where every đồng goes",
    steps: [
      {
        title: "1. Top up",
        sum: "Wallet",
        text: "Credited in full.",
        textWithTransfer: "Credited in full once your bank confirms.",
      },
      {
        title: "2. Hold",
        sum: "Held",
        text: "We hold the maximum cost, then charge the actual.",
      },
      {
        title: "3. Receipt",
        sum: "Paid",
        text: "The receipt shows the exact charge. The rest of the hold is released.",
      },
      {
        title: "4. Invoice",
        sum: "Left",
        text: "Statement, receipts and invoices agree to the last fraction.",
      },
    ],
    availability: "Answered calls, 30 days",
    questions: "Questions and answers",
    faq: [
      {
        question: "Do I have to change my code?",
        answer: "Two lines: the base address and the key. SDKs, agents and tools stay.",
      },
      {
        question: "What if a provider fails?",
        answer:
          "The call goes to another route of the same model, where there is one. If all fail, you get an error, and it costs nothing.",
      },
      {
        question: "Can a call cost more than I have?",
        answer:
          "A call begins only if the wallet can pay for it, and each key can have a spending limit of its own.",
      },
      {
        question: "Are my prompts used for anything?",
        answer: "No. They pass through and are neither stored nor logged here.",
      },
    ],
    docs: "Read the documentation",
  },
  vi: {
    title: "Model Gateway: một khoá API cho mọi mô hình",
    description:
      "Văn bản, hình ảnh, giọng nói và video của nhiều nhà cung cấp qua một khoá API. Giá bằng VND, biên nhận cho từng lượt gọi, không phí tháng.",
    headline: ["Một địa chỉ.", "Một khoá API.", "Mọi mô hình."],
    lead:
      "Văn bản, hình ảnh, giọng nói và video từ nhiều nhà cung cấp, qua đúng những kiểu API bạn đang dùng. Trả từ một ví trả trước bằng VND, theo từng lượt gọi.",
    start: "Tạo tài khoản",
    prices: "Xem mô hình và giá",
    change: "Đổi hai dòng, giữ nguyên SDK",
    sdk: {
      title: "Giữ nguyên SDK",
      text:
        "Kiểu Messages, Chat Completions, Responses và Gemini, gồm cả công cụ và streaming. Mô hình hội thoại nào cũng gọi được qua mọi kiểu.",
    },
    transfer: {
      title: "Trả bằng chuyển khoản",
      text:
        "Quét mã QR, tiền vào ví trong chốc lát. Không cần thẻ, không phí tháng, số dư không hết hạn.",
    },
    prepaid: {
      title: "Trả theo lượt gọi",
      text: "Từ một ví trả trước. Không cần thẻ, không phí tháng, số dư không hết hạn.",
    },
    receipts: {
      title: "Rõ từng đồng",
      text: "Mỗi lượt gọi có biên nhận ghi token, đơn giá và độ trễ. Lượt gọi lỗi không mất tiền.",
    },
    invoices: "Có hoá đơn GTGT khi yêu cầu.",
    privacy: {
      title: "Dữ liệu của bạn là của bạn",
      text:
        "Chỉ lưu thông tin về lượt gọi. Câu hỏi và câu trả lời không bao giờ được lưu hay ghi lại.",
    },
    models: (count) => `${count} mô hình`,
    facts: {
      models: (count) => `${count} mô hình`,
      modelsNote: "văn bản, hình ảnh, giọng nói, video",
      answered: "lượt gọi được trả lời, 30 ngày",
      verified: "Sổ sách khớp",
      verifiedNote: "mọi biên nhận, bút toán và ví đã đối chiếu",
      all: "Tất cả",
      proofs: "Bằng chứng",
    },
    live: "Giá hôm nay",
    liveLead: "Giá bằng VND, không thêm phí.",
    model: "Mô hình",
    price: "Giá",
    status: "Trạng thái",
    statuses: { up: "Sẵn sàng", degraded: "Chậm", down: "Ngừng" },
    allModels: "Mọi mô hình và giá",
    receipt: "Lượt gọi nào cũng có biên nhận",
    receiptLead:
      "Chúng tôi tạm giữ chi phí tối đa, rồi chỉ tính chi phí thực tế. Biên nhận ghi rõ cách tính và mọi tuyến đã thử. Biên nhận, sao kê và hoá đơn khớp đến phần lẻ cuối cùng của một đồng.",
    receiptPoints: [
      { title: "Lượt gọi lỗi không mất tiền.", text: "Không có câu trả lời thì không tính phí." },
      { title: "Dữ liệu là của bạn.", text: "Câu hỏi và câu trả lời không bao giờ được lưu." },
      { title: "Nếu nhà cung cấp gặp sự cố,", text: "tuyến kế tiếp sẽ trả lời." },
    ],
    receiptOf: (model) => `${model}, theo giá hôm nay`,
    billing: "Cách tính tiền",
    path: "Mỗi đồng đi đâu",
    steps: [
      {
        title: "1. Nạp tiền",
        sum: "Trong ví",
        text: "Tiền vào ví đủ từng đồng.",
        textWithTransfer: "Tiền vào ví ngay khi ngân hàng xác nhận, đủ từng đồng.",
      },
      {
        title: "2. Tạm giữ",
        sum: "Đang giữ",
        text: "Chúng tôi tạm giữ chi phí tối đa, rồi chỉ tính chi phí thực tế.",
      },
      {
        title: "3. Biên nhận",
        sum: "Đã trả",
        text: "Biên nhận ghi đúng chi phí. Phần tạm giữ còn lại được trả về ví.",
      },
      {
        title: "4. Hoá đơn",
        sum: "Còn lại",
        text: "Sao kê, biên nhận và hoá đơn khớp đến phần lẻ cuối cùng.",
      },
    ],
    availability: "Lượt gọi được trả lời, 30 ngày",
    questions: "Hỏi và đáp",
    faq: [
      {
        question: "Tôi có phải sửa mã không?",
        answer: "Hai dòng: địa chỉ gốc và khoá API. SDK, trợ lý và công cụ giữ nguyên.",
      },
      {
        question: "Nếu nhà cung cấp gặp sự cố?",
        answer:
          "Lượt gọi chuyển sang đường khác của cùng mô hình nếu có. Nếu mọi đường đều lỗi, bạn nhận lỗi và không mất tiền.",
      },
      {
        question: "Một lượt gọi có thể tốn hơn số tiền tôi có không?",
        answer: "Lượt gọi chỉ bắt đầu khi ví đủ trả, và mỗi khoá API có thể có hạn mức chi riêng.",
      },
      {
        question: "Câu hỏi của tôi có bị dùng vào việc gì không?",
        answer: "Không. Chúng chỉ đi qua, không được lưu hay ghi lại ở đây.",
      },
    ],
    docs: "Đọc tài liệu",
  },
});
