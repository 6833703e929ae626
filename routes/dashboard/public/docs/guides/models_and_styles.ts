/** Models and the styles that they answer, and what becomes of fields that they cannot carry. */
import { requestHeaders } from "../../../../http/own_headers.ts";
import type { Guide } from "./guide.ts";

// Streams: how they begin, stay alive and end.

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

export const modelsAndStyles: Guide = {
  slug: "models-and-styles",
  texts: ({ baseUrl, model }) => {
    const code = [{
      name: "curl",
      code: [
        `curl ${baseUrl}/v1/messages \\`,
        '  -H "x-api-key: YOUR_KEY" \\',
        '  -H "content-type: application/json" \\',
        `  -H "${requestHeaders.strict}: true" \\`,
        `  -d '{"model": "${model}", "max_tokens": 1024,`,
        '       "messages": [{"role": "user", "content": "Hello!"}]}\'',
      ].join("\n"),
    }];
    return {
      en: {
        title: "Models and styles",
        lead: "Any chat model answers in any of the four chat styles.",
        sections: [
          {
            title: "Styles",
            text: ["Use the style of your SDK. The model may be of any vendor."],
            table: [
              ["Style", "Path", "Base address"],
              ["Messages", "`/v1/messages`", `\`${baseUrl}\``],
              ["Chat Completions", "`/v1/chat/completions`", `\`${baseUrl}/v1\``],
              ["Responses", "`/v1/responses`", `\`${baseUrl}/v1\``],
              ["Gemini", "`/v1beta/models/{model}:generateContent`", `\`${baseUrl}\``],
            ],
          },
          {
            title: "Names",
            text: [
              "[Models and prices](/models) lists every id and alias. A chat model name that is neither is served by the default model, and `x-gateway-model-mapped-from` has the name that you sent.",
            ],
          },
          {
            title: "Fields that a model cannot carry",
            text: [
              "They are named in `x-gateway-conversion`, never dropped in silence. With `x-gateway-strict: true` such a request is a 400 that names them.",
            ],
            code,
          },
          {
            title: "What costs extra at a provider",
            text: [
              "Web search, code execution and other tools that the provider runs are refused at no cost, unless they are offered for the model. Tools that you run yourself always work.",
            ],
          },
        ],
      },
      vi: {
        title: "Mô hình và kiểu API",
        lead: "Mô hình hội thoại nào cũng trả lời được theo cả bốn kiểu.",
        sections: [
          {
            title: "Kiểu",
            text: ["Dùng kiểu của SDK bạn có. Mô hình có thể của bất kỳ hãng nào."],
            table: [
              ["Kiểu", "Đường dẫn", "Địa chỉ gốc"],
              ["Messages", "`/v1/messages`", `\`${baseUrl}\``],
              ["Chat Completions", "`/v1/chat/completions`", `\`${baseUrl}/v1\``],
              ["Responses", "`/v1/responses`", `\`${baseUrl}/v1\``],
              ["Gemini", "`/v1beta/models/{model}:generateContent`", `\`${baseUrl}\``],
            ],
          },
          {
            title: "Tên",
            text: [
              "[Mô hình và giá](/models) liệt kê mọi tên và tên gọi khác. Tên mô hình hội thoại không có trong danh sách sẽ do mô hình mặc định trả lời, và `x-gateway-model-mapped-from` ghi tên bạn đã gửi.",
            ],
          },
          {
            title: "Trường mà mô hình không nhận",
            text: [
              "Chúng được nêu trong `x-gateway-conversion`, không bao giờ bị bỏ âm thầm. Với `x-gateway-strict: true`, yêu cầu như vậy nhận 400 có nêu tên trường.",
            ],
            code,
          },
          {
            title: "Thứ nhà cung cấp tính thêm tiền",
            text: [
              "Tìm web, chạy mã và các công cụ khác do nhà cung cấp chạy bị từ chối, không mất tiền, trừ khi mô hình có bán kèm. Công cụ bạn tự chạy luôn dùng được.",
            ],
          },
        ],
      },
    };
  },
};
