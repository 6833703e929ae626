/** Texts of the pages about second factors. */
import { recoveryCodesPerSet } from "../../../../core/people/accounts/recovery_code.ts";
import { defineTexts } from "../../text/i18n.ts";

export const securityTexts = defineTexts({
  en: {
    title: "Two-factor sign-in",
    lead:
      "Beside your password, or the link in an email, a sign-in asks for something that only you have.",
    card: "Two-factor sign-in",
    cardOn: "On: a sign-in asks for a second factor.",
    cardOff: "Off: a password, or a link in an email, is all that a sign-in asks for.",
    manage: "Manage it",
    back: "Back to your account",
    on: "on",
    off: "off",

    confirmFirst: "Confirm that it is you before you change anything here.",
    confirmTitle: "Confirm it is you",
    confirmLead: "These settings decide who can sign in. Confirm that it is you.",
    confirmButton: "Confirm",
    confirmBySignIn: "You have no password here, so sign in once more.",
    signInAgain: "Sign in again",

    required:
      "Your account requires a second factor. Set up an app or a passkey, and you can go on.",
    lastOne:
      "Your account requires a second factor, and this is the last one. Set up another first.",
    requirement: "Required second factor",
    requirementText:
      "Everyone who signs in to this account sets up an app or a passkey before they see anything else. API keys go on working.",
    requirementBegin: "Require it",
    requirementEnd: "Require it no more",
    requirementBeginConfirm:
      "Require a second factor? Members without one can do nothing here until they have added it.",
    requirementEndConfirm: "Let people sign in with a password or an emailed link alone?",

    app: "Authenticator app",
    appText:
      "An app such as Google Authenticator, 1Password or Aegis shows a new code every 30 seconds.",
    appSince: "Set up",
    appSetUp: "Set up an app",
    appOff: "Switch the app off",
    appOffText: "Your passkeys stay. Without any second factor your recovery codes end, too.",
    appOffButton: "Switch it off",
    appOffByRecovery: "Use a recovery code instead",
    appOffOperator:
      "You operate this gateway, so the app can only be switched off on the server, with this command:",
    appOn: "Your app is set up.",
    firstAppOn: "Your app is set up. All other browsers were signed out.",
    appWasOff: "The app is switched off.",
    setUpTitle: "Set up an authenticator app",
    scan: "Scan this with the app, then type the code that it shows.",
    qrLabel: "QR code with the secret for an authenticator app",
    secret: "Or type this secret",
    confirmApp: "Switch it on",
    busy: "The secret was just changed in another window. Try again.",
    unreadable:
      "The secret of your app cannot be read at the moment, so its codes cannot be checked. Recovery codes and passkeys work.",

    passkeys: "Passkeys",
    passkey: "Passkey",
    passkeysText:
      "A fingerprint, your face, or a security key with its PIN. A passkey signs you in alone; after a password it is the second factor.",
    passkeyName: "Name",
    passkeyNameHint: "So that you know later which device has it.",
    passkeyAdded: "Added",
    passkeyUsed: "Last used",
    passkeyNeverUsed: "never",
    passkeyAdd: "Add a passkey",
    passkeyRemove: "Remove",
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
    passkeyWasAdded: "The passkey is added.",
    firstPasskeyAdded: "The passkey is added. All other browsers were signed out.",
    passkeyWasRemoved: "The passkey is removed. Delete it on your device, too.",

    codes: "Recovery codes",
    codesText:
      "Each lets you sign in once without your device. Keep them where you keep your passwords.",
    codesLeft: (left: number) => `${left} of ${recoveryCodesPerSet} left`,
    codesNone: "You have none.",
    codesNew: "Make new codes",
    codesNewConfirm: "Make new recovery codes? The earlier ones stop working.",
    codesTitle: "Your recovery codes",
    codesOnce:
      "They are shown only now. Print them or store them in your password manager: each works once, if your device is lost.",
    codesSaved: "I have saved them",
    codesWhat: "the recovery codes",
  },
  vi: {
    title: "Đăng nhập hai bước",
    lead:
      "Ngoài mật khẩu hoặc liên kết trong thư, mỗi lần đăng nhập còn yêu cầu một thứ chỉ bạn mới có.",
    card: "Đăng nhập hai bước",
    cardOn: "Đang bật: đăng nhập cần thêm bước hai.",
    cardOff: "Đang tắt: chỉ cần mật khẩu, hoặc liên kết trong thư, là đăng nhập được.",
    manage: "Thiết lập",
    back: "Về trang tài khoản",
    on: "đang bật",
    off: "đang tắt",

    confirmFirst: "Hãy xác nhận đó là bạn trước khi thay đổi bất cứ điều gì ở đây.",
    confirmTitle: "Xác nhận đó là bạn",
    confirmLead: "Các thiết lập này quyết định ai đăng nhập được. Hãy xác nhận đó là bạn.",
    confirmButton: "Xác nhận",
    confirmBySignIn: "Bạn chưa có mật khẩu ở đây, nên hãy đăng nhập lại.",
    signInAgain: "Đăng nhập lại",

    required:
      "Tài khoản của bạn bắt buộc có bước hai. Hãy thiết lập ứng dụng hoặc passkey để đi tiếp.",
    lastOne:
      "Tài khoản của bạn bắt buộc có bước hai, và đây là cách cuối cùng. Hãy thêm cách khác trước.",
    requirement: "Bắt buộc bước hai",
    requirementText:
      "Mọi người đăng nhập vào tài khoản này phải thiết lập ứng dụng hoặc passkey trước khi xem bất cứ thứ gì. Khoá API vẫn hoạt động.",
    requirementBegin: "Bắt buộc",
    requirementEnd: "Bỏ bắt buộc",
    requirementBeginConfirm:
      "Bắt buộc xác thực hai bước? Thành viên chưa bật sẽ không làm được gì ở đây cho đến khi bật.",
    requirementEndConfirm: "Cho phép đăng nhập chỉ bằng mật khẩu hoặc liên kết trong thư?",

    app: "Ứng dụng xác thực",
    appText: "Ứng dụng như Google Authenticator, 1Password hoặc Aegis hiện một mã mới mỗi 30 giây.",
    appSince: "Thiết lập lúc",
    appSetUp: "Thiết lập ứng dụng",
    appOff: "Tắt ứng dụng",
    appOffText:
      "Passkey của bạn vẫn giữ. Nếu không còn bước hai nào, mã khôi phục cũng hết hiệu lực.",
    appOffButton: "Tắt",
    appOffByRecovery: "Dùng mã khôi phục",
    appOffOperator:
      "Bạn là người vận hành cổng này, nên chỉ tắt được ứng dụng trên máy chủ, bằng lệnh sau:",
    appOn: "Đã thiết lập ứng dụng.",
    firstAppOn: "Đã thiết lập ứng dụng. Mọi trình duyệt khác đã bị đăng xuất.",
    appWasOff: "Đã tắt ứng dụng.",
    setUpTitle: "Thiết lập ứng dụng xác thực",
    scan: "Quét mã này bằng ứng dụng, rồi nhập mã hiện ra.",
    qrLabel: "Mã QR chứa khoá bí mật cho ứng dụng xác thực",
    secret: "Hoặc nhập khoá bí mật này",
    confirmApp: "Bật",
    busy: "Khoá bí mật vừa được đổi ở cửa sổ khác. Hãy thử lại.",
    unreadable:
      "Hiện không đọc được khoá bí mật của ứng dụng, nên không kiểm tra được mã. Mã khôi phục và passkey vẫn dùng được.",

    passkeys: "Passkey",
    passkey: "Passkey",
    passkeysText:
      "Vân tay, khuôn mặt, hoặc khoá bảo mật có mã PIN. Chỉ cần passkey là đăng nhập được; sau mật khẩu, passkey là bước hai.",
    passkeyName: "Tên",
    passkeyNameHint: "Để sau này bạn biết passkey nằm trên thiết bị nào.",
    passkeyAdded: "Thêm lúc",
    passkeyUsed: "Dùng lần cuối",
    passkeyNeverUsed: "chưa dùng",
    passkeyAdd: "Thêm passkey",
    passkeyRemove: "Xoá",
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
    passkeyWasAdded: "Đã thêm passkey.",
    firstPasskeyAdded: "Đã thêm passkey. Mọi trình duyệt khác đã bị đăng xuất.",
    passkeyWasRemoved: "Đã xoá passkey. Hãy xoá cả trên thiết bị của bạn.",

    codes: "Mã khôi phục",
    codesText:
      "Mỗi mã cho bạn đăng nhập một lần khi không có thiết bị. Hãy cất ở nơi bạn giữ mật khẩu.",
    codesLeft: (left) => `còn ${left} trên ${recoveryCodesPerSet} mã`,
    codesNone: "Bạn chưa có mã nào.",
    codesNew: "Tạo mã mới",
    codesNewConfirm: "Tạo mã khôi phục mới? Các mã cũ sẽ không dùng được nữa.",
    codesTitle: "Mã khôi phục của bạn",
    codesOnce:
      "Các mã này chỉ hiện một lần. Hãy in ra hoặc lưu vào trình quản lý mật khẩu: mỗi mã dùng được một lần khi mất thiết bị.",
    codesSaved: "Tôi đã lưu",
    codesWhat: "các mã khôi phục",
  },
});
