/** Texts of the catalogue's pages. */
import { defineTexts } from "../../../dashboard/text/i18n.ts";

/** The addresses of the catalogue's pages. */
export const cataloguePath = "/operator/catalogue";
export const previewPath = `${cataloguePath}/preview`;
export const applyPath = `${cataloguePath}/apply`;
export const historyPath = `${cataloguePath}/versions`;
export const rollbackPath = `${cataloguePath}/rollback`;
export const withdrawPath = `${cataloguePath}/withdraw`;
export const marginsPath = `${cataloguePath}/margins`;
export const testPath = `${cataloguePath}/test`;
export const declinePath = `${cataloguePath}/decline`;

export function modelPath(id: string): string {
  return `${cataloguePath}/model?id=${encodeURIComponent(id)}`;
}

export function providerPath(name: string): string {
  return `${cataloguePath}/provider?name=${encodeURIComponent(name)}`;
}

export function versionPath(version: number): string {
  return `${historyPath}/${version}`;
}

export const catalogueTexts = defineTexts({
  both: {
    inForce: ["In force", "Đang áp dụng"],
    history: ["History", "Lịch sử"],
    add: ["Add model", "Thêm mô hình"],
    publicPage: ["Page for customers", "Trang cho khách hàng"],
    addProvider: ["Add provider", "Thêm nhà cung cấp"],
    settings: ["Settings", "Cài đặt"],
    whole: ["Whole catalogue as JSON", "Toàn bộ danh mục dạng JSON"],
    models: ["Models", "Mô hình"],
    providers: ["Providers", "Nhà cung cấp"],
    search: ["Search", "Tìm"],
    searchHint: ["name, family or provider", "tên, dòng hoặc nhà cung cấp"],
    show: ["Show", "Hiện"],
    model: ["Model", "Mô hình"],
    kind: ["Kind", "Loại"],
    price: ["Price", "Giá"],
    routes: ["Routes", "Tuyến"],
    provider: ["Provider", "Nhà cung cấp"],
    address: ["Address", "Địa chỉ"],
    secret: ["Secret from", "Khoá lấy từ"],
    none: ["No model matches", "Không có mô hình nào khớp"],
    noneHint: ["Try another word.", "Hãy thử từ khác."],
    edit: ["Edit", "Sửa"],
    withdraw: ["Withdraw", "Huỷ hẹn"],
    fileShow: ["Show what would change", "Xem thay đổi"],
    fileKeep: ["Keep the store's", "Giữ bản trong kho"],
    fileKeepReason: ["gateway.json declined", "từ chối gateway.json"],
    id: ["Name (id)", "Tên (id)"],
    routeProvider: ["Provider", "Nhà cung cấp"],
    noProvider: ["none", "không"],
    addRoute: ["Add a route", "Thêm tuyến"],
    aboutModel: ["Name, kind, context and limits", "Tên, loại, ngữ cảnh và giới hạn"],
    moreOfRoute: ["Region, capabilities and more", "Vùng, khả năng và phần khác"],
    currency: ["Currency of its invoices", "Tiền tệ trên hoá đơn"],
    removeRoute: ["Remove this route", "Bỏ tuyến này"],
    preset: ["Preset", "Mẫu có sẵn"],
    noPreset: ["none", "không"],
    baseUrl: ["Base address", "Địa chỉ gốc"],
    keys: ["Variables with keys, separated by commas", "Biến chứa khoá, cách nhau bằng dấu phẩy"],
    region: ["Region", "Vùng"],
    listRate: ["VND per USD of the list price", "VND mỗi USD của giá niêm yết"],
    defaultModel: ["Default model when no name matches", "Mô hình mặc định khi tên không khớp"],
    noWebSearchModel: ["none", "không có"],
    asJson: ["As JSON", "Dạng JSON"],
    json: ["Entry", "Nội dung"],
    preview: ["Preview", "Xem trước"],
    remove: ["Remove", "Xoá"],
    removeModel: ["Remove model", "Xoá mô hình"],
    removeProvider: ["Remove provider", "Xoá nhà cung cấp"],
    previewTitle: ["Preview", "Xem trước"],
    nothing: ["Nothing would change", "Không có gì thay đổi"],
    problems: ["It cannot be applied", "Không thể áp dụng"],
    priceMissing: ["Write a price.", "Hãy ghi giá."],
    costMissing: ["Write what the provider charges.", "Hãy ghi số tiền nhà cung cấp tính."],
    wholeWrong: ["Write a whole number, such as 200000.", "Hãy ghi số nguyên, ví dụ 200000."],
    stopTitle: ["Check this before you apply", "Kiểm tra trước khi áp dụng"],
    sure: ["These prices are meant so", "Các giá này đúng như ý muốn"],
    notJson: ["This is not JSON with an object in it.", "Đây không phải JSON chứa một đối tượng."],
    noName: ["Give it a name.", "Hãy đặt tên."],
    back: ["Back", "Quay lại"],
    change: ["Change", "Thay đổi"],
    before: ["Before", "Trước"],
    after: ["After", "Sau"],
    added: ["added", "thêm"],
    removed: ["removed", "bỏ"],
    changed: ["changed", "đổi"],
    reason: ["Reason", "Lý do"],
    reasonHint: ["Kept in the history and in the audit log.", "Được giữ trong lịch sử và nhật ký."],
    apply: ["Apply", "Áp dụng"],
    author: ["Author", "Người sửa"],
    when: ["Made", "Tạo lúc"],
    effective: ["In force from", "Hiệu lực từ"],
    state: ["State", "Trạng thái"],
    rollBack: ["Roll back", "Khôi phục"],
    changes: ["What it changed", "Nội dung thay đổi"],
    notKept: ["What it changed is no longer kept.", "Nội dung thay đổi không còn được giữ."],
    older: ["Older", "Cũ hơn"],
  },
  en: {
    lead:
      "Models, prices, routes and providers. A change is shown before it is applied, and reaches every instance within two seconds.",
    version: (version: number) => `Version ${version}`,
    by: (author: string, when: string) => `by ${author}, ${when}`,
    more: (count: number) => `${count} more: search for them.`,
    waiting: (version: number, when: string) => `Version ${version} comes into force ${when}`,
    withdrawConfirm: "The waiting version will not come into force. Withdraw it?",
    withdrawReason: (version: number) => `Version ${version} withdrawn`,
    refused: (version: number) => `This instance cannot serve version ${version}`,
    refusedText: "It goes on with the version before. Mend the cause, then apply a version again.",
    fileDiffers: "gateway.json has changed, but is not in force",
    fileText:
      "The catalogue was edited since the file was taken over, so the store's counts. You can apply the file, or keep the store's.",
    route: (number: number) => `Route ${number}`,
    costIn: (currency: string) => `Cost in ${currency}, per`,
    keysHint: "Names of environment variables, never the keys themselves.",
    webSearchModel: "Model that searches the web for others",
    asJsonText: "For experts: the whole entry, also what has no field.",
    nothingText: "The catalogue in force says the same already.",
    seeFields: "What is wrong stands beside its field. Nothing you typed is lost.",
    costWrong: "Write an amount such as 2.5 or 0.075, with at most 6 decimals.",
    priceWrong: "Write a price in VND, such as 40000 or 40.5.",
    priceAmbiguous: (one: string, other: string) =>
      `Write ${one} or ${other}: this could be either.`,
    greatChange: (model: string, price: string) =>
      `${model}: ${price} changes by more than 50\u00a0%`,
    notSure: "Confirm the prices first: tick the box under them.",
    withdraws: (version: number) => `Version ${version}, which waits, will be withdrawn.`,
    from: "In force from (Vietnam time; empty: at once)",
    applyConfirm: "The change reaches all customers. Apply it?",
    badMoment: "The moment must be a date with hours and minutes, within a year.",
    noReason: "Give a reason: it is kept in the history.",
    conflict: (author: string, version: number) =>
      `${author} has made version ${version} meanwhile. Look at the difference again, then apply.`,
    conflictPlain: "The catalogue has changed meanwhile. Look again.",
    missing: "The contents of this version are no longer kept.",
    states: { current: "in force", waiting: "waits", past: "past", withdrawn: "withdrawn" },
    restore: (version: number) => `Restore version ${version}`,
    rollBackReason: (version: number) => `Rollback to version ${version}`,
    rolledBackTo: (version: number) => `as version ${version}`,
    firstVersion: "The first version: there is nothing to compare it with.",
  },
  vi: {
    lead:
      "Mô hình, giá, tuyến và nhà cung cấp. Thay đổi được xem trước khi áp dụng, và có hiệu lực ở mọi máy trong hai giây.",
    version: (version) => `Phiên bản ${version}`,
    by: (author, when) => `của ${author}, ${when}`,
    more: (count) => `Còn ${count} mô hình: hãy tìm.`,
    waiting: (version, when) => `Phiên bản ${version} có hiệu lực ${when}`,
    withdrawConfirm: "Phiên bản đang chờ sẽ không có hiệu lực. Huỷ chứ?",
    withdrawReason: (version) => `Huỷ phiên bản ${version}`,
    refused: (version) => `Máy này không thể phục vụ phiên bản ${version}`,
    refusedText: "Máy tiếp tục với phiên bản trước. Hãy sửa nguyên nhân rồi áp dụng lại.",
    fileDiffers: "gateway.json đã thay đổi nhưng chưa được áp dụng",
    fileText:
      "Danh mục đã được sửa sau khi lấy từ tệp, nên bản trong kho được dùng. Bạn có thể áp dụng tệp, hoặc giữ bản trong kho.",
    route: (number) => `Tuyến ${number}`,
    costIn: (currency) => `Phí ${currency}, theo`,
    keysHint: "Tên biến môi trường, không phải bản thân khoá.",
    webSearchModel: "Mô hình tìm kiếm web cho các mô hình khác",
    asJsonText: "Cho người rành: toàn bộ nội dung, kể cả phần không có ô.",
    nothingText: "Danh mục đang áp dụng đã như vậy.",
    seeFields: "Lỗi được ghi bên cạnh ô bị sai. Những gì bạn đã nhập vẫn còn.",
    costWrong: "Hãy ghi số tiền như 2,5 hoặc 0,075, tối đa 6 chữ số thập phân.",
    priceWrong: "Hãy ghi giá bằng VND, ví dụ 40000 hoặc 40,5.",
    priceAmbiguous: (one, other) => `Hãy ghi ${one} hoặc ${other}: số này có thể là cả hai.`,
    greatChange: (model, price) => `${model}: ${price} thay đổi hơn 50\u00a0%`,
    notSure: "Hãy xác nhận giá trước: đánh dấu ô bên dưới.",
    withdraws: (version) => `Phiên bản ${version} đang chờ sẽ bị huỷ.`,
    from: "Có hiệu lực từ (giờ Việt Nam; để trống: ngay)",
    applyConfirm: "Thay đổi có hiệu lực với mọi khách hàng. Áp dụng chứ?",
    badMoment: "Thời điểm phải là ngày kèm giờ và phút, trong vòng một năm.",
    noReason: "Hãy ghi lý do: nó được giữ trong lịch sử.",
    conflict: (author, version) =>
      `${author} vừa tạo phiên bản ${version}. Hãy xem lại khác biệt rồi áp dụng.`,
    conflictPlain: "Danh mục vừa thay đổi. Hãy xem lại.",
    missing: "Nội dung của phiên bản này không còn được giữ.",
    states: { current: "đang áp dụng", waiting: "đang chờ", past: "đã qua", withdrawn: "đã huỷ" },
    restore: (version) => `Khôi phục phiên bản ${version}`,
    rollBackReason: (version) => `Khôi phục phiên bản ${version}`,
    rolledBackTo: (version) => `như phiên bản ${version}`,
    firstVersion: "Phiên bản đầu tiên: không có gì để so sánh.",
  },
});

export type CatalogueTexts = typeof catalogueTexts["en"];
