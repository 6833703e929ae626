/** Texts of the pages about API keys. */
import { defineTexts } from "../../text/i18n.ts";

export const keyTexts = defineTexts({
  en: {
    title: "API keys",
    lead: "One key per machine or application. If one leaks, revoke it alone.",
    create: "New key",
    none: "No key yet",
    noneHint: "Create one to call any model.",
    count: (used: number, most: number) => `${used} of ${most} active keys`,
    full: (most: number) =>
      `An account can have ${most} active keys. Revoke one that you no longer need, then make a new one.`,
    busy: "Your keys were just being changed elsewhere. Please try again.",
    revokedKeys: "Revoked and expired keys",

    name: "Name",
    key: "Key",
    state: "State",
    lastUsed: "Last used",
    never: "not in 90 days",
    spendToday: "Spend today",
    spendThisMonth: "Spend this month",
    active: "Active",
    revoked: "Revoked",
    expired: "Expired",
    details: (name: string) => `Details of ${name}`,
    lastError: "Last error",
    acts: "Actions",
    actsOf: (name: string) => `Actions for ${name}`,
    requests: "Requests",
    limitsNow:
      "Amounts of a day and a month are in Vietnam time; rates are of the last minute or hour, over all servers.",

    newTitle: "New API key",
    team: "Team",
    noTeam: "No team",
    nameHint: "Where it is used: “laptop”, “production server”.",
    limits: "Limits",
    limitsHint: "All optional. You can change them later.",
    expiry: "Valid until",
    expiryHint: "The end of that day, Vietnam time.",
    ips: "Allowed IP addresses",
    ipsHint: "One address or range per line, such as 203.0.113.7 or 10.0.0.0/8. Empty: everywhere.",
    models: "Allowed models",
    modelsHint: "None selected: every model.",
    reading: "Read access by API",
    readingHint: "Balance, usage and receipts: a key that others use need not show them.",
    readings: {
      byLimits: "Automatic (a key with limits reads only its own calls)",
      account: "The whole account",
      own: "Only its own calls, and no balance",
    },
    modelGone: "no longer offered",
    modelsGone: "A model that you selected is no longer offered. Choose again.",
    saved: "Saved.",
    createButton: "Create the key",
    sentBefore: "This form has made another key before. Send it again to make one more.",
    formStale: "The page was too old to be sent. Please send it again.",
    cancel: "Cancel",

    nameMissing: "Give the key a name.",
    nameWrong: (most: number) => `Use at most ${most} characters, all of them visible.`,
    teamWrong: "You cannot move the key to this team, or it is gone.",
    teamByAdmins: "Owners and admins move keys between teams.",
    expiryWrong: "Choose a day from today on.",
    amountWrong: "Write a whole number of đồng above 0, for example 100000.",
    rateWrong: "Write a whole number above 0, for example 600.",
    ipWrong: (text: string) => `“${text}” is no IP address and no range.`,
    ipMany: (most: number) => `At most ${most} addresses.`,

    createdTitle: "Your new key",
    createdText:
      "Copy it now. It is stored encrypted, and you can show it again later with your password. Treat it like a password: never put it into code that others can read.",
    backToKeys: "Back to the keys",
    filledIn: "Ready to run: the key is filled in",
    howToUse: "How to use it",

    show: "Show the key",
    showText: "Enter your password to see the whole key again.",
    password: "Your password",
    showButton: "Show",
    shown: "The key",
    notShowable:
      "This key was created before keys were stored encrypted. It works, but it cannot be shown again. Rotate it to get one that can.",
    unreadable:
      "The key works, but the service cannot decrypt it at the moment, so it cannot be shown. Rotate the key to get one that can be shown.",
    wrongPassword: "That is not your password.",
    noPassword:
      "Your account has no password yet, because you sign in with another service. Set one first; then you can show keys.",
    setPassword: "Set a password",
    tooMany: (seconds: number) => `Too many tries. Wait ${Math.ceil(seconds / 60)} minutes.`,

    usage: "Usage in the last 30 days",
    calls: "Calls",
    cost: "Cost",
    settings: "Settings",

    rotate: "Rotate",
    rotateText:
      "Issues a new key in place of this one. Name, limits and usage stay. The old key works on for a while, so that you can change it in your programs without a gap.",
    grace: "The old key works for",
    graces: { "0": "not at all", "1": "1 hour", "24": "24 hours", "168": "7 days" },
    rotateButton: "Rotate the key",
    rotateConfirm: "Issue a new key in place of this one?",
    rotatedTitle: "Your new key",
    graceLeft: "The old key works until",

    revoke: "Revoke",
    revokeText:
      "Calls with this key are refused at once, for good. Its usage stays in your records.",
    revokeButton: "Revoke the key",
    revokeConfirm: (name: string) =>
      `Revoke “${name}” for good? Programs that use it stop working.`,
  },
  vi: {
    title: "Khoá API",
    lead: "Mỗi máy hay ứng dụng một khoá API. Nếu lộ, chỉ thu hồi đúng khoá API đó.",
    create: "Khoá API mới",
    none: "Chưa có khoá API nào",
    noneHint: "Hãy tạo một khoá API và gọi bất kỳ mô hình nào.",
    count: (used, most) => `${used} trên ${most} khoá API đang hoạt động`,
    full: (most) =>
      `Một tài khoản có tối đa ${most} khoá API hoạt động. Hãy thu hồi khoá không còn cần, rồi tạo khoá mới.`,
    busy: "Các khoá API của bạn vừa được đổi ở nơi khác. Vui lòng thử lại.",
    revokedKeys: "Khoá API đã thu hồi và hết hạn",

    name: "Tên",
    key: "Khoá API",
    state: "Trạng thái",
    lastUsed: "Dùng gần nhất",
    never: "không dùng trong 90 ngày",
    spendToday: "Chi hôm nay",
    spendThisMonth: "Chi tháng này",
    active: "Hoạt động",
    revoked: "Đã thu hồi",
    expired: "Hết hạn",
    details: (name) => `Chi tiết của ${name}`,
    lastError: "Lỗi gần nhất",
    acts: "Thao tác",
    actsOf: (name) => `Thao tác với ${name}`,
    requests: "Lượt gọi",
    limitsNow:
      "Mức theo ngày và tháng tính theo giờ Việt Nam; tốc độ tính trong phút hoặc giờ qua, trên mọi máy chủ.",

    newTitle: "Khoá API mới",
    team: "Nhóm",
    noTeam: "Không thuộc nhóm nào",
    nameHint: "Nơi dùng khoá API: “máy tính xách tay”, “máy chủ chính”.",
    limits: "Giới hạn",
    limitsHint: "Không bắt buộc. Bạn có thể đổi sau.",
    expiry: "Hiệu lực đến",
    expiryHint: "Hết ngày đó, giờ Việt Nam.",
    ips: "Địa chỉ IP được phép",
    ipsHint: "Mỗi dòng một địa chỉ hoặc dải, như 203.0.113.7 hoặc 10.0.0.0/8. Để trống: mọi nơi.",
    models: "Mô hình được phép",
    modelsHint: "Không chọn: mọi mô hình.",
    reading: "Quyền đọc qua API",
    readingHint:
      "Số dư, mức sử dụng và biên nhận: khoá API giao cho người khác không cần thấy chúng.",
    readings: {
      byLimits: "Tự động (khoá có giới hạn chỉ xem lượt gọi của nó)",
      account: "Cả tài khoản",
      own: "Chỉ các lượt gọi của chính nó, không có số dư",
    },
    modelGone: "không còn cung cấp",
    modelsGone: "Có mô hình bạn chọn không còn được cung cấp. Hãy chọn lại.",
    saved: "Đã lưu.",
    createButton: "Tạo khoá API",
    sentBefore: "Biểu mẫu này đã tạo một khoá API khác. Hãy gửi lại để tạo thêm một khoá.",
    formStale: "Trang này đã cũ nên chưa gửi được. Vui lòng gửi lại.",
    cancel: "Huỷ",

    nameMissing: "Hãy đặt tên cho khoá API.",
    nameWrong: (most) => `Tối đa ${most} ký tự, không dùng ký tự ẩn.`,
    teamWrong: "Không chuyển được khoá API: bạn không có quyền, hoặc nhóm không còn nữa.",
    teamByAdmins: "Chủ sở hữu và quản trị viên chuyển khoá API giữa các nhóm.",
    expiryWrong: "Hãy chọn một ngày từ hôm nay trở đi.",
    amountWrong: "Hãy ghi số đồng nguyên lớn hơn 0, ví dụ 100000.",
    rateWrong: "Hãy ghi số nguyên lớn hơn 0, ví dụ 600.",
    ipWrong: (text) => `“${text}” không phải địa chỉ IP hay dải địa chỉ.`,
    ipMany: (most) => `Nhiều nhất ${most} địa chỉ.`,

    createdTitle: "Khoá API mới của bạn",
    createdText:
      "Hãy sao chép ngay. Khoá API được lưu mã hoá, và bạn có thể xem lại sau bằng mật khẩu. Hãy giữ như mật khẩu: đừng để trong mã nguồn mà người khác đọc được.",
    backToKeys: "Về danh sách khoá API",
    filledIn: "Chạy được ngay: khoá API đã điền sẵn",
    howToUse: "Cách dùng",

    show: "Xem khoá API",
    showText: "Nhập mật khẩu để xem lại toàn bộ khoá API.",
    password: "Mật khẩu của bạn",
    showButton: "Xem",
    shown: "Khoá API",
    notShowable:
      "Khoá API này được tạo trước khi khoá API được lưu mã hoá. Nó vẫn dùng được nhưng không thể xem lại. Hãy cấp lại khoá để xem lại được.",
    unreadable:
      "Khoá API vẫn dùng được, nhưng lúc này hệ thống không giải mã được nên không thể xem lại. Hãy cấp lại khoá để xem lại được.",
    wrongPassword: "Đây không phải mật khẩu của bạn.",
    noPassword:
      "Tài khoản của bạn chưa có mật khẩu, vì bạn đăng nhập qua nơi khác. Hãy đặt mật khẩu trước, rồi bạn xem được khoá API.",
    setPassword: "Đặt mật khẩu",
    tooMany: (seconds) => `Quá nhiều lần thử. Hãy đợi ${Math.ceil(seconds / 60)} phút.`,

    usage: "Mức sử dụng 30 ngày qua",
    calls: "Lượt gọi",
    cost: "Chi phí",
    settings: "Cài đặt",

    rotate: "Cấp lại khoá",
    rotateText:
      "Cấp khoá mới thay cho khoá này. Tên, giới hạn và mức sử dụng giữ nguyên. Khoá cũ còn dùng được một thời gian, để bạn kịp đổi trong chương trình.",
    grace: "Khoá cũ còn dùng được",
    graces: { "0": "không còn", "1": "1 giờ", "24": "24 giờ", "168": "7 ngày" },
    rotateButton: "Cấp lại khoá",
    rotateConfirm: "Cấp khoá mới thay cho khoá này?",
    rotatedTitle: "Khoá mới của bạn",
    graceLeft: "Khoá cũ còn dùng được đến",

    revoke: "Thu hồi",
    revokeText:
      "Lượt gọi bằng khoá API này bị từ chối ngay, vĩnh viễn. Mức sử dụng vẫn còn trong sổ.",
    revokeButton: "Thu hồi khoá API",
    revokeConfirm: (name) =>
      `Thu hồi “${name}” vĩnh viễn? Chương trình dùng khoá API này sẽ ngừng chạy.`,
  },
});

export type KeyTexts = typeof keyTexts.en;
