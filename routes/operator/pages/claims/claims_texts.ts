/** Texts of the page about claims on providers. */
import { englishCount } from "../../../dashboard/text/format.ts";
import { defineTexts } from "../../../dashboard/text/i18n.ts";

export const claimsTexts = defineTexts({
  en: {
    lead:
      "What providers reported beyond what their customers paid: tokens that cannot have been sent, or output beyond what was asked for. At the prices of your customers.",
    from: "From",
    to: "To",
    total: "Claims in these days",
    calls: (count: string) => `in ${englishCount(count, "call", "calls")}`,
    byDay: "By day and route",
    day: "Day",
    provider: "Provider",
    route: "Route",
    callCount: "Calls",
    amount: "Claim",
    none: "No claims",
    noneText: "In these days all providers reported plausible usage.",
    partial: "There are more claims than this page reads: the earliest of these days are left out.",
    cut: "Only the last days of this range are shown.",
  },
  vi: {
    lead:
      "Phần nhà cung cấp báo cáo vượt quá số khách hàng đã trả: token không thể đã được gửi, hoặc đầu ra vượt quá mức yêu cầu. Tính theo giá bán cho khách hàng.",
    from: "Từ ngày",
    to: "Đến ngày",
    total: "Khoản đòi trong các ngày này",
    calls: (count) => `trong ${count} lượt gọi`,
    byDay: "Theo ngày và tuyến",
    day: "Ngày",
    provider: "Nhà cung cấp",
    route: "Tuyến",
    callCount: "Lượt gọi",
    amount: "Khoản đòi",
    none: "Không có khoản đòi nào",
    noneText: "Trong các ngày này mọi nhà cung cấp đều báo cáo hợp lý.",
    partial: "Có nhiều khoản đòi hơn trang này đọc được: các ngày đầu của khoảng bị bỏ qua.",
    cut: "Chỉ hiển thị những ngày cuối của khoảng này.",
  },
});
