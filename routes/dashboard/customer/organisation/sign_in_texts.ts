/** Texts of the page about how people of an organisation sign in. */
import { defineTexts } from "../../text/i18n.ts";

export const companySignInTexts = defineTexts({
  both: {
    title: ["Sign-in of the organisation", "Đăng nhập của tổ chức"],
    manage: ["Sign-in", "Đăng nhập"],
    back: ["Back to the organisation", "Về trang tổ chức"],
    confirmLink: ["Confirm it is you", "Xác nhận đó là bạn"],
    provider: ["OpenID provider", "Nhà cung cấp OpenID"],
    redirectUri: ["Redirect address", "Địa chỉ quay về"],
    issuer: ["Issuer", "Issuer"],
    clientId: ["Client ID", "Client ID"],
    clientSecret: ["Client secret", "Client secret"],
    role: ["Who joins becomes", "Người tham gia có vai trò"],
    save: ["Save the provider", "Lưu nhà cung cấp"],
    remove: ["Remove the provider", "Xoá nhà cung cấp"],
    idInvalid: ["A client ID has 1 to 255 characters.", "Client ID có từ 1 đến 255 ký tự."],
    roleInvalid: ["There is no such role.", "Không có vai trò này."],
    requirement: ["Only by your provider", "Chỉ qua nhà cung cấp của bạn"],
    requirementOn: ["required", "bắt buộc"],
    requirementOff: ["not required", "không bắt buộc"],
    requirementBegin: ["Require it", "Bắt buộc"],
    requirementEnd: ["Require it no longer", "Bỏ bắt buộc"],
    domains: ["Domains", "Tên miền"],
    domain: ["Domain", "Tên miền"],
    recordName: ["Name of the TXT record", "Tên bản ghi TXT"],
    recordValue: ["Text of the TXT record", "Nội dung bản ghi TXT"],
    state: ["State", "Trạng thái"],
    verified: ["verified", "đã xác minh"],
    open: ["not verified", "chưa xác minh"],
    missing: ["record missing", "thiếu bản ghi"],
    missingUntil: ["counts until", "còn hiệu lực đến"],
    verify: ["Check the record", "Kiểm tra bản ghi"],
    drop: ["Remove", "Xoá"],
    add: ["Add the domain", "Thêm tên miền"],
  },
  en: {
    lead:
      "People with an address of your domains sign in at your own provider, and join by themselves.",
    confirmFirst: "Confirm that it is you before you change anything here.",

    providerText:
      "Make an application (web, authorization code) at your provider, with this address to come back to. It has to say that the email address of a person is verified.",
    issuerHint: "The address before /.well-known/openid-configuration.",
    secretKept: "Leave it empty to keep the one that is stored.",
    secretAgain: "Enter the secret again: the stored one belongs to another issuer or client ID.",
    removeSure: "Remove the provider? Your people then sign in with a password or an emailed link.",
    issuerInvalid: "An issuer is an https address that can be reached from the internet.",
    secretInvalid: "A client secret has 1 to 1,000 characters.",
    unreachable:
      "No OpenID provider answers at this address: its /.well-known/openid-configuration cannot be read.",

    requirementText:
      "Members act for this organisation only in sessions that began at your provider. Those that began with a password, a passkey or an emailed link stop with their next request. API keys and management keys are not affected.",
    requirementOwner:
      "The owner keeps every way in, so that a provider that fails locks nobody out of this page.",
    requirementOutsiders: (members: string) =>
      `These members cannot sign in at your provider, since their address is of no verified domain: ${members}.`,
    requirementConfirm:
      "Require your provider? Members who signed in another way are kept out at once.",
    requirementFirstSelf: "Sign in at your provider yourself first, so that you are not kept out.",
    requirementNotSetUp: "Save a provider and verify a domain first.",

    domainsText:
      "Verify each domain by a TXT record. Until then its addresses do not lead to your provider.",
    verifyOne: (domain: string) => `Check the record of ${domain}`,
    dropOne: (domain: string) => `Remove ${domain}`,
    dropSure: (domain: string) =>
      `Remove ${domain}? People with its addresses no longer sign in at your provider.`,
    domainInvalid: "This is not a domain, such as example.com.",
    tooManyDomains: "An organisation has 20 domains at most.",
    verifications: {
      no_record: (domain: string) =>
        `The record of ${domain} was not found. New records can take an hour to arrive.`,
      taken: (domain: string) =>
        `Another organisation has verified ${domain}, and its record is there.`,
      gone: (domain: string) => `${domain} is not in your list any more.`,
      busy: (domain: string) => `${domain} was changed at this moment. Try again.`,
    },
    done: {
      saved: "The provider is saved.",
      removed: "The provider is removed.",
      required: "From now on members get in by your provider only.",
      notRequired: "Members get in any way again.",
      added: "The domain is added. Now publish its record.",
      verified: "The domain is verified.",
      dropped: "The domain is removed.",
    },
  },
  vi: {
    lead:
      "Người có địa chỉ thuộc tên miền của bạn đăng nhập tại nhà cung cấp của bạn, và tự động tham gia tổ chức.",
    confirmFirst: "Hãy xác nhận đó là bạn trước khi thay đổi bất cứ điều gì ở đây.",

    providerText:
      "Hãy tạo một ứng dụng (web, authorization code) tại nhà cung cấp, với địa chỉ quay về sau đây. Nhà cung cấp phải báo rằng địa chỉ email của người dùng đã được xác minh.",
    issuerHint: "Địa chỉ đứng trước /.well-known/openid-configuration.",
    secretKept: "Để trống nếu giữ secret đang lưu.",
    secretAgain: "Hãy nhập lại secret: secret đang lưu thuộc về issuer hoặc client ID khác.",
    removeSure:
      "Xoá nhà cung cấp? Sau đó mọi người đăng nhập bằng mật khẩu hoặc liên kết gửi qua thư.",
    issuerInvalid: "Issuer là một địa chỉ https truy cập được từ internet.",
    secretInvalid: "Client secret có từ 1 đến 1.000 ký tự.",
    unreachable:
      "Không có nhà cung cấp OpenID nào trả lời ở địa chỉ này: không đọc được /.well-known/openid-configuration.",

    requirementText:
      "Thành viên chỉ làm việc cho tổ chức trong phiên bắt đầu tại nhà cung cấp của bạn. Phiên bắt đầu bằng mật khẩu, passkey hoặc liên kết gửi qua thư dừng lại từ yêu cầu tiếp theo. Khoá API và khoá quản trị không bị ảnh hưởng.",
    requirementOwner:
      "Chủ sở hữu vẫn giữ mọi cách đăng nhập, để khi nhà cung cấp gặp sự cố vẫn vào được trang này.",
    requirementOutsiders: (members) =>
      `Các thành viên sau không đăng nhập được tại nhà cung cấp, vì địa chỉ của họ không thuộc tên miền nào đã xác minh: ${members}.`,
    requirementConfirm:
      "Bắt buộc đăng nhập qua nhà cung cấp? Thành viên đăng nhập cách khác bị chặn ngay.",
    requirementFirstSelf: "Trước hết hãy tự đăng nhập qua nhà cung cấp, để bạn không bị chặn.",
    requirementNotSetUp: "Hãy lưu nhà cung cấp và xác minh một tên miền trước.",

    domainsText:
      "Hãy xác minh từng tên miền bằng một bản ghi TXT. Trước đó, địa chỉ của tên miền chưa dẫn đến nhà cung cấp của bạn.",
    verifyOne: (domain) => `Kiểm tra bản ghi của ${domain}`,
    dropOne: (domain) => `Xoá ${domain}`,
    dropSure: (domain) =>
      `Xoá ${domain}? Người có địa chỉ thuộc tên miền này sẽ không đăng nhập tại nhà cung cấp của bạn nữa.`,
    domainInvalid: "Đây không phải tên miền, ví dụ example.com.",
    tooManyDomains: "Mỗi tổ chức có nhiều nhất 20 tên miền.",
    verifications: {
      no_record: (domain) =>
        `Không tìm thấy bản ghi của ${domain}. Bản ghi mới có thể mất một giờ mới đến nơi.`,
      taken: (domain) => `Một tổ chức khác đã xác minh ${domain}, và bản ghi của họ vẫn còn.`,
      gone: (domain) => `${domain} không còn trong danh sách của bạn.`,
      busy: (domain) => `${domain} vừa được thay đổi. Hãy thử lại.`,
    },
    done: {
      saved: "Đã lưu nhà cung cấp.",
      removed: "Đã xoá nhà cung cấp.",
      required: "Từ bây giờ thành viên chỉ vào được qua nhà cung cấp của bạn.",
      notRequired: "Thành viên lại vào được bằng mọi cách.",
      added: "Đã thêm tên miền. Bây giờ hãy công bố bản ghi.",
      verified: "Đã xác minh tên miền.",
      dropped: "Đã xoá tên miền.",
    },
  },
});
