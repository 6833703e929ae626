/** The texts of mails in both languages. Plain sentences; the layout is in `compose.ts`. */
import type { Locale } from "../../lib/base/locale.ts";
import { formatMoneyShort } from "../../billing/money/display.ts";
import type { Mail, MailJob } from "./mail.ts";

/** The parts of a mail before it is laid out. */
export interface RenderedMail {
  readonly subject: string;
  readonly paragraphs: readonly string[];
  /** The one action that the mail offers. */
  readonly action?: { readonly label: string; readonly url: string };
  /** In small print. */
  readonly note?: string;
}

type Job<Kind extends MailJob["kind"]> = Extract<MailJob, { kind: Kind }>;
type Writer<Kind extends MailJob["kind"]> = (
  job: Job<Kind>,
  url: string,
  support: string | undefined,
) => RenderedMail;
type Writers = { readonly [Kind in MailJob["kind"]]: Writer<Kind> };

/**
 * The page to which the link of each mail leads; `#token=…` is added where the mail carries one.
 */
export const templatePaths: Readonly<Record<MailJob["kind"], string>> = {
  sign_up: "/verify",
  already_registered: "/sign-in",
  reset_password: "/reset",
  sign_in_link: "/sign-in/mail",
  password_changed: "/forgot",
  change_email: "/account/email/confirm",
  email_changed: "/account",
  low_balance: "/wallet",
  topup_credited: "/wallet",
  invoice_issued: "/invoices",
  invoice_rejected: "/invoices",
  key_changed: "/keys",
  wallet_adjusted: "/wallet/statement",
};

const english: Writers = {
  sign_up: (_, url) => ({
    subject: "Confirm your email address",
    paragraphs: ["Welcome. Confirm this address to finish creating your account."],
    action: { label: "Confirm the address", url },
    note:
      "The link works once, for 24 hours. If you did not sign up, ignore this email: no account is created.",
  }),
  already_registered: (_, url) => ({
    subject: "You already have an account",
    paragraphs: [
      "Somebody, probably you, tried to create an account with this address. It already has one.",
      "Sign in with your password, or choose “Forgot your password?” on that page.",
    ],
    action: { label: "Sign in", url },
  }),
  reset_password: (_, url) => ({
    subject: "Choose a new password",
    paragraphs: ["You asked for a new password. All other browsers will be signed out."],
    action: { label: "Choose a new password", url },
    note:
      "The link works once, for 30 minutes. If you did not ask for it, ignore this email: nothing changes.",
  }),
  sign_in_link: (_, url) => ({
    subject: "Your link to sign in",
    paragraphs: ["This link signs you in without a password. Your password stays as it is."],
    action: { label: "Sign in", url },
    note:
      "The link works once, for 30 minutes. If you did not ask for it, ignore this email: only its reader can use it.",
  }),
  password_changed: (_, url) => ({
    subject: "Your password was changed",
    paragraphs: [
      "The password of your account was just changed, and all other browsers were signed out.",
      "If that was not you, choose a new password at once.",
    ],
    action: { label: "I did not do this", url },
  }),
  change_email: (_, url) => ({
    subject: "Confirm your new email address",
    paragraphs: ["Confirm this address to use it for your account from now on."],
    action: { label: "Confirm the address", url },
    note: "The link works once, for 24 hours. If you did not ask for it, ignore this email.",
  }),
  email_changed: (job, _, support) => ({
    subject: "The email address of your account was changed",
    paragraphs: [
      `Your account now uses ${job.newEmail}. This address no longer opens it.`,
      ...(support === undefined ? [] : [`If that was not you, write to ${support} at once.`]),
    ],
  }),
  low_balance: (job, url) => ({
    subject: "Your wallet is running low",
    paragraphs: [
      `${
        formatMoneyShort(job.balanceMicroVnd, "en")
      } is left in your wallet, less than the mark you set.`,
      "When it is empty, calls are refused until you top up. Your keys stay as they are.",
    ],
    action: { label: "Top up", url },
  }),
  topup_credited: (job, url) => ({
    subject: `${formatMoneyShort(job.amountMicroVnd, "en")} has arrived`,
    paragraphs: [
      `Your transfer of ${formatMoneyShort(job.amountMicroVnd, "en")}${
        job.orderCode === undefined ? "" : ` for order ${job.orderCode}`
      } is in your wallet.`,
    ],
    action: { label: "Open the wallet", url },
  }),
  invoice_issued: (job, url) => ({
    subject: `VAT invoice ${job.invoiceNumber}`,
    paragraphs: [
      `Your VAT invoice ${job.invoiceNumber}${
        job.orderCode === undefined ? "" : ` for order ${job.orderCode}`
      } has been issued.${
        job.invoiceId === undefined ? " You can download it from your account." : ""
      }`,
    ],
    action: { label: job.invoiceId === undefined ? "Open invoices" : "Open the invoice", url },
    ...(job.invoiceId !== undefined && {
      note:
        "The link shows this invoice and its files for 30 days, without signing in. Pass it on only to those who may see them.",
    }),
  }),
  invoice_rejected: (job, url) => ({
    subject: "Your invoice request needs a correction",
    paragraphs: ["We could not issue the VAT invoice you asked for.", `Reason: ${job.reason}`],
    action: { label: "Open invoices", url },
  }),
  key_changed: ({ change, keyName, masked }, url) => ({
    subject: {
      made: `New API key: ${keyName}`,
      rotated: `API key rotated: ${keyName}`,
      revoked: `API key revoked: ${keyName}`,
    }[change],
    paragraphs: [
      {
        made:
          `The API key “${keyName}” (${masked}) was created. Whoever has it can spend your balance.`,
        rotated:
          `The API key “${keyName}” has a new secret (${masked}). The old one works until its grace period ends.`,
        revoked: `The API key “${keyName}” (${masked}) was revoked. Calls with it are refused.`,
      }[change],
      "If that was not you, change your password and revoke keys you do not know.",
    ],
    action: { label: "Open API keys", url },
  }),
  wallet_adjusted: ({ amountMicroVnd, reason }, url) => ({
    subject: amountMicroVnd > 0n
      ? `${formatMoneyShort(amountMicroVnd, "en")} was credited to your wallet`
      : `${formatMoneyShort(-amountMicroVnd, "en")} was taken from your wallet`,
    paragraphs: [
      amountMicroVnd > 0n
        ? `We credited ${formatMoneyShort(amountMicroVnd, "en")} to your wallet.`
        : `We corrected your wallet by −${formatMoneyShort(-amountMicroVnd, "en")}.`,
      `Reason: ${reason}`,
    ],
    action: { label: "Open the statement", url },
  }),
};

