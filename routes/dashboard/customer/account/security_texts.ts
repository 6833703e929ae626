/** Texts of the pages about second factors. */
import { recoveryCodesPerSet } from "../../../../core/people/accounts/recovery_code.ts";
import { defineTexts } from "../../text/i18n.ts";

export const securityTexts = defineTexts({
  both: {
    title: ["Two-factor sign-in", "Đăng nhập hai bước"],
    card: ["Two-factor sign-in", "Đăng nhập hai bước"],
    cardOn: ["On: a sign-in asks for a second factor.", "Đang bật: đăng nhập cần thêm bước hai."],
    manage: ["Manage it", "Thiết lập"],
    back: ["Back to your account", "Về trang tài khoản"],
    on: ["on", "đang bật"],
    off: ["off", "đang tắt"],
    confirmTitle: ["Confirm it is you", "Xác nhận đó là bạn"],
    confirmButton: ["Confirm", "Xác nhận"],
    signInAgain: ["Sign in again", "Đăng nhập lại"],
    requirement: ["Required second factor", "Bắt buộc bước hai"],
    requirementBegin: ["Require it", "Bắt buộc"],
    requirementEnd: ["Require it no more", "Bỏ bắt buộc"],
    app: ["Authenticator app", "Ứng dụng xác thực"],
    appSince: ["Set up", "Thiết lập lúc"],
    appSetUp: ["Set up an app", "Thiết lập ứng dụng"],
    appOff: ["Switch the app off", "Tắt ứng dụng"],
    appOffButton: ["Switch it off", "Tắt"],
    appOffByRecovery: ["Use a recovery code instead", "Dùng mã khôi phục"],
    appOn: ["Your app is set up.", "Đã thiết lập ứng dụng."],
    appWasOff: ["The app is switched off.", "Đã tắt ứng dụng."],
    setUpTitle: ["Set up an authenticator app", "Thiết lập ứng dụng xác thực"],
    secret: ["Or type this secret", "Hoặc nhập khoá bí mật này"],
    confirmApp: ["Switch it on", "Bật"],
    passkeys: ["Passkeys", "Passkey"],
    passkey: ["Passkey", "Passkey"],
    passkeyName: ["Name", "Tên"],
    passkeyAdded: ["Added", "Thêm lúc"],
    passkeyUsed: ["Last used", "Dùng lần cuối"],
    passkeyNeverUsed: ["never", "chưa dùng"],
    passkeyAdd: ["Add a passkey", "Thêm passkey"],
    passkeyRemove: ["Remove", "Xoá"],
    passkeyWasAdded: ["The passkey is added.", "Đã thêm passkey."],
    codes: ["Recovery codes", "Mã khôi phục"],
    codesNone: ["You have none.", "Bạn chưa có mã nào."],
    codesNew: ["Make new codes", "Tạo mã mới"],
    codesTitle: ["Your recovery codes", "Mã khôi phục của bạn"],
    codesSaved: ["I have saved them", "Tôi đã lưu"],
    codesWhat: ["the recovery codes", "các mã khôi phục"],
  },
  en: {
    lead:
      "Beside your password, or the link in an email, a sign-in asks for something that only you have.",
    cardOff: "Off: a password, or a link in an email, is all that a sign-in asks for.",

    confirmFirst: "Confirm that it is you before you change anything here.",
    confirmLead: "These settings decide who can sign in. Confirm that it is you.",
    confirmBySignIn: "You have no password here, so sign in once more.",

    required:
      "Your account requires a second factor. Set up an app or a passkey, and you can go on.",
    lastOne:
      "Your account requires a second factor, and this is the last one. Set up another first.",
    requirementText:
      "Everyone who signs in to this account sets up an app or a passkey before they see anything else. API keys go on working.",
    requirementBeginConfirm:
      "Require a second factor? Members without one can do nothing here until they have added it.",
    requirementEndConfirm: "Let people sign in with a password or an emailed link alone?",

    appText:
      "An app such as Google Authenticator, 1Password or Aegis shows a new code every 30 seconds.",
    appOffText: "Your passkeys stay. Without any second factor your recovery codes end, too.",
    appOffOperator:
      "You operate this gateway, so the app can only be switched off on the server, with this command:",
    firstAppOn: "Your app is set up. All other browsers were signed out.",
    scan: "Scan this with the app, then type the code that it shows.",
    qrLabel: "QR code with the secret for an authenticator app",
    busy: "The secret was just changed in another window. Try again.",
    unreadable:
      "The secret of your app cannot be read at the moment, so its codes cannot be checked. Recovery codes and passkeys work.",

    passkeysText:
      "A fingerprint, your face, or a security key with its PIN. A passkey signs you in alone; after a password it is the second factor.",
    passkeyNameHint: "So that you know later which device has it.",
    passkeyRemoveLabel: (name: string) => `Remove the passkey ${name}`,
    passkeyRemoveConfirm: (name: string) =>
      `Remove the passkey “${name}”? It signs you in no more.`,
    passkeyMissing: (address: string) =>
      `This browser has no passkeys for this page: they need JavaScript, and this address: ${address}`,
    passkeyObstacles: {
      insecure: (address: string) =>
        `Passkeys need a secure connection, and this service has none (${address}).`,
      no_domain: (address: string) =>
        `Passkeys belong to a domain, and this service has only an IP address (${address}).`,
    },
    passkeyRefused:
      "The passkey was not added: it took too long, is there already, or does not verify who uses it. Try again.",
    firstPasskeyAdded: "The passkey is added. All other browsers were signed out.",
    passkeyWasRemoved: "The passkey is removed. Delete it on your device, too.",

    codesText:
      "Each lets you sign in once without your device. Keep them where you keep your passwords.",
    codesLeft: (left: number) => `${left} of ${recoveryCodesPerSet} left`,
    codesNewConfirm: "Make new recovery codes? The earlier ones stop working.",
    codesOnce:
      "They are shown only now. Print them or store them in your password manager: each works once, if your device is lost.",
  },
  vi: {
    lead:
      "Ngoài mật khẩu hoặc liên kết trong thư, mỗi lần đăng nhập còn yêu cầu một thứ chỉ bạn mới có.",
    cardOff: "Đang tắt: chỉ cần mật khẩu, hoặc liên kết trong thư, là đăng nhập được.",

    confirmFirst: "Hãy xác nhận đó là bạn trước khi thay đổi bất cứ điều gì ở đây.",
    confirmLead: "Các thiết lập này quyết định ai đăng nhập được. Hãy xác nhận đó là bạn.",
    confirmBySignIn: "Bạn chưa có mật khẩu ở đây, nên hãy đăng nhập lại.",

    required:
      "Tài khoản của bạn bắt buộc có bước hai. Hãy thiết lập ứng dụng hoặc passkey để đi tiếp.",
    lastOne:
      "Tài khoản của bạn bắt buộc có bước hai, và đây là cách cuối cùng. Hãy thêm cách khác trước.",
    requirementText:
      "Mọi người đăng nhập vào tài khoản này phải thiết lập ứng dụng hoặc passkey trước khi xem bất cứ thứ gì. Khoá API vẫn hoạt động.",
    requirementBeginConfirm:
      "Bắt buộc xác thực hai bước? Thành viên chưa bật sẽ không làm được gì ở đây cho đến khi bật.",
    requirementEndConfirm: "Cho phép đăng nhập chỉ bằng mật khẩu hoặc liên kết trong thư?",

    appText: "Ứng dụng như Google Authenticator, 1Password hoặc Aegis hiện một mã mới mỗi 30 giây.",
    appOffText:
      "Passkey của bạn vẫn giữ. Nếu không còn bước hai nào, mã khôi phục cũng hết hiệu lực.",
    appOffOperator:
      "Bạn là người vận hành cổng này, nên chỉ tắt được ứng dụng trên máy chủ, bằng lệnh sau:",
    firstAppOn: "Đã thiết lập ứng dụng. Mọi trình duyệt khác đã bị đăng xuất.",
    scan: "Quét mã này bằng ứng dụng, rồi nhập mã hiện ra.",
    qrLabel: "Mã QR chứa khoá bí mật cho ứng dụng xác thực",
    busy: "Khoá bí mật vừa được đổi ở cửa sổ khác. Hãy thử lại.",
    unreadable:
      "Hiện không đọc được khoá bí mật của ứng dụng, nên không kiểm tra được mã. Mã khôi phục và passkey vẫn dùng được.",

    passkeysText:
      "Vân tay, khuôn mặt, hoặc khoá bảo mật có mã PIN. Chỉ cần passkey là đăng nhập được; sau mật khẩu, passkey là bước hai.",
    passkeyNameHint: "Để sau này bạn biết passkey nằm trên thiết bị nào.",
    passkeyRemoveLabel: (name) => `Xoá passkey ${name}`,
    passkeyRemoveConfirm: (name) =>
      `Xoá passkey “${name}”? Bạn sẽ không đăng nhập bằng nó được nữa.`,
    passkeyMissing: (address) =>
      `Trình duyệt này không dùng được passkey trên trang này: cần JavaScript và đúng địa chỉ ${address}`,
    passkeyObstacles: {
      insecure: (address) => `Passkey cần kết nối bảo mật, mà dịch vụ này chưa có (${address}).`,
      no_domain: (address) =>
        `Passkey gắn với một tên miền, mà dịch vụ này chỉ có địa chỉ IP (${address}).`,
    },
    passkeyRefused:
      "Chưa thêm được passkey: đã quá lâu, đã có sẵn, hoặc thiết bị không xác minh người dùng. Hãy thử lại.",
    firstPasskeyAdded: "Đã thêm passkey. Mọi trình duyệt khác đã bị đăng xuất.",
    passkeyWasRemoved: "Đã xoá passkey. Hãy xoá cả trên thiết bị của bạn.",

    codesText:
      "Mỗi mã cho bạn đăng nhập một lần khi không có thiết bị. Hãy cất ở nơi bạn giữ mật khẩu.",
    codesLeft: (left) => `còn ${left} trên ${recoveryCodesPerSet} mã`,
    codesNewConfirm: "Tạo mã khôi phục mới? Các mã cũ sẽ không dùng được nữa.",
    codesOnce:
      "Các mã này chỉ hiện một lần. Hãy in ra hoặc lưu vào trình quản lý mật khẩu: mỗi mã dùng được một lần khi mất thiết bị.",
  },
});
