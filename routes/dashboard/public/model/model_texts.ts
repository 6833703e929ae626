/** Texts of the page of one model. */
import type { ModelKind } from "../../../../core/catalog/catalog.ts";
import { defineTexts, type NamedPairs } from "../../text/i18n.ts";

const kinds: NamedPairs<ModelKind> = {
  chat: ["Chat", "Hội thoại"],
  image: ["Images", "Hình ảnh"],
  speech: ["Speech", "Giọng nói"],
  video: ["Video", "Video"],
  embedding: ["Embeddings", "Vector nhúng"],
  transcription: ["Transcription", "Chép lời"],
  rerank: ["Rerank", "Xếp hạng"],
  moderation: ["Moderation", "Kiểm duyệt"],
  completion: ["Completion", "Hoàn thành văn bản"],
};

export const modelTexts = defineTexts({
  both: {
    kinds,
    all: ["All models", "Mọi mô hình"],
    aliases: ["Aliases", "Tên gọi khác"],
    status: ["Now", "Hiện tại"],
    input: ["Input", "Đầu vào"],
    output: ["Output", "Đầu ra"],
    price: ["Price", "Giá"],
    perMtok: ["per 1M tokens", "mỗi 1 triệu token"],
    cacheRead: ["Cache read", "Đọc bộ nhớ đệm (cache)"],
    cacheWrite: ["Cache write", "Ghi bộ nhớ đệm (cache)"],
    cacheWriteHour: ["Cache write, 1 h", "Ghi bộ nhớ đệm (cache), 1 giờ"],
    prices: ["Prices", "Giá"],
    rate: ["Rate", "Loại"],
    context: ["Context", "Ngữ cảnh"],
    maxOutput: ["Max output", "Đầu ra tối đa"],
    tokens: ["tokens", "token"],
    speed: ["First token", "Token đầu tiên"],
    speedOf: ["median of 30 days", "trung vị 30 ngày"],
    noCalls: ["no calls yet", "chưa có lượt gọi"],
    history: ["Answered calls, 30 days", "Lượt gọi được trả lời, 30 ngày"],
    takes: ["Capabilities", "Khả năng"],
    takesText: ["Text", "Văn bản"],
    takesPictures: ["Text, vision", "Văn bản, vision"],
    modalities: ["Input", "Đầu vào"],
    endpoints: ["Endpoints", "Endpoint"],
    code: ["Call it", "Gọi thử"],
    tryIt: ["Try it in the playground", "Chạy thử"],
    start: ["Create an account", "Tạo tài khoản"],
    tryFirst: ["Try it now", "Thử ngay"],
    found: ["There is no such model", "Không có mô hình này"],
  },
  en: {
    family: (name: string) => `All of ${name}`,
    description: (name: string, kind: string) =>
      `${name}: price in VND, limits, availability and code to call it. ${kind}.`,
    statuses: { up: "Available", degraded: "Slow", down: "Down" },
    above: (tokens: string) => `Prompts above ${tokens} tokens`,
    speedNote: (p95: string) => `p95 · ${p95}`,
    anyStyle: "Tools, streaming and structured output work through each of them.",
  },
  vi: {
    family: (name) => `Tất cả mô hình ${name}`,
    description: (name, kind) =>
      `${name}: giá bằng VND, giới hạn, độ sẵn sàng và đoạn mã để gọi. ${kind}.`,
    statuses: { up: "Sẵn sàng", degraded: "Chậm", down: "Ngừng" },
    above: (tokens) => `Prompt trên ${tokens} token`,
    speedNote: (p95) => `p95 · ${p95}`,
    anyStyle: "Công cụ, streaming và đầu ra có cấu trúc dùng được qua từng endpoint.",
  },
});