const vietnamese: Writers = {
  sign_up: (_, url) => ({
    subject: "Xác nhận địa chỉ email",
    paragraphs: ["Chào mừng bạn. Hãy xác nhận địa chỉ này để hoàn tất việc tạo tài khoản."],
    action: { label: "Xác nhận địa chỉ", url },
    note:
      "Liên kết dùng được một lần, trong 24 giờ. Nếu bạn không đăng ký, hãy bỏ qua thư này: không có tài khoản nào được tạo.",
  }),
  already_registered: (_, url) => ({
    subject: "Bạn đã có tài khoản",
    paragraphs: [
      "Có người, có lẽ là bạn, vừa tạo tài khoản bằng địa chỉ này. Địa chỉ này đã có tài khoản rồi.",
      "Hãy đăng nhập bằng mật khẩu, hoặc chọn “Quên mật khẩu?” trên trang đó.",
    ],
    action: { label: "Đăng nhập", url },
  }),
  reset_password: (_, url) => ({
    subject: "Đặt mật khẩu mới",
    paragraphs: ["Bạn vừa yêu cầu mật khẩu mới. Mọi trình duyệt khác sẽ bị đăng xuất."],
    action: { label: "Đặt mật khẩu mới", url },
    note:
      "Liên kết dùng được một lần, trong 30 phút. Nếu bạn không yêu cầu, hãy bỏ qua thư này: không có gì thay đổi.",
  }),
  sign_in_link: (_, url) => ({
    subject: "Liên kết đăng nhập của bạn",
    paragraphs: ["Liên kết này đăng nhập cho bạn mà không cần mật khẩu. Mật khẩu giữ nguyên."],
    action: { label: "Đăng nhập", url },
    note:
      "Liên kết dùng được một lần, trong 30 phút. Nếu bạn không yêu cầu, hãy bỏ qua thư này: không ai khác dùng được liên kết.",
  }),
  password_changed: (_, url) => ({
    subject: "Mật khẩu của bạn đã được đổi",
    paragraphs: [
      "Mật khẩu tài khoản của bạn vừa được đổi, và mọi trình duyệt khác đã bị đăng xuất.",
      "Nếu không phải bạn, hãy đặt mật khẩu mới ngay.",
    ],
    action: { label: "Không phải tôi", url },
  }),
  change_email: (_, url) => ({
    subject: "Xác nhận địa chỉ email mới",
    paragraphs: ["Hãy xác nhận địa chỉ này để dùng nó cho tài khoản của bạn từ nay."],
    action: { label: "Xác nhận địa chỉ", url },
    note: "Liên kết dùng được một lần, trong 24 giờ. Nếu bạn không yêu cầu, hãy bỏ qua thư này.",
  }),
  email_changed: (job, _, support) => ({
    subject: "Địa chỉ email của tài khoản đã được đổi",
    paragraphs: [
      `Tài khoản của bạn nay dùng ${job.newEmail}. Địa chỉ này không còn mở được tài khoản.`,
      ...(support === undefined ? [] : [`Nếu không phải bạn, hãy liên hệ ${support} ngay.`]),
    ],
  }),
  low_balance: (job, url) => ({
    subject: "Ví của bạn sắp hết tiền",
    paragraphs: [
      `Ví của bạn còn ${formatMoneyShort(job.balanceMicroVnd, "vi")}, dưới mức bạn đã đặt.`,
      "Khi hết tiền, các lượt gọi bị từ chối cho đến khi bạn nạp thêm. Khoá API của bạn vẫn giữ nguyên.",
    ],
    action: { label: "Nạp tiền", url },
  }),
  topup_credited: (job, url) => ({
    subject: `Đã nhận ${formatMoneyShort(job.amountMicroVnd, "vi")}`,
    paragraphs: [
      `Khoản chuyển ${formatMoneyShort(job.amountMicroVnd, "vi")}${
        job.orderCode === undefined ? "" : ` cho đơn ${job.orderCode}`
      } đã vào ví của bạn.`,
    ],
    action: { label: "Mở ví", url },
  }),
  invoice_issued: (job, url) => ({
    subject: `Hoá đơn GTGT ${job.invoiceNumber}`,
    paragraphs: [
      `Hoá đơn GTGT ${job.invoiceNumber}${
        job.orderCode === undefined ? "" : ` cho đơn ${job.orderCode}`
      } đã được phát hành.${job.invoiceId === undefined ? " Bạn có thể tải về từ tài khoản." : ""}`,
    ],
    action: { label: "Mở hoá đơn", url },
    ...(job.invoiceId !== undefined && {
      note:
        "Liên kết cho xem hoá đơn này và các tệp trong 30 ngày, không cần đăng nhập. Chỉ chuyển cho người được phép xem.",
    }),
  }),
  invoice_rejected: (job, url) => ({
    subject: "Yêu cầu hoá đơn cần chỉnh sửa",
    paragraphs: ["Chúng tôi chưa thể phát hành hoá đơn GTGT bạn yêu cầu.", `Lý do: ${job.reason}`],
    action: { label: "Mở hoá đơn", url },
  }),
  key_changed: ({ change, keyName, masked }, url) => ({
    subject: {
      made: `Khoá API mới: ${keyName}`,
      rotated: `Đã cấp lại khoá API: ${keyName}`,
      revoked: `Đã thu hồi khoá API: ${keyName}`,
    }[change],
    paragraphs: [
      {
        made:
          `Khoá API “${keyName}” (${masked}) vừa được tạo. Ai có khoá này đều tiêu được số dư của bạn.`,
        rotated:
          `Khoá API “${keyName}” có khoá mới (${masked}). Khoá cũ dùng được đến hết thời gian chuyển tiếp.`,
        revoked:
          `Khoá API “${keyName}” (${masked}) đã bị thu hồi. Lượt gọi bằng khoá này bị từ chối.`,
      }[change],
      "Nếu không phải bạn, hãy đổi mật khẩu và thu hồi những khoá bạn không biết.",
    ],
    action: { label: "Mở danh sách khoá API", url },
  }),
  wallet_adjusted: ({ amountMicroVnd, reason }, url) => ({
    subject: amountMicroVnd > 0n
      ? `Ví của bạn được cộng ${formatMoneyShort(amountMicroVnd, "vi")}`
      : `Ví của bạn bị trừ ${formatMoneyShort(-amountMicroVnd, "vi")}`,
    paragraphs: [
      amountMicroVnd > 0n
        ? `Chúng tôi đã cộng ${formatMoneyShort(amountMicroVnd, "vi")} vào ví của bạn.`
        : `Chúng tôi đã điều chỉnh ví của bạn: −${formatMoneyShort(-amountMicroVnd, "vi")}.`,
      `Lý do: ${reason}`,
    ],
    action: { label: "Mở sao kê", url },
  }),
};

