/** The way of the money. */
import type { Guide } from "./guide.ts";

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
            "The receipt has tokens, prices, cost, time and attempts; `/v1/receipts` and the export under [Usage](/usage) have all of them. Errors are free.",
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
      lead: "Một ví trả trước bằng đồng, giá cho từng mô hình, biên nhận cho từng lượt gọi.",
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
            "Biên nhận ghi token, đơn giá, chi phí, thời gian và các lần thử; `/v1/receipts` và bản xuất trong [Mức sử dụng](/usage) có đủ. Lỗi không mất tiền.",
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
