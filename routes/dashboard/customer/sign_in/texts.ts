/** Texts of the sign-in, sign-up and reset pages. */
import type { PasswordProblem } from "../../../../core/people/accounts/password_policy.ts";
import { defineTexts } from "../../text/i18n.ts";

const problemsEnglish: Readonly<Record<PasswordProblem, string>> = {
  too_short: "Use at least 10 characters.",
  too_long: "Use at most 128 characters.",
  too_common: "This password is one of the first that attackers try. Choose another.",
  too_simple: "This password is too simple. Mix in more different characters.",
  like_email: "Do not use your email name inside the password.",
};

const problemsVietnamese: Readonly<Record<PasswordProblem, string>> = {
  too_short: "Hãy dùng ít nhất 10 ký tự.",
  too_long: "Hãy dùng nhiều nhất 128 ký tự.",
  too_common:
    "Mật khẩu này nằm trong số những mật khẩu kẻ xấu thử đầu tiên. Hãy chọn mật khẩu khác.",
  too_simple: "Mật khẩu này quá đơn giản. Hãy thêm các ký tự khác nhau.",
  like_email: "Đừng dùng tên email của bạn trong mật khẩu.",
};

export const signInTexts = defineTexts({
  both: {
    email: ["Email address", "Địa chỉ email"],
    password: ["Password", "Mật khẩu"],
    newPassword: ["New password", "Mật khẩu mới"],
    emailInvalid: ["This is not an email address.", "Đây không phải là địa chỉ email."],
    orByMail: ["or with your email address", "hoặc bằng địa chỉ email"],
    signInTitle: ["Sign in", "Đăng nhập"],
    signInButton: ["Sign in", "Đăng nhập"],
    forgotLink: ["Forgot your password?", "Quên mật khẩu?"],
    noAccount: ["No account yet?", "Chưa có tài khoản?"],
    createOne: ["Create one", "Tạo tài khoản"],
    wrong: ["Email address or password is wrong.", "Địa chỉ email hoặc mật khẩu không đúng."],
    anotherLink: ["Send another link", "Gửi liên kết khác"],
    blocked: ["This account is blocked.", "Tài khoản này đã bị chặn."],
    signUpTitle: ["Create your account", "Tạo tài khoản"],
    signUpButton: ["Create account", "Tạo tài khoản"],
    haveAccount: ["Already have an account?", "Đã có tài khoản?"],
    sentTitle: ["Check your email", "Hãy kiểm tra hộp thư"],
    sendAgain: ["Request another email", "Yêu cầu thư khác"],
    back: ["Back to sign-in", "Về trang đăng nhập"],
    verifyTitle: ["Confirm your address", "Xác nhận địa chỉ"],
    verifyButton: ["Confirm the address", "Xác nhận địa chỉ"],
    token: ["Code from the email", "Mã trong thư"],
    tokenHint: ["The part of the link after “token=”.", "Phần của liên kết sau chữ “token=”."],
    startAgain: ["Request a new one", "Yêu cầu liên kết mới"],
    forgotTitle: ["Forgot your password?", "Quên mật khẩu?"],
    forgotButton: ["Send the link", "Gửi liên kết"],
    linkTitle: ["Sign in by email", "Đăng nhập bằng thư"],
    linkButton: ["Email me a link", "Gửi liên kết cho tôi"],
    linkWay: ["Sign in with an emailed link", "Đăng nhập bằng liên kết gửi qua thư"],
    resetTitle: ["Choose a new password", "Đặt mật khẩu mới"],
    resetLead: ["All other browsers will be signed out.", "Mọi trình duyệt khác sẽ bị đăng xuất."],
    resetButton: ["Save the password", "Lưu mật khẩu"],
    companyWay: ["Sign in with your company", "Đăng nhập bằng công ty của bạn"],
    companyTitle: ["Sign in with your company", "Đăng nhập bằng công ty của bạn"],
    companyButton: ["Continue", "Tiếp tục"],
    passkeyButton: ["Sign in with a passkey", "Đăng nhập bằng passkey"],
    passkeySecond: ["Use a passkey", "Dùng passkey"],
    secondTitle: ["Confirm it is you", "Xác nhận đó là bạn"],
    code: ["Six-digit code", "Mã sáu số"],
    noDevice: ["No access to your device?", "Không có thiết bị bên mình?"],
    recoveryCode: ["Recovery code", "Mã khôi phục"],
    recoveryButton: ["Use the recovery code", "Dùng mã khôi phục"],
    noCodesEither: ["No recovery codes either? Write to", "Mất cả mã khôi phục? Vui lòng liên hệ"],
  },
  en: {
    passwordHint: "At least 10 characters. A few unrelated words work well.",
    passwordProblems: problemsEnglish,
    continueWith: (label: string) => `Continue with ${label}`,
    ended:
      "You were signed out, so the form you sent had no effect and was not saved. Sign in, then fill it in again.",
    tooMany: (seconds: number) =>
      `Too many tries. Wait ${
        seconds < 90 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`
      }, then try again.`,
    busy: "Too many people are signing in right now. Try again in a moment.",

    unconfirmed:
      "If you have just created an account here, confirm your email address first: open the link in our email.",
    askSupport: (support: string) => `Write to ${support}.`,

    signUpLead: "One key for every model. You pay for what you use, in VND.",
    signUpCredit: (amount: string, days: number | undefined) =>
      days === undefined
        ? `New accounts get ${amount} of credit.`
        : `New accounts get ${amount} of credit, for ${days} days.`,

    sentSignUp: (email: string) =>
      `We've sent an email to ${email}. Open the link in it to finish creating your account.`,
    sentForgot: (email: string) =>
      `If ${email} has an account, we've sent an email to it. Open the link in it to choose a new password.`,
    sentLink: (email: string) =>
      `If ${email} has an account, we've sent an email to it. Open the link in it to sign in.`,
    sentHint:
      "Nothing there after a few minutes? Check the spam folder. You can request another in 15 minutes.",

    verifyLead: "One click and your account is ready.",
    verifyPassword:
      "You opened the email in another browser than the one you signed up with. Enter the password you chose, so that we know it is you.",
    verifyWrong: "This is not the password you chose when you signed up.",
    linkDead: "This link no longer works. It was used already, or it is too old.",
    alreadyThere: "This address already has an account. Sign in.",

    forgotLead: "Tell us your address, and we send you a link to choose a new one.",

    linkLead: "We send you a link that signs you in without a password.",
    linkInstead: "You do not have to wait: we can email you a link that signs you in now.",

    companyLead: "The domain of your address leads to the sign-in of your company.",
    companyNone: (domain: string) =>
      `No company with addresses at ${domain} signs in here. Use your password or an emailed link.`,
    companyLeave: (host: string) => `Your company signs in at ${host}.`,
    companyOtherDomain:
      "Your company's provider named an address that does not belong to a domain of the company.",
    companyFull: "Your company has as many members as it can have. Ask one of its admins.",
    companyRemoved:
      "You were removed from your company's organisation. Ask one of its admins to invite you, or to let you back in.",

    passkeyWrong: "This passkey does not open an account here, or took too long. Please try again.",
    passkeyMissing:
      "This browser has no passkeys here: they need scripts and an https address. Use a recovery code.",
    passkeyWords: {
      NotAllowedError: "Nothing was sent: the browser has no passkey for it, or it was cancelled.",
      InvalidStateError: "This device has a passkey of your account already.",
      other: "That did not work. Please try again.",
    },
    secondLead: "Your account asks for a second factor.",
    codeWrong: "The code is wrong, or was used already. Wait for the next one.",
    codeUnreadable:
      "Codes of your app cannot be checked at the moment. Use a recovery code or a passkey.",
    recoveryCodeHint: "16 letters and digits. Each code works once.",
    recoveryWrong: "This recovery code is wrong, or was used already.",

    openIdFailed: "The sign-in did not work. Please try again.",
    openIdNoEmail:
      "Your provider has not verified your email address. Verify it there, or sign up with a password.",
  },
  vi: {
    passwordHint: "Ít nhất 10 ký tự. Vài từ không liên quan đến nhau là tốt nhất.",
    passwordProblems: problemsVietnamese,
    continueWith: (label) => `Tiếp tục với ${label}`,
    ended:
      "Phiên đăng nhập đã hết, nên biểu mẫu bạn vừa gửi không thay đổi gì và không được giữ lại. Hãy đăng nhập rồi điền lại.",
    tooMany: (seconds) =>
      `Quá nhiều lần thử. Hãy đợi ${
        seconds < 90 ? `${seconds} giây` : `${Math.ceil(seconds / 60)} phút`
      } rồi thử lại.`,
    busy: "Đang có quá nhiều người đăng nhập. Hãy thử lại sau giây lát.",

    unconfirmed:
      "Nếu bạn vừa tạo tài khoản ở đây, hãy xác nhận địa chỉ email trước: mở liên kết trong thư của chúng tôi.",
    askSupport: (support) => `Vui lòng liên hệ ${support}.`,

    signUpLead: "Một khoá API cho mọi mô hình. Dùng bao nhiêu trả bấy nhiêu, bằng VND.",
    signUpCredit: (amount, days) =>
      days === undefined
        ? `Tài khoản mới được tặng ${amount}.`
        : `Tài khoản mới được tặng ${amount}, dùng trong ${days} ngày.`,

    sentSignUp: (email) =>
      `Chúng tôi đã gửi thư đến ${email}. Hãy mở liên kết trong thư để hoàn tất việc tạo tài khoản.`,
    sentForgot: (email) =>
      `Nếu ${email} có tài khoản, chúng tôi đã gửi thư đến đó. Hãy mở liên kết trong thư để đặt mật khẩu mới.`,
    sentLink: (email) =>
      `Nếu ${email} có tài khoản, chúng tôi đã gửi thư đến đó. Hãy mở liên kết trong thư để đăng nhập.`,
    sentHint:
      "Vài phút sau vẫn chưa thấy? Hãy xem trong thư rác; bạn có thể yêu cầu lại sau 15 phút.",

    verifyLead: "Chỉ một lần bấm là tài khoản của bạn sẵn sàng.",
    verifyPassword:
      "Bạn mở thư ở trình duyệt khác với trình duyệt đã đăng ký. Hãy nhập mật khẩu bạn đã chọn để chúng tôi biết đó là bạn.",
    verifyWrong: "Đây không phải mật khẩu bạn đã chọn khi đăng ký.",
    linkDead: "Liên kết này không còn dùng được. Nó đã được dùng hoặc đã quá cũ.",
    alreadyThere: "Địa chỉ này đã có tài khoản. Hãy đăng nhập.",

    forgotLead: "Hãy cho biết địa chỉ của bạn, chúng tôi sẽ gửi liên kết để đặt mật khẩu mới.",

    linkLead: "Chúng tôi gửi liên kết đăng nhập mà không cần mật khẩu.",
    linkInstead: "Bạn không cần đợi: liên kết chúng tôi gửi qua thư cho bạn đăng nhập ngay.",

    companyLead: "Tên miền trong địa chỉ email dẫn đến trang đăng nhập của công ty bạn.",
    companyNone: (domain) =>
      `Không có công ty nào dùng địa chỉ ${domain} để đăng nhập ở đây. Hãy dùng mật khẩu hoặc liên kết gửi qua thư.`,
    companyLeave: (host) => `Công ty bạn đăng nhập tại ${host}.`,
    companyOtherDomain:
      "Nhà cung cấp của công ty bạn đưa ra một địa chỉ không thuộc tên miền của công ty.",
    companyFull: "Công ty bạn đã đủ số thành viên tối đa. Hãy hỏi quản trị viên của công ty.",
    companyRemoved:
      "Bạn đã bị xoá khỏi tổ chức của công ty. Hãy nhờ quản trị viên mời lại hoặc cho bạn quay lại.",

    passkeyWrong: "Passkey này không mở tài khoản nào ở đây, hoặc đã quá lâu. Vui lòng thử lại.",
    passkeyMissing:
      "Trình duyệt này không dùng được passkey ở đây: cần JavaScript và địa chỉ https. Hãy dùng mã khôi phục.",
    passkeyWords: {
      NotAllowedError: "Chưa gửi gì: trình duyệt không có passkey phù hợp, hoặc bạn đã huỷ.",
      InvalidStateError: "Thiết bị này đã có passkey của tài khoản bạn.",
      other: "Không thành công. Vui lòng thử lại.",
    },
    secondLead: "Tài khoản của bạn yêu cầu xác thực bước hai.",
    codeWrong: "Mã sai, hoặc đã dùng rồi. Hãy đợi mã tiếp theo.",
    codeUnreadable:
      "Hiện không kiểm tra được mã từ ứng dụng của bạn. Hãy dùng mã khôi phục hoặc passkey.",
    recoveryCodeHint: "16 chữ và số. Mỗi mã chỉ dùng được một lần.",
    recoveryWrong: "Mã khôi phục sai, hoặc đã dùng rồi.",

    openIdFailed: "Đăng nhập không thành công. Vui lòng thử lại.",
    openIdNoEmail:
      "Nhà cung cấp của bạn chưa xác minh địa chỉ email. Hãy xác minh ở đó, hoặc đăng ký bằng mật khẩu.",
  },
});