const writers: Readonly<Record<Locale, Writers>> = { en: english, vi: vietnamese };

function write<Kind extends MailJob["kind"]>(
  table: Writers,
  job: Job<Kind>,
  url: string,
  support: string | undefined,
): RenderedMail {
  const writer: Writer<Kind> = table[job.kind as Kind];
  return writer(job, url, support);
}

/**
 * Renders the mail of a job in its language.
 *
 * @param url the target of its link, token included
 * @param support the support contact, if one is set
 */
export function renderTemplate(job: MailJob, url: string, support?: string): RenderedMail {
  return write(writers[job.locale], job, url, support);
}

// Lays out a mail as plain text and as HTML that every mail client displays.

const brand = "Model Gateway";

/** The last line: who writes, and where to ask. */
function signature(locale: Locale, support: string | undefined): string {
  if (support === undefined) return brand;
  return `${brand} · ${locale === "vi" ? "Hỗ trợ" : "Support"}: ${support}`;
}

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/**
 * Composes a mail from its rendered parts.
 *
 * @example
 * ```ts
 * import { composeMail } from "./templates.ts";
 * const content = { subject: "Hi", paragraphs: ["1 < 2"], action: { label: "Go", url: "https://gw.example/x" } };
 * const mail = composeMail(content, { id: "1", to: "ann@example.com", locale: "en" });
 * if (!mail.text.includes("https://gw.example/x") || !mail.html.includes("1 &lt; 2")) throw new Error();
 * ```
 */
