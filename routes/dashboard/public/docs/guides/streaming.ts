/** Streams: how they begin, stay alive and end. */
import type { Guide } from "./guide.ts";

export const streaming: Guide = {
  slug: "streaming",
  texts: ({ baseUrl, model }) => {
    const code = [{
      name: "Python",
      code: `from openai import OpenAI

client = OpenAI(base_url="${baseUrl}/v1", api_key="YOUR_KEY")
stream = client.chat.completions.create(
    model="${model}",
    max_tokens=1024,
    messages=[{"role": "user", "content": "Tell me a story."}],
    stream=True,
)
for chunk in stream:
    if chunk.choices and chunk.choices[0].delta.content:
        print(chunk.choices[0].delta.content, end="")`,
    }];
    return {
      en: {
        title: "Streaming",
        lead: "Read the answer while the model writes it.",
        sections: [
          {
            title: "Begin",
            text: [
              "Send `stream: true`. Events pass as the provider sends them, or are converted one by one.",
            ],
            code,
          },
          {
            title: "Silence",
            text: [
              "While the model thinks, a `ping` event (Messages) or a comment line comes every 15 seconds, so that no proxy cuts the connection. A call takes 15 minutes at most.",
            ],
          },
          {
            title: "The end",
            text: [
              "A stream that breaks ends with an error event of your style, never with a regular end. You pay for what arrived. If you leave, the call ends and what was made is charged.",
            ],
          },
        ],
      },
      vi: {
        title: "Streaming",
        lead: "Đọc câu trả lời ngay khi mô hình đang viết.",
        sections: [
          {
            title: "Bắt đầu",
            text: [
              "Gửi `stream: true`. Sự kiện đi thẳng từ nhà cung cấp, hoặc được chuyển đổi từng cái một.",
            ],
            code,
          },
          {
            title: "Im lặng",
            text: [
              "Khi mô hình đang suy nghĩ, cứ 15 giây có một sự kiện `ping` (Messages) hoặc một dòng chú thích, để không proxy nào cắt kết nối. Một lượt gọi dài nhất 15 phút.",
            ],
          },
          {
            title: "Kết thúc",
            text: [
              "Luồng bị đứt kết thúc bằng sự kiện lỗi theo kiểu của bạn, không bao giờ giả vờ kết thúc bình thường. Bạn trả cho phần đã nhận. Nếu bạn ngắt, lượt gọi dừng và chỉ tính phần đã tạo.",
            ],
          },
        ],
      },
    };
  },
};
