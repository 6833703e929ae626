/** Texts of the operator's pages of calls. */
import { defineTexts } from "../../../dashboard/text/i18n.ts";

export const callsLabel = { en: "Calls", vi: "Lượt gọi" };

export const errorsLabel = { en: "Errors", vi: "Lỗi" };

export const callTexts = defineTexts({
  en: {
    lead: "Answered and refused calls of all customers, the latest first. Metadata only.",
    account: "Customer (id or email)",
    route: "Answered by",
    notFound: "There is no such customer.",
    none: "No calls",
    noneText: "No call fits the filter.",
    call: "Call",
    noCall: "There is no call with this id",
    noCallText:
      "It has no receipt, and no row of a refusal: those expire, and of a flood only some are kept. A call with an unknown key is in the log only.",
  },
  vi: {
    lead:
      "Các lượt gọi đã trả lời và bị từ chối của mọi khách hàng, mới nhất trước. Chỉ có siêu dữ liệu.",
    account: "Khách hàng (mã hoặc email)",
    route: "Trả lời bởi",
    notFound: "Không có khách hàng này.",
    none: "Không có lượt gọi",
    noneText: "Không có lượt gọi nào khớp bộ lọc.",
    call: "Lượt gọi",
    noCall: "Không có lượt gọi với mã này",
    noCallText:
      "Lượt gọi không có biên nhận, cũng không có dòng từ chối: các dòng đó hết hạn, và khi có quá nhiều thì chỉ một phần được lưu. Lượt gọi với khoá API lạ chỉ có trong nhật ký.",
  },
});
