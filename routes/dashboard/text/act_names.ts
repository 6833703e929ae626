/** The acts of the table of roles in plain words, for the pages and for `docs/roles.md`. */
import type { Act, Reach } from "../../../core/people/organisations/acts.ts";
import { defineTexts } from "./i18n.ts";

type ActNames = Readonly<Record<Act, string>>;

export const actNames = defineTexts<ActNames>({
  en: {
    view_usage: "See usage, calls, receipts and charts",
    view_keys: "See API keys, without their secrets",
    view_money: "See the balance, top-ups and statements",
    view_invoices: "See VAT invoices and billing details",
    view_members: "See members, invitations and teams",
    call_models: "Call models in the playground",
    change_keys: "Create, change, rotate and revoke API keys, and show their secrets",
    top_up: "Top up, redeem vouchers, set the low-balance warning",
    change_invoices: "Request VAT invoices, change billing details",
    change_members: "Invite and remove people, change their roles, change teams",
    change_organisation:
      "Change the name, company sign-in, the second-factor rule and the rules of API keys",
    change_presets: "See and change presets",
    change_budgets: "Change budgets and required tags",
    view_budgets: "See budgets and required tags",
    change_webhooks: "See and change webhooks, read their log",
    change_management_keys: "See, create and revoke management keys",
    view_activity: "See who did what",
    export_organisation: "Download all data",
    hand_over: "Hand over the ownership",
    delete_organisation: "Delete the organisation",
  },
  vi: {
    view_usage: "Xem mức sử dụng, lượt gọi, biên nhận và biểu đồ",
    view_keys: "Xem khoá API, không kèm bí mật",
    view_money: "Xem số dư, các lần nạp và sao kê",
    view_invoices: "Xem hoá đơn VAT và thông tin hoá đơn",
    view_members: "Xem thành viên, lời mời và nhóm",
    call_models: "Gọi mô hình trong playground",
    change_keys: "Tạo, sửa, cấp lại, thu hồi khoá API và xem lại khoá đầy đủ",
    top_up: "Nạp tiền, dùng mã quà tặng, đặt mức báo số dư thấp",
    change_invoices: "Yêu cầu hoá đơn VAT, sửa thông tin hoá đơn",
    change_members: "Mời và xoá thành viên, đổi vai trò, sửa nhóm",
    change_organisation:
      "Đổi tên, đăng nhập công ty, yêu cầu đăng nhập hai bước và quy tắc khoá API",
    change_presets: "Xem và sửa preset",
    change_budgets: "Sửa ngân sách và các tag bắt buộc",
    view_budgets: "Xem ngân sách và các tag bắt buộc",
    change_webhooks: "Xem và sửa webhook, đọc nhật ký gửi",
    change_management_keys: "Xem, tạo và thu hồi khoá quản trị",
    view_activity: "Xem ai đã làm gì",
    export_organisation: "Tải toàn bộ dữ liệu",
    hand_over: "Chuyển quyền sở hữu",
    delete_organisation: "Xoá tổ chức",
  },
});

/** On whose things a role may do an act. `own`: only on what the member has made. */
export const reachNames = defineTexts<Readonly<Record<Reach, string>>>({
  en: { all: "yes", own: "own", no: "–" },
  vi: { all: "có", own: "của mình", no: "–" },
});
