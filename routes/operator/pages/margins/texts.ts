/** Texts of the pages about costs and margins. */
import { englishCount } from "../../../dashboard/text/format.ts";
import { defineTexts } from "../../../dashboard/text/i18n.ts";

export const marginsLabel = { en: "Margins", vi: "Biên lợi nhuận" };

export const marginTexts = defineTexts({
  both: {
    sheet: ["Provider sheet", "Bảng đối chiếu nhà cung cấp"],
    period: ["Period", "Khoảng thời gian"],
    presets: {
      today: ["Today", "Hôm nay"],
      "7d": ["7 days", "7 ngày"],
      "30d": ["30 days", "30 ngày"],
      month: ["This month", "Tháng này"],
      "last-month": ["Last month", "Tháng trước"],
    },
    from: ["From", "Từ ngày"],
    to: ["To", "Đến ngày"],
    by: ["Group by", "Nhóm theo"],
    groups: {
      model: ["Model", "Mô hình"],
      route: ["Route", "Tuyến"],
      account: ["Customer", "Khách hàng"],
      key: ["Key", "Khoá API"],
      day: ["Day", "Ngày"],
    },
    revenue: ["Revenue", "Doanh thu"],
    refunded: ["Refunded", "Đã hoàn"],
    cost: ["Cost", "Chi phí"],
    margin: ["Margin", "Lợi nhuận"],
    share: ["Margin %", "Biên %"],
    calls: ["Calls", "Lượt gọi"],
    tokens: ["Tokens", "Token"],
    unknown: ["Cost unknown", "Chưa rõ chi phí"],
    beforeHead: ["Before", "Kỳ trước"],
    unknownHead: ["Unknown", "Chưa rõ"],
    noCosts: ["No costs are configured", "Chưa cấu hình chi phí"],
    none: ["No calls in this period", "Không có lượt gọi trong khoảng này"],
    export: ["CSV", "CSV"],
    allRoutes: ["Before costs were set", "Trước khi khai báo chi phí"],
    credits: ["Credits given without a payment", "Tiền tặng không kèm thanh toán"],
    claims: ["Claims on providers", "Khiếu nại nhà cung cấp"],
    claimsNote: ["at your prices", "theo giá bán"],
    warnings: ["Prices to look at", "Giá cần xem lại"],
    openCatalogue: ["Open the catalogue", "Mở danh mục"],
    changePrice: ["Change the price", "Đổi giá"],
    seeRoutes: ["See its routes", "Xem các tuyến"],
    provider: ["Provider", "Nhà cung cấp"],
    all: ["All", "Tất cả"],
    day: ["Day (UTC)", "Ngày (UTC)"],
    month: ["Month", "Tháng"],
    model: ["Model", "Mô hình"],
    bucket: ["Bucket", "Loại"],
    units: ["Units", "Số lượng"],
    rate: ["Rate", "Đơn giá"],
    sum: ["Sum", "Thành tiền"],
    inVnd: ["In VND", "Quy ra VND"],
    total: ["Total", "Tổng"],
    invoice: ["Sum of the invoice", "Số tiền trên hoá đơn"],
    invoiceWrong: ["Enter an amount such as 1234.56.", "Nhập số tiền như 1234.56."],
    difference: ["Invoice less sheet", "Hoá đơn trừ bảng"],
    compare: ["Compare", "So sánh"],
    noSheet: ["Nothing was used", "Không có sử dụng"],
    callCost: ["Cost and margin", "Chi phí và lợi nhuận"],
    callUnknown: ["The rates of this route are not known.", "Chưa biết đơn giá của tuyến này."],
    rateCard: ["Rate card", "Bảng đơn giá"],
  },
  en: {
    lead:
      "What customers paid, less refunds and what providers charge. Only calls whose cost is known have a margin. Days are Vietnamese.",
    unknownNote: (revenue: string) => `${revenue} of revenue without a margin`,
    before: (value: string) => `before: ${value}`,
    noCostsText:
      "Set what providers charge on the routes of each model: then calls keep what they cost, and this page shows margins.",
    noneText: "Calls count from the moment at which a route has a cost.",
    partial: "There are more rows than this page reads: the sums are too low.",
    sortBy: (name: string) => `Sort by ${name}`,
    underpricedLine: (model: string, route: string, rate: string, price: string, cost: string) =>
      `${model} by ${route}: ${rate} sold for ${price}, bought for ${cost}`,
    more: (count: string) => `${count} more`,
    losingLine: (model: string, margin: string) => `${model} made a loss in 7 days: ${margin}`,
    sheetLead:
      "Units and sums by provider, model and rate, to hold against an invoice. Days are UTC, as providers count them. Sums are exact in the provider's currency.",
    per: { mtok: "1M tokens", minute: "minute", piece: "piece" },
    sheetCalls: (count: string) => englishCount(count, "call", "calls"),
    sheetUnknown: (count: string) =>
      `${englishCount(count, "call", "calls")} by routes without rates are not in the sums.`,
    sheetJoined: (count: string) =>
      `${
        englishCount(count, "call", "calls")
      } have a cost but no buckets: their day sum had too many parts.`,
    invoiceHint: "The figure of the provider, to see the difference. It is not stored.",
    noSheetText: "No provider with rates was used in these days.",
  },
  vi: {
    lead:
      "Số khách hàng đã trả, trừ hoàn tiền và chi phí nhà cung cấp. Chỉ lượt gọi đã biết chi phí mới có biên lợi nhuận. Ngày theo giờ Việt Nam.",
    unknownNote: (revenue) => `${revenue} doanh thu không tính biên`,
    before: (value) => `kỳ trước: ${value}`,
    noCostsText:
      "Ghi chi phí của nhà cung cấp vào các tuyến của từng mô hình: khi đó mỗi lượt gọi lưu chi phí, và trang này hiển thị biên lợi nhuận.",
    noneText: "Lượt gọi được tính từ khi có tuyến khai báo chi phí.",
    partial: "Có nhiều dòng hơn trang này đọc được: các tổng bị thiếu.",
    sortBy: (name) => `Sắp xếp theo ${name}`,
    underpricedLine: (model, route, rate, price, cost) =>
      `${model} qua ${route}: ${rate} bán ${price}, giá vốn ${cost}`,
    more: (count) => `${count} mục khác`,
    losingLine: (model, margin) => `${model} lỗ trong 7 ngày: ${margin}`,
    sheetLead:
      "Số đơn vị và tổng theo nhà cung cấp, mô hình và đơn giá, để đối chiếu hoá đơn. Ngày theo UTC như nhà cung cấp tính. Tổng chính xác theo tiền tệ của nhà cung cấp.",
    per: { mtok: "1 triệu token", minute: "phút", piece: "đơn vị" },
    sheetCalls: (count) => `${count} lượt gọi`,
    sheetUnknown: (count) => `${count} lượt gọi qua tuyến chưa có đơn giá không nằm trong tổng.`,
    sheetJoined: (count) =>
      `${count} lượt gọi có chi phí nhưng không chia loại: tổng ngày có quá nhiều phần.`,
    invoiceHint: "Số của nhà cung cấp, để xem chênh lệch. Không được lưu.",
    noSheetText: "Không có nhà cung cấp nào có đơn giá được dùng trong các ngày này.",
  },
});
