/** Texts of the landing page. */
import { englishCount } from "../../text/format.ts";
import { defineTexts } from "../../text/i18n.ts";

export const landingTexts = defineTexts({
  both: {
    start: ["Create an account", "Tạo tài khoản"],
    tryIt: ["Try a model first", "Thử mô hình trước"],
    prices: ["See models and prices", "Xem mô hình và giá"],
    change: ["Change two lines, keep your SDK", "Đổi hai dòng, giữ nguyên SDK"],
    noCard: ["No card, no monthly fee", "Không cần thẻ, không phí tháng"],
    freeFailures: ["Failed calls cost nothing", "Lượt gọi lỗi không mất tiền"],
    vatInvoice: ["VAT invoice", "Hoá đơn GTGT"],
    answer: ["Hello! How can I help you today?", "Xin chào! Tôi có thể giúp gì cho bạn?"],
    chatModels: ["Text", "Văn bản"],
    otherModels: ["Images, speech, video and more", "Hình ảnh, giọng nói, video và loại khác"],
    proofs: ["How receipts are proven", "Cách chứng minh biên nhận"],
    invoices: ["VAT invoice on request.", "Có hoá đơn GTGT khi yêu cầu."],
    live: ["Prices today", "Giá hôm nay"],
    liveLead: ["All prices in VND. No extra fees.", "Giá bằng VND, không thêm phí."],
    model: ["Model", "Mô hình"],
    price: ["Price", "Giá"],
    input: ["Input", "Đầu vào"],
    output: ["Output", "Đầu ra"],
    inWord: ["in", "vào"],
    outWord: ["out", "ra"],
    perMtok: ["per 1M tokens", "mỗi 1 triệu token"],
    status: ["Status", "Trạng thái"],
    allModels: ["All models and prices", "Mọi mô hình và giá"],
    receipt: ["Every call ends in a receipt", "Lượt gọi nào cũng có biên nhận"],
    billing: ["How calls are charged", "Cách tính tiền"],
    path: ["Where every đồng goes", "Mỗi đồng đi đâu"],
    availability: ["Answered calls, 30 days", "Lượt gọi được trả lời, 30 ngày"],
    questions: ["Questions and answers", "Hỏi và đáp"],
    docs: ["Read the documentation", "Đọc tài liệu"],
  },
  en: {
    title: (brand: string) => `${brand}: one key for every model`,
    description:
      "Text, images, speech and video of many providers behind one key. Prices in VND, a receipt for every call, no monthly fee.",
    headline: ["One address.", "One key.", "Every model."],
    lead:
      "Text, images, speech and video from many providers behind the API styles you already use. Paid from one prepaid wallet in VND, by the call.",
    credit: (amount: string) => `${amount} to try, no card`,
    bonus: (gift: string, from: string | undefined) =>
      from === undefined ? `+${gift} on top-ups` : `+${gift} on top-ups from ${from}`,
    tokens: (input: number, output: number) => `${input} + ${output} tokens`,
    strangers: {
      cost: {
        title: "What does it cost?",
        text:
          "Each call has its price in VND, by the token or the piece, from a prepaid wallet. No card, no monthly fee, and the balance never expires.",
        textWithTransfer:
          "Each call has its price in VND, by the token or the piece. Top up by bank transfer with a QR code. No card, no monthly fee, and the balance never expires.",
        href: "#calculator",
        link: "Calculate a month",
      },
      trust: {
        title: "Can I trust it with money?",
        text:
          "Each call ends in a receipt with tokens, price and charge, and no call costs more than the wallet has. Each day is signed in the night after it: you can prove every receipt.",
        href: "/proofs",
        link: "Check the proofs",
      },
      tools: {
        title: "Does my tool work?",
        text:
          "Claude Code, Codex, Cursor, opencode, n8n and the official SDKs: change the address and the key. Messages, Chat Completions, Responses and Gemini style, with tools and streaming.",
        href: "/connect",
        link: "Set up your tool",
      },
      breaks: {
        title: "What if it breaks?",
        text:
          "If a provider fails, the next route of the same model answers. If all fail, you get a clear error and pay nothing. Status and incidents are public.",
        href: "/status",
        link: "See the status",
      },
    },
    facts: {
      models: (count: string) => englishCount(count, "model", "models"),
      modelsNote: "text, image, speech, video",
      answered: "of calls answered, 30 days",
      median: "median to the first token",
      byModel: "By model",
      verified: "The books agree",
      verifiedNote: "every receipt, ledger line and wallet, verified",
      all: "All",
      proofs: "Proofs",
    },
    statuses: { up: "Available", degraded: "Slow", down: "Down" },
    receiptLead:
      "We hold the maximum cost, then charge the actual. The receipt shows how the sum was made and every route that was tried. Receipts, statement and invoice agree to the last fraction of a đồng.",
    receiptPoints: [
      { title: "A failed call is free.", text: "No answer, no charge." },
      { title: "Your data is yours.", text: "Prompts and answers are never stored." },
      { title: "If a provider fails,", text: "the next route answers." },
    ],
    receiptOf: (model: string) => `${model}, at the prices of today`,
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
  },
  vi: {
    title: (brand) => `${brand}: một khoá API cho mọi mô hình`,
    description:
      "Văn bản, hình ảnh, giọng nói và video của nhiều nhà cung cấp qua một khoá API. Giá bằng VND, biên nhận cho từng lượt gọi, không phí tháng.",
    headline: ["Một địa chỉ.", "Một khoá API.", "Mọi mô hình."],
    lead:
      "Văn bản, hình ảnh, giọng nói và video từ nhiều nhà cung cấp, qua đúng những kiểu API bạn đang dùng. Trả từ một ví trả trước bằng VND, theo từng lượt gọi.",
    credit: (amount) => `${amount} dùng thử, không cần thẻ`,
    bonus: (gift, from) =>
      from === undefined ? `Tặng thêm ${gift} khi nạp` : `Tặng thêm ${gift} khi nạp từ ${from}`,
    tokens: (input, output) => `${input} + ${output} token`,
    strangers: {
      cost: {
        title: "Tốn bao nhiêu?",
        text:
          "Mỗi lượt gọi có giá bằng VND, theo token hoặc theo lần, trừ vào ví trả trước. Không cần thẻ, không phí tháng, số dư không hết hạn.",
        textWithTransfer:
          "Mỗi lượt gọi có giá bằng VND, theo token hoặc theo lần. Nạp bằng chuyển khoản qua mã QR. Không cần thẻ, không phí tháng, số dư không hết hạn.",
        href: "#calculator",
        link: "Tính cho một tháng",
      },
      trust: {
        title: "Có tin được về tiền không?",
        text:
          "Mỗi lượt gọi có biên nhận ghi token, đơn giá và chi phí, và không lượt gọi nào tốn hơn số tiền trong ví. Mỗi ngày được ký vào đêm sau ngày đó: bạn kiểm chứng được từng biên nhận.",
        href: "/proofs",
        link: "Xem bằng chứng",
      },
      tools: {
        title: "Công cụ của tôi có dùng được không?",
        text:
          "Claude Code, Codex, Cursor, opencode, n8n và các SDK chính thức: chỉ đổi địa chỉ và khoá API. Kiểu Messages, Chat Completions, Responses và Gemini, gồm cả công cụ và streaming.",
        href: "/connect",
        link: "Cài đặt công cụ",
      },
      breaks: {
        title: "Nếu có sự cố thì sao?",
        text:
          "Nếu nhà cung cấp lỗi, tuyến kế tiếp của cùng mô hình sẽ trả lời. Nếu mọi tuyến đều lỗi, bạn nhận lỗi rõ ràng và không mất tiền. Trạng thái và sự cố được công khai.",
        href: "/status",
        link: "Xem trạng thái",
      },
    },
    facts: {
      models: (count) => `${count} mô hình`,
      modelsNote: "văn bản, hình ảnh, giọng nói, video",
      answered: "lượt gọi được trả lời, 30 ngày",
      median: "trung vị đến token đầu tiên",
      byModel: "Theo mô hình",
      verified: "Sổ sách khớp",
      verifiedNote: "mọi biên nhận, bút toán và ví đã đối chiếu",
      all: "Tất cả",
      proofs: "Bằng chứng",
    },
    statuses: { up: "Sẵn sàng", degraded: "Chậm", down: "Ngừng" },
    receiptLead:
      "Chúng tôi tạm giữ chi phí tối đa, rồi chỉ tính chi phí thực tế. Biên nhận ghi rõ cách tính và mọi tuyến đã thử. Biên nhận, sao kê và hoá đơn khớp đến phần lẻ cuối cùng của một đồng.",
    receiptPoints: [
      { title: "Lượt gọi lỗi không mất tiền.", text: "Không có câu trả lời thì không tính phí." },
      {
        title: "Dữ liệu của bạn là của bạn.",
        text: "Câu hỏi và câu trả lời không bao giờ được lưu.",
      },
      { title: "Nếu nhà cung cấp gặp sự cố,", text: "tuyến kế tiếp sẽ trả lời." },
    ],
    receiptOf: (model) => `${model}, theo giá hôm nay`,
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
  },
});
