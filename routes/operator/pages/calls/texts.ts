/** Texts of the operator's pages of calls. */
import { defineTexts } from "../../../dashboard/text/i18n.ts";

export const callsLabel = { en: "Calls", vi: "Lượt gọi" };

export const errorsLabel = { en: "Errors", vi: "Lỗi" };

export const callTexts = defineTexts({
  both: {
    account: ["Customer (id or email)", "Khách hàng (mã hoặc email)"],
    route: ["Answered by", "Trả lời bởi"],
    notFound: ["There is no such customer.", "Không có khách hàng này."],
    none: ["No calls", "Không có lượt gọi"],
    noneText: ["No call fits the filter.", "Không có lượt gọi nào khớp bộ lọc."],
    call: ["Call", "Lượt gọi"],
    noCall: ["There is no call with this id", "Không có lượt gọi với mã này"],
  },
  en: {
    lead: "Answered and refused calls of all customers, the latest first. Metadata only.",
    noCallText:
      "It has no receipt, and no row of a refusal: those expire, and of a flood only some are kept. A call with an unknown key is in the log only.",
  },
  vi: {
    lead:
      "Các lượt gọi đã trả lời và bị từ chối của mọi khách hàng, mới nhất trước. Chỉ có siêu dữ liệu.",
    noCallText:
      "Lượt gọi không có biên nhận, cũng không có dòng từ chối: các dòng đó hết hạn, và khi có quá nhiều thì chỉ một phần được lưu. Lượt gọi với khoá API lạ chỉ có trong nhật ký.",
  },
});
