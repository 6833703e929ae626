/** Texts of the frame of every page. */
import { defineTexts } from "../text/i18n.ts";

export const layoutTexts = defineTexts({
  both: {
    skip: ["Skip to content", "Đến nội dung chính"],
    navigation: ["Main", "Chính"],
    menu: ["Menu", "Trình đơn"],
    signIn: ["Sign in", "Đăng nhập"],
    signUp: ["Create account", "Tạo tài khoản"],
    signOut: ["Sign out", "Đăng xuất"],
    dashboard: ["Dashboard", "Bảng điều khiển"],
    language: ["Language", "Ngôn ngữ"],
    theme: ["Theme", "Giao diện"],
    themes: { auto: ["System", "Hệ thống"], light: ["Light", "Sáng"], dark: ["Dark", "Tối"] },
    docs: ["Docs", "Tài liệu"],
    status: ["Status", "Trạng thái"],
    proofs: ["Proofs", "Bằng chứng"],
    supplied: {
      terms: ["Terms", "Điều khoản"],
      privacy: ["Privacy", "Quyền riêng tư"],
      contact: ["Contact", "Liên hệ"],
      changelog: ["What is new", "Có gì mới"],
    },
    support: ["Support:", "Hỗ trợ:"],
    writeTo: ["Please write to", "Vui lòng liên hệ"],
    cancel: ["Cancel", "Huỷ"],
    confirm: ["Confirm", "Xác nhận"],
    companySignIn: ["Sign in with your company", "Đăng nhập bằng công ty của bạn"],
    searchHint: ["Search or jump to…", "Tìm hoặc đi tới…"],
    suggestions: ["Results", "Kết quả"],
    services: {
      operational: ["all models available", "mọi mô hình sẵn sàng"],
      degraded: ["some models have issues", "vài mô hình gặp sự cố"],
      incident: ["an incident is open", "đang có sự cố"],
      maintenance: ["maintenance", "đang bảo trì"],
    },
    balance: ["Balance:", "Số dư:"],
    topUp: ["Top up", "Nạp tiền"],
    wallet: ["Wallet", "Ví"],
    account: ["Account and security", "Tài khoản và bảo mật"],
    accountMenu: ["Account menu", "Trình đơn tài khoản"],
    operatorPages: ["Operator pages", "Trang vận hành"],
    places: ["Most used", "Hay dùng"],
    overview: ["Overview", "Tổng quan"],
    requests: ["Requests", "Lượt gọi"],
    groups: {
      build: ["Build", "Xây dựng"],
      observe: ["Observe", "Theo dõi"],
      manage: ["Manage", "Quản lý"],
      money: ["Money", "Tiền"],
      account: ["Account", "Tài khoản"],
    },
    organisations: ["Organisations", "Tổ chức"],
    sandboxMark: ["Sandbox", "Thử nghiệm"],
  },
  en: {
    footer: "One address, one key, one wallet in VND.",
    maintenance: "Maintenance: API calls are refused for now.",
    keptOutOf: (organisation: string) =>
      `${organisation} requires that you sign in with your company, so this session does not act for it.`,
    search: "Search: a request id, a page, a model, a key, a guide or an error code",
    balances: { enough: "Top up", low: "Low balance: top up", empty: "No balance: top up" },
    sandbox:
      "This gateway runs on its built-in test models and play money. No real provider is called.",
  },
  vi: {
    footer: "Một địa chỉ, một khoá API, một ví bằng VND.",
    maintenance: "Bảo trì: tạm thời API không nhận lượt gọi.",
    keptOutOf: (organisation) =>
      `${organisation} yêu cầu bạn đăng nhập bằng công ty, nên phiên này không làm việc cho tổ chức đó.`,
    search: "Tìm: mã lượt gọi, trang, mô hình, khoá API, hướng dẫn hoặc mã lỗi",
    balances: { enough: "Nạp tiền", low: "Số dư thấp: nạp tiền", empty: "Hết tiền: nạp tiền" },
    sandbox:
      "Cổng đang chạy với mô hình thử nghiệm có sẵn và tiền thử. Không gọi nhà cung cấp thật nào.",
  },
});
