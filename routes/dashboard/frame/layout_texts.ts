/** Texts of the frame of every page. */
import { defineTexts } from "../i18n.ts";

export const layoutTexts = defineTexts({
  en: {
    brand: "Model Gateway",
    skip: "Skip to content",
    navigation: "Main",
    menu: "Menu",
    signIn: "Sign in",
    signUp: "Create account",
    signOut: "Sign out",
    dashboard: "Dashboard",
    language: "Language",
    theme: "Colours",
    themes: { auto: "System", light: "Light", dark: "Dark" },
    footer: "One address, one key, one wallet in VND.",
    support: "Support:",
    writeTo: "Please write to",
    cancel: "Cancel",
    confirm: "Confirm",
    maintenance: "Maintenance: API calls are refused for now.",
    sandbox:
      "This gateway runs on its built-in test models and play money. No real provider is called.",
  },
  vi: {
    brand: "Model Gateway",
    skip: "Đến nội dung chính",
    navigation: "Chính",
    menu: "Trình đơn",
    signIn: "Đăng nhập",
    signUp: "Tạo tài khoản",
    signOut: "Đăng xuất",
    dashboard: "Bảng điều khiển",
    language: "Ngôn ngữ",
    theme: "Giao diện",
    themes: { auto: "Hệ thống", light: "Sáng", dark: "Tối" },
    footer: "Một địa chỉ, một khoá API, một ví bằng đồng.",
    support: "Hỗ trợ:",
    writeTo: "Vui lòng liên hệ",
    cancel: "Huỷ",
    confirm: "Xác nhận",
    maintenance: "Bảo trì: tạm thời API không nhận lượt gọi.",
    sandbox:
      "Cổng đang chạy với mô hình thử nghiệm có sẵn và tiền thử. Không gọi nhà cung cấp thật nào.",
  },
});
