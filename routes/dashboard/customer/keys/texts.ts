/** Texts of the pages about API keys. */
import { defineTexts } from "../../text/i18n.ts";

export const keyTexts = defineTexts({
  both: {
    title: ["API keys", "Khoá API"],
    create: ["New key", "Khoá API mới"],
    none: ["No key yet", "Chưa có khoá API nào"],
    noneHint: ["Create one to call any model.", "Hãy tạo một khoá API và gọi bất kỳ mô hình nào."],
    revokedKeys: ["Revoked and expired keys", "Khoá API đã thu hồi và hết hạn"],
    ownMachine: ["own computer", "máy của bạn"],
    name: ["Name", "Tên"],
    key: ["Key", "Khoá API"],
    state: ["State", "Trạng thái"],
    lastUsed: ["Last used", "Dùng gần nhất"],
    never: ["not in 90 days", "không dùng trong 90 ngày"],
    spendToday: ["Spend today", "Chi hôm nay"],
    spendThisMonth: ["Spend this month", "Chi tháng này"],
    active: ["Active", "Hoạt động"],
    revoked: ["Revoked", "Đã thu hồi"],
    expired: ["Expired", "Hết hạn"],
    lastError: ["Last error", "Lỗi gần nhất"],
    acts: ["Actions", "Thao tác"],
    requests: ["Requests", "Lượt gọi"],
    newTitle: ["New API key", "Khoá API mới"],
    team: ["Team", "Nhóm"],
    noTeam: ["No team", "Không thuộc nhóm nào"],
    limits: ["Limits", "Giới hạn"],
    limitsHint: ["All optional. You can change them later.", "Không bắt buộc. Bạn có thể đổi sau."],
    expiry: ["Valid until", "Hiệu lực đến"],
    expiryHint: ["The end of that day, Vietnam time.", "Hết ngày đó, giờ Việt Nam."],
    ips: ["Allowed IP addresses", "Địa chỉ IP được phép"],
    models: ["Allowed models", "Mô hình được phép"],
    modelsHint: ["None selected: every model.", "Không chọn: mọi mô hình."],
    reading: ["Read access by API", "Quyền đọc qua API"],
    modelGone: ["no longer offered", "không còn cung cấp"],
    saved: ["Saved.", "Đã lưu."],
    createButton: ["Create the key", "Tạo khoá API"],
    cancel: ["Cancel", "Huỷ"],
    nameMissing: ["Give the key a name.", "Hãy đặt tên cho khoá API."],
    expiryWrong: ["Choose a day from today on.", "Hãy chọn một ngày từ hôm nay trở đi."],
    createdTitle: ["Your new key", "Khoá API mới của bạn"],
    backToKeys: ["Back to the keys", "Về danh sách khoá API"],
    filledIn: ["Ready to run: the key is filled in", "Chạy được ngay: khoá API đã điền sẵn"],
    howToUse: ["How to use it", "Cách dùng"],
    show: ["Show the key", "Xem khoá API"],
    password: ["Your password", "Mật khẩu của bạn"],
    showButton: ["Show", "Xem"],
    shown: ["The key", "Khoá API"],
    wrongPassword: ["That is not your password.", "Đây không phải mật khẩu của bạn."],
    setPassword: ["Set a password", "Đặt mật khẩu"],
    usage: ["Usage in the last 30 days", "Mức sử dụng 30 ngày qua"],
    calls: ["Calls", "Lượt gọi"],
    cost: ["Cost", "Chi phí"],
    settings: ["Settings", "Cài đặt"],
    rotate: ["Rotate", "Cấp lại khoá"],
    grace: ["The old key works for", "Khoá cũ còn dùng được"],
    rotateButton: ["Rotate the key", "Cấp lại khoá"],
    rotateConfirm: ["Issue a new key in place of this one?", "Cấp khoá mới thay cho khoá này?"],
    rotatedTitle: ["Your new key", "Khoá mới của bạn"],
    graceLeft: ["The old key works until", "Khoá cũ còn dùng được đến"],
    revoke: ["Revoke", "Thu hồi"],
    revokeButton: ["Revoke the key", "Thu hồi khoá API"],
  },
  en: {
    lead: "One key per machine or application. If one leaks, revoke it alone.",
    count: (used: number, most: number) => `${used} of ${most} active keys`,
    full: (most: number) =>
      `An account can have ${most} active keys. Revoke one that you no longer need, then make a new one.`,
    busy: "Your keys were just being changed elsewhere. Please try again.",

    madeForApp: (app: string, place: string) => `for the app “${app}” (${place})`,
    details: (name: string) => `Details of ${name}`,
    actsOf: (name: string) => `Actions for ${name}`,
    limitsNow:
      "Amounts of a day and a month are in Vietnam time; rates are of the last minute or hour, over all servers.",

    nameHint: "Where it is used: “laptop”, “production server”.",
    ipsHint: "One address or range per line, such as 203.0.113.7 or 10.0.0.0/8. Empty: everywhere.",
    readingHint: "Balance, usage and receipts: a key that others use need not show them.",
    readings: {
      byLimits: "Automatic (a key with limits reads only its own calls)",
      account: "The whole account",
      own: "Only its own calls, and no balance",
    },
    modelsGone: "A model that you selected is no longer offered. Choose again.",
    sentBefore: "This form has made another key before. Send it again to make one more.",
    formStale: "The page was too old to be sent. Please send it again.",

    nameWrong: (most: number) => `Use at most ${most} characters, all of them visible.`,
    teamWrong: "You cannot move the key to this team, or it is gone.",
    teamByAdmins: "Owners and admins move keys between teams.",
    amountWrong: "Write a whole number of đồng above 0, for example 100000.",
    rateWrong: "Write a whole number above 0, for example 600.",
    ipWrong: (text: string) => `“${text}” is no IP address and no range.`,
    ipMany: (most: number) => `At most ${most} addresses.`,

    createdText:
      "Copy it now. It is stored encrypted, and you can show it again later with your password. Treat it like a password: never put it into code that others can read.",

    showText: "Enter your password to see the whole key again.",
    notShowable:
      "This key was created before keys were stored encrypted. It works, but it cannot be shown again. Rotate it to get one that can.",
    unreadable:
      "The key works, but the service cannot decrypt it at the moment, so it cannot be shown. Rotate the key to get one that can be shown.",
    noPassword:
      "Your account has no password yet, because you sign in with another service. Set one first; then you can show keys.",
    tooMany: (seconds: number) => `Too many tries. Wait ${Math.ceil(seconds / 60)} minutes.`,

    rotateText:
      "Issues a new key in place of this one. Name, limits and usage stay. The old key works on for a while, so that you can change it in your programs without a gap.",
    graces: { "0": "not at all", "1": "1 hour", "24": "24 hours", "168": "7 days" },

    revokeText:
      "Calls with this key are refused at once, for good. Its usage stays in your records.",
    revokeConfirm: (name: string) =>
      `Revoke “${name}” for good? Programs that use it stop working.`,
  },
  vi: {
    lead: "Mỗi máy hay ứng dụng một khoá API. Nếu lộ, chỉ thu hồi đúng khoá API đó.",
    count: (used, most) => `${used} trên ${most} khoá API đang hoạt động`,
    full: (most) =>
      `Một tài khoản có tối đa ${most} khoá API hoạt động. Hãy thu hồi khoá không còn cần, rồi tạo khoá mới.`,
    busy: "Các khoá API của bạn vừa được đổi ở nơi khác. Vui lòng thử lại.",

    madeForApp: (app, place) => `cho ứng dụng “${app}” (${place})`,
    details: (name) => `Chi tiết của ${name}`,
    actsOf: (name) => `Thao tác với ${name}`,
    limitsNow:
      "Mức theo ngày và tháng tính theo giờ Việt Nam; tốc độ tính trong phút hoặc giờ qua, trên mọi máy chủ.",

    nameHint: "Nơi dùng khoá API: “máy tính xách tay”, “máy chủ chính”.",
    ipsHint: "Mỗi dòng một địa chỉ hoặc dải, như 203.0.113.7 hoặc 10.0.0.0/8. Để trống: mọi nơi.",
    readingHint:
      "Số dư, mức sử dụng và biên nhận: khoá API giao cho người khác không cần thấy chúng.",
    readings: {
      byLimits: "Tự động (khoá có giới hạn chỉ xem lượt gọi của nó)",
      account: "Cả tài khoản",
      own: "Chỉ các lượt gọi của chính nó, không có số dư",
    },
    modelsGone: "Có mô hình bạn chọn không còn được cung cấp. Hãy chọn lại.",
    sentBefore: "Biểu mẫu này đã tạo một khoá API khác. Hãy gửi lại để tạo thêm một khoá.",
    formStale: "Trang này đã cũ nên chưa gửi được. Vui lòng gửi lại.",

    nameWrong: (most) => `Tối đa ${most} ký tự, không dùng ký tự ẩn.`,
    teamWrong: "Không chuyển được khoá API: bạn không có quyền, hoặc nhóm không còn nữa.",
    teamByAdmins: "Chủ sở hữu và quản trị viên chuyển khoá API giữa các nhóm.",
    amountWrong: "Hãy ghi số đồng nguyên lớn hơn 0, ví dụ 100000.",
    rateWrong: "Hãy ghi số nguyên lớn hơn 0, ví dụ 600.",
    ipWrong: (text) => `“${text}” không phải địa chỉ IP hay dải địa chỉ.`,
    ipMany: (most) => `Nhiều nhất ${most} địa chỉ.`,

    createdText:
      "Hãy sao chép ngay. Khoá API được lưu mã hoá, và bạn có thể xem lại sau bằng mật khẩu. Hãy giữ như mật khẩu: đừng để trong mã nguồn mà người khác đọc được.",

    showText: "Nhập mật khẩu để xem lại toàn bộ khoá API.",
    notShowable:
      "Khoá API này được tạo trước khi khoá API được lưu mã hoá. Nó vẫn dùng được nhưng không thể xem lại. Hãy cấp lại khoá để xem lại được.",
    unreadable:
      "Khoá API vẫn dùng được, nhưng lúc này hệ thống không giải mã được nên không thể xem lại. Hãy cấp lại khoá để xem lại được.",
    noPassword:
      "Tài khoản của bạn chưa có mật khẩu, vì bạn đăng nhập qua nơi khác. Hãy đặt mật khẩu trước, rồi bạn xem được khoá API.",
    tooMany: (seconds) => `Quá nhiều lần thử. Hãy đợi ${Math.ceil(seconds / 60)} phút.`,

    rotateText:
      "Cấp khoá mới thay cho khoá này. Tên, giới hạn và mức sử dụng giữ nguyên. Khoá cũ còn dùng được một thời gian, để bạn kịp đổi trong chương trình.",
    graces: { "0": "không còn", "1": "1 giờ", "24": "24 giờ", "168": "7 ngày" },

    revokeText:
      "Lượt gọi bằng khoá API này bị từ chối ngay, vĩnh viễn. Mức sử dụng vẫn còn trong sổ.",
    revokeConfirm: (name) =>
      `Thu hồi “${name}” vĩnh viễn? Chương trình dùng khoá API này sẽ ngừng chạy.`,
  },
});

export type KeyTexts = typeof keyTexts.en;
