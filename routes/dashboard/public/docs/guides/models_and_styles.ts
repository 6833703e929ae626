/** Which model answers which style, and what becomes of fields that it cannot carry. */
import { requestHeaders } from "../../../../http/own_headers.ts";
import type { Guide } from "./guide.ts";

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
