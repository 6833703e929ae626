/** Texts of the account page. */
import type { ClosingObstacle } from "../../../../kv/services/operations/account_closing.ts";
import { defineTexts, type NamedPairs } from "../../text/i18n.ts";

const obstacles: NamedPairs<ClosingObstacle> = {
  running_calls: [
    "Calls are running. Wait until they have ended.",
    "Còn lượt gọi đang chạy. Hãy đợi đến khi xong.",
  ],
  running_videos: [
    "Videos are being made. Wait, or cancel them.",
    "Còn video đang tạo. Hãy đợi, hoặc huỷ chúng.",
  ],
  open_orders: [
    "A top-up order is open. Cancel it, or wait until it has expired.",
    "Còn đơn nạp đang chờ. Hãy huỷ đơn, hoặc đợi đơn hết hạn.",
  ],
  open_invoices: [
    "An invoice that you requested is not issued yet. Wait for it.",
    "Hoá đơn bạn yêu cầu chưa được phát hành. Hãy đợi hoá đơn.",
  ],
};

export const accountTexts = defineTexts({
  both: {
    obstacles,
    title: ["Account", "Tài khoản"],
    accountId: ["Account number", "Số tài khoản"],
    since: ["Customer since", "Khách hàng từ"],
    email: ["Email address", "Địa chỉ email"],
    newEmail: ["New email address", "Địa chỉ email mới"],
    emailButton: ["Send the confirmation", "Gửi thư xác nhận"],
    emailInvalid: ["This is not an email address.", "Đây không phải là địa chỉ email."],
    confirmTitle: ["Confirm your new address", "Xác nhận địa chỉ mới"],
    confirmButton: ["Confirm the address", "Xác nhận địa chỉ"],
    emailChanged: ["Your email address has been changed.", "Địa chỉ email của bạn đã được đổi."],
    emailTaken: ["Another account has this address.", "Một tài khoản khác đang dùng địa chỉ này."],
    password: ["Password", "Mật khẩu"],
    currentPassword: ["Your current password", "Mật khẩu hiện tại"],
    newPassword: ["New password", "Mật khẩu mới"],
    passwordButton: ["Change the password", "Đổi mật khẩu"],
    setPassword: ["Send me a link to set one", "Gửi tôi liên kết đặt mật khẩu"],
    sessions: ["Signed-in browsers", "Trình duyệt đang đăng nhập"],
    device: ["Browser", "Trình duyệt"],
    unknownDevice: ["unknown", "không rõ"],
    address: ["IP address", "Địa chỉ IP"],
    method: ["By", "Bằng"],
    methods: {
      password: ["password", "mật khẩu"],
      openid: ["OpenID", "OpenID"],
      mail: ["emailed link", "liên kết trong thư"],
      passkey: ["passkey", "passkey"],
    },
    signedInAt: ["Signed in", "Đăng nhập lúc"],
    lastSeen: ["Last seen", "Lần cuối"],
    here: ["this browser", "trình duyệt này"],
    signOutOne: ["Sign out", "Đăng xuất"],
    signOutOthers: ["Sign out all others", "Đăng xuất mọi trình duyệt khác"],
    invoice: ["Invoice details", "Thông tin hoá đơn"],
    invoiceButton: ["Save the invoice details", "Lưu thông tin hoá đơn"],
    invoiceSaved: ["Your invoice details are saved.", "Đã lưu thông tin hoá đơn."],
    mails: ["Emails", "Thư thông báo"],
    mailsWanted: ["Send me emails about", "Gửi thư cho tôi về"],
    mailsAlways: ["Always on", "Luôn bật"],
    mailsButton: ["Save the choice", "Lưu lựa chọn"],
    mailsSaved: ["Your choice of emails is saved.", "Đã lưu lựa chọn thư thông báo."],
    mailsOffTitle: ["Switch off emails", "Tắt thư thông báo"],
    mailsOffButton: ["Switch them off", "Tắt loại thư này"],
    mailsInAccount: ["Choose emails in your account", "Chọn thư trong trang tài khoản"],
    mailsOfIncidents: ["Incidents", "Sự cố"],
    mailsSubscribeAgain: ["Subscribe again", "Đăng ký lại"],
    deletion: ["Delete the account", "Xoá tài khoản"],
    obstaclesTitle: ["The account cannot be deleted yet", "Chưa thể xoá tài khoản"],
    data: ["Your data", "Dữ liệu của bạn"],
    dataButton: ["Download all data", "Tải toàn bộ dữ liệu"],
    deletionLabel: ["Type your email address to confirm", "Gõ địa chỉ email của bạn để xác nhận"],
    deletionButton: ["Delete my account", "Xoá tài khoản của tôi"],
    deletionConfirm: ["Delete your account permanently?", "Xoá tài khoản vĩnh viễn?"],
    deletedTitle: ["Your account is deleted", "Tài khoản của bạn đã được xoá"],
    deletedText: ["Goodbye, and thank you.", "Tạm biệt và cảm ơn bạn."],
  },
  en: {
    emailText: "You sign in with this address, and emails go to it.",
    emailSent: (email: string) =>
      `We've sent an email to ${email}. The address changes when you open the link in it.`,
    linkDead:
      "This link no longer works. It was used already, is too old, or belongs to another account.",

    passwordText: "All other browsers will be signed out.",
    passwordChanged: "Your password has been changed, and all other browsers were signed out.",
    wrongPassword: "That is not your current password.",
    noPassword:
      "You sign in with another service and have no password here. With a password you can also show your keys again.",
    linkSent: "We've sent you an email with a link to set a password.",
    tooMany: (seconds: number) => `Too many tries. Wait ${Math.ceil(seconds / 60)} minutes.`,

    sessionsText: "Sign out any that you do not recognise, and change your password.",
    secondFactors: { code: "code", recovery_code: "recovery code", passkey: "passkey" },
    signOutLabel: (device: string) => `Sign out ${device}`,
    signOutOthersConfirm: "Sign out all other browsers? This one stays signed in.",

    secondFactorRequired: "From now on everyone who signs in here needs a second factor.",
    secondFactorNotRequired: "A second factor is no longer required.",

    invoiceText:
      "Who your VAT invoices are made out to, and where they are emailed. They fill the form of each request; you can change them there.",

    mailsText: "Untick what you do not want. Each email has a link for it, too.",
    mailsAlwaysWhy:
      "These tell you what somebody else may have done with your account, so they cannot be switched off.",
    mailsOffAsk: (kind: string) => `Get no more emails of the kind “${kind}”?`,
    mailsOffDone: (kind: string) => `You get no more emails of the kind “${kind}”.`,
    mailsOffDead: "This link is not complete, or too old.",

    deletionText:
      "Deleted at once: your email address, password, sessions, settings, invoice details, activity log, notes about you, and all keys with their names and secrets. This cannot be undone.",
    deletionKeeps:
      "Kept, because the law asks for ten years of bookkeeping (Accounting Law 88/2015/QH13):",
    deletionKept: [
      "issued invoices, with the buyer on them;",
      "the ledger, top-up orders and the transfers of your bank;",
      "receipts of calls, as evidence of each charge: under your account number only. They have no prompts and no answers.",
    ],
    giveUp: (amount: string) =>
      `I give up the ${amount} in the wallet. The books keep the amount; I can no longer use it.`,
    giveUpMissing:
      "There is money in the wallet. Have it paid back first, or confirm that you give up this amount.",
    dataText:
      "Everything that this organisation has, with your own data as a person, as lines of JSON: profile, sessions, members, keys without secrets, budgets, webhooks, movements of money, orders, invoices, receipts, refused calls, activity.",
    deletionBalance: (amount: string) =>
      `Your wallet still holds ${amount}. You cannot use it any more once the account is deleted.`,
    askForRefund: "To have it paid back first, write to",
    deletionWrong: "That is not the address of this account.",
    deletionOwns:
      "You own an organisation with other members or another wallet. Hand it over first.",
  },
  vi: {
    emailText: "Bạn đăng nhập bằng địa chỉ này, và thư được gửi đến đây.",
    emailSent: (email) =>
      `Chúng tôi đã gửi thư đến ${email}. Địa chỉ được đổi khi bạn mở liên kết trong thư.`,
    linkDead:
      "Liên kết này không còn dùng được. Nó đã được dùng, đã quá cũ, hoặc thuộc tài khoản khác.",

    passwordText: "Mọi trình duyệt khác sẽ bị đăng xuất.",
    passwordChanged: "Mật khẩu đã được đổi, và mọi trình duyệt khác đã bị đăng xuất.",
    wrongPassword: "Đây không phải mật khẩu hiện tại của bạn.",
    noPassword:
      "Bạn đăng nhập qua nơi khác và chưa có mật khẩu ở đây. Có mật khẩu, bạn còn xem lại được các khoá API.",
    linkSent: "Chúng tôi đã gửi cho bạn thư kèm liên kết đặt mật khẩu.",
    tooMany: (seconds) => `Quá nhiều lần thử. Hãy đợi ${Math.ceil(seconds / 60)} phút.`,

    sessionsText: "Hãy đăng xuất trình duyệt bạn không nhận ra, rồi đổi mật khẩu.",
    secondFactors: { code: "mã", recovery_code: "mã khôi phục", passkey: "passkey" },
    signOutLabel: (device) => `Đăng xuất ${device}`,
    signOutOthersConfirm: "Đăng xuất mọi trình duyệt khác? Trình duyệt này vẫn đăng nhập.",

    secondFactorRequired: "Từ bây giờ mọi người đăng nhập vào đây đều cần bước hai.",
    secondFactorNotRequired: "Không còn bắt buộc bước hai.",

    invoiceText:
      "Người mua trên hoá đơn GTGT và địa chỉ nhận hoá đơn. Thông tin này được điền sẵn vào mỗi yêu cầu; bạn vẫn sửa được ở đó.",

    mailsText: "Bỏ chọn những thư bạn không muốn nhận. Mỗi thư cũng có sẵn liên kết để tắt.",
    mailsAlwaysWhy:
      "Các thư này cho bạn biết người khác có thể đã làm gì với tài khoản của bạn, nên không tắt được.",
    mailsOffAsk: (kind) => `Không nhận thư loại “${kind}” nữa?`,
    mailsOffDone: (kind) => `Bạn sẽ không nhận thư loại “${kind}” nữa.`,
    mailsOffDead: "Liên kết này không đầy đủ hoặc đã quá cũ.",

    deletionText:
      "Xoá ngay: địa chỉ email, mật khẩu, phiên đăng nhập, cài đặt, thông tin hoá đơn, nhật ký, ghi chú về bạn, và mọi khoá API cùng tên và bí mật của chúng. Không thể hoàn tác.",
    deletionKeeps:
      "Giữ lại, vì luật yêu cầu lưu chứng từ kế toán mười năm (Luật Kế toán 88/2015/QH13):",
    deletionKept: [
      "hoá đơn đã phát hành, cùng người mua trên đó;",
      "sổ cái, đơn nạp và các giao dịch chuyển khoản của bạn;",
      "biên nhận lượt gọi, làm bằng chứng cho từng khoản phí: chỉ theo số tài khoản. Biên nhận không có prompt hay câu trả lời.",
    ],
    giveUp: (amount) =>
      `Tôi từ bỏ ${amount} trong ví. Sổ sách vẫn giữ số tiền này; tôi không dùng được nữa.`,
    giveUpMissing:
      "Trong ví còn tiền. Hãy yêu cầu hoàn tiền trước, hoặc xác nhận rằng bạn từ bỏ số tiền này.",
    dataText:
      "Toàn bộ dữ liệu của tổ chức này và dữ liệu cá nhân của bạn, dạng các dòng JSON: hồ sơ, phiên đăng nhập, thành viên, khoá API không kèm bí mật, ngân sách, webhook, biến động tiền, đơn nạp, hoá đơn, biên nhận, lượt gọi bị từ chối, nhật ký.",
    deletionBalance: (amount) =>
      `Ví của bạn còn ${amount}. Bạn không dùng được số tiền này nữa sau khi xoá tài khoản.`,
    askForRefund: "Để được hoàn tiền trước khi xoá, hãy liên hệ",
    deletionWrong: "Đây không phải địa chỉ của tài khoản này.",
    deletionOwns:
      "Bạn đang sở hữu một tổ chức có thành viên khác hoặc có ví khác. Hãy chuyển quyền sở hữu trước.",
  },
});