export function composeMail(
  content: RenderedMail,
  to: {
    readonly id: string;
    readonly to: string;
    readonly locale: Locale;
    /** The support contact, if one is set. */
    readonly support?: string | undefined;
  },
): Mail {
  const signed = signature(to.locale, to.support);
  return {
    id: to.id,
    to: to.to,
    // A line break ends a header line, so none may come in from a number or a typed reason.
    subject: content.subject.replace(/\s+/g, " ").trim(),
    text: plainText(content, signed),
    html: html(content, to.locale, signed),
  };
}

function plainText(content: RenderedMail, signed: string): string {
  const parts = [...content.paragraphs];
  if (content.action !== undefined) parts.push(`${content.action.label}:\n${content.action.url}`);
  if (content.note !== undefined) parts.push(content.note);
  return `${parts.join("\n\n")}\n\n-- \n${signed}\n`;
}

function html(content: RenderedMail, locale: Locale, signed: string): string {
  const paragraph = (text: string, style = "margin:0 0 16px") =>
    `<p style="${style}">${escapeHtml(text)}</p>`;
  const body = content.paragraphs.map((text) => paragraph(text));
  if (content.action !== undefined) {
    const url = escapeHtml(content.action.url);
    const button =
      "display:inline-block;padding:11px 20px;border-radius:8px;background:#0f766e;color:#ffffff;" +
      "font-weight:600;text-decoration:none";
    body.push(
      `<p style="margin:24px 0"><a href="${url}" style="${button}">${
        escapeHtml(content.action.label)
      }</a></p>`,
      `<p style="margin:0 0 16px;color:#5a6775;font-size:13px;word-break:break-all">${url}</p>`,
    );
  }
  if (content.note !== undefined) {
    body.push(paragraph(content.note, "margin:0 0 16px;color:#5a6775;font-size:13px"));
  }
  return `<!DOCTYPE html><html lang="${locale}"><head><meta charset="utf-8"><title>${
    escapeHtml(content.subject)
  }</title></head><body style="margin:0;padding:24px;background:#f6f7f8;color:#273340;` +
    `font:15px/1.55 -apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif">` +
    `<div style="max-width:520px;margin:0 auto;padding:28px;background:#ffffff;border:1px solid #e2e6ea;` +
    `border-radius:14px"><p style="margin:0 0 20px;color:#0f766e;font-weight:700">${brand}</p>` +
    `${body.join("")}<p style="margin:24px 0 0;color:#5a6775;font-size:13px">${
      escapeHtml(signed)
    }</p></div></body></html>`;
}
