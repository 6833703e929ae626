/** Texts of the activity log. */
import type { ActivityAct, Doer } from "../../../../kv/people/audit/account_activity.ts";
import { defineTexts } from "../../text/i18n.ts";

type Acts = Readonly<Record<ActivityAct, string>>;

const actsEn: Acts = {
  signed_in: "Signed in",
  sign_in_failed: "Wrong password",
  second_factor_failed: "Wrong second factor",
  password_changed: "Password changed",
  email_changed: "Email changed",
  mails_changed: "Mails changed",
  invoice_details_changed: "Invoice details changed",
  low_balance_mark_changed: "Low-balance mark changed",
  api_key_made: "API key created",
  api_key_changed: "API key changed",
  api_key_rotated: "API key replaced",
  api_key_revoked: "API key revoked",
  rate_limits_changed: "Rate limits changed",
  topup_order_made: "Top-up ordered",
  topup_order_cancelled: "Top-up order cancelled",
  invoice_requested: "Invoice requested",
  statement_exported: "Statement downloaded",
  activity_exported: "Activity downloaded",
  data_exported: "All data downloaded",
  deletion_requested: "Deletion requested",
  account_blocked: "Account blocked",
  account_unblocked: "Account unblocked",
  account_signed_out: "Signed out everywhere",
};
const actsVi: Acts = {
  signed_in: "Đăng nhập",
  sign_in_failed: "Sai mật khẩu",
  second_factor_failed: "Sai mã xác thực bước hai",
  password_changed: "Đổi mật khẩu",
  email_changed: "Đổi email",
  mails_changed: "Đổi thư nhận",
  invoice_details_changed: "Đổi thông tin hoá đơn",
  low_balance_mark_changed: "Đổi mức báo số dư thấp",
  api_key_made: "Tạo khoá API",
  api_key_changed: "Sửa khoá API",
  api_key_rotated: "Thay khoá API",
  api_key_revoked: "Thu hồi khoá API",
  rate_limits_changed: "Đổi giới hạn tốc độ",
  topup_order_made: "Tạo đơn nạp",
  topup_order_cancelled: "Huỷ đơn nạp",
  invoice_requested: "Yêu cầu hoá đơn",
  statement_exported: "Tải sao kê",
  activity_exported: "Tải nhật ký",
  data_exported: "Tải toàn bộ dữ liệu",
  deletion_requested: "Yêu cầu xoá",
  account_blocked: "Chặn tài khoản",
  account_unblocked: "Bỏ chặn tài khoản",
  account_signed_out: "Đăng xuất mọi nơi",
};

type Doers = Readonly<Record<Exclude<Doer["kind"], "person">, string>>;

const doersEn: Doers = { key: "API key", stranger: "Not signed in", operator: "The operator" };
const doersVi: Doers = { key: "Khoá API", stranger: "Chưa đăng nhập", operator: "Bên vận hành" };

export const activityTexts = defineTexts({
  en: {
    title: "Activity",
    lead: "Who did what in this account, from where, and what it was before. Kept for two years.",
    acts: actsEn,
    doers: doersEn,
    when: "Time",
    act: "Act",
    who: "Who",
    from: "From",
    change: "Before → after",
    none: "Nothing",
    nothing: "nothing",
    noneText: "No act fits.",
    anyAct: "Any act",
    person: "Email",
    show: "Show",
    csv: "Download CSV",
  },
  vi: {
    title: "Nhật ký",
    lead: "Ai đã làm gì trong tài khoản này, từ đâu, và trước đó thế nào. Lưu hai năm.",
    acts: actsVi,
    doers: doersVi,
    when: "Thời gian",
    act: "Thao tác",
    who: "Ai",
    from: "Từ",
    change: "Trước → sau",
    none: "Không có gì",
    nothing: "không có",
    noneText: "Không có thao tác nào phù hợp.",
    anyAct: "Mọi thao tác",
    person: "Email",
    show: "Xem",
    csv: "Tải CSV",
  },
});
