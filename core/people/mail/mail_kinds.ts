/**
 * Every kind of mail in one table: who reads it, whether it can be switched off, the page its link leads to, its name
 * on pages, and its text in both languages.
 */
import type { Locale } from "../../lib/base/locale.ts";
import { formatDecimal, formatMoneyShort } from "../../billing/money/display.ts";
import { vietnamDay, vietnamOffsetMs } from "../../lib/time/vietnam_time.ts";
import type { BudgetWindow } from "../../limits/budgets.ts";
import { parseUrl } from "../../lib/runtime/built_ins.ts";
import type { GivenRole, Role } from "../organisations/acts.ts";
import { normaliseEmail } from "../accounts/email_address.ts";
import type { MailJob, MailKind } from "./mail.ts";

/** The parts of a mail before it is laid out. */
export interface RenderedMail {
  readonly subject: string;
  /** The organisation that the mail is about, where the text itself does not name it. */
  readonly about?: string;
  readonly paragraphs: readonly string[];
  /** The one action that the mail offers. */
  readonly action?: { readonly label: string; readonly url: string };
  /** In small print. */
  readonly note?: string;
}

type Job<Kind extends MailKind> = Extract<MailJob, { kind: Kind }>;
type Writer<Kind extends MailKind> = (
  job: Job<Kind>,
  url: string,
  support: string | undefined,
) => RenderedMail;

/** Readers of a kind of mail. */
export type MailAudience = "customer" | "operator" | "subscriber";

/**
 * Why a kind of mail cannot be switched off. `security`: it tells the owner what somebody else may have done.
 * `requested`: its reader asks for each one.
 */
export type AlwaysSent = "security" | "requested";

/** Entry of a kind of mail in the table. */
interface MailEntry<Kind extends MailKind> extends Readonly<Record<Locale, Writer<Kind>>> {
  readonly audience: MailAudience;
  /** Absent: its reader can switch it off. */
  readonly always?: AlwaysSent;
  /** To the person who signs in, about them; absent: about an organisation, whose owner reads it. */
  readonly isAboutPerson?: true;
  /** The page to which its link leads; `#token=…` is added where the mail carries one. */
  readonly path: string;
  /** On pages. */
  readonly name: Readonly<Record<Locale, string>>;
}

const englishMonths = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** Writes a day of Vietnam as `28 Nov 2026` or `28/11/2026`. */
function dayText(atMs: number, locale: Locale): string {
  const [year, month = "", day] = vietnamDay(atMs).split("-");
  return locale === "vi"
    ? `${day}/${month}/${year}`
    : `${Number(day)} ${englishMonths[Number(month) - 1]} ${year}`;
}

/** Writes a minute of Vietnam. */
function minuteText(atMs: number, locale: Locale): string {
  const time = new Date(atMs + vietnamOffsetMs).toISOString().slice(11, 16);
  return `${time}, ${dayText(atMs, locale)}`;
}

/** Returns the host of a URL, for a subject. */
function hostOf(url: string): string {
  return parseUrl(url)?.host ?? "";
}

/** Writes an amount that a limit counts. */
function limitText({ meter, limit, locale }: Job<"limit_reached">): string {
  if (meter === "money") return formatMoneyShort(limit, locale);
  const count = formatDecimal(limit.toString(), locale);
  return locale === "vi" ? `${count} ảnh` : `${count} ${limit === 1n ? "image" : "images"}`;
}

const windowTexts: Readonly<Record<BudgetWindow, Readonly<Record<Locale, string>>>> = {
  day: { en: "per day", vi: "mỗi ngày" },
  week: { en: "per week", vi: "mỗi tuần" },
  month: { en: "per month", vi: "mỗi tháng" },
  total: { en: "in total", vi: "tổng cộng" },
};

/** The roles as they stand in a sentence about a member. */
const roleTexts: Readonly<Record<Role, Readonly<Record<Locale, string>>>> = {
  owner: { en: "the owner", vi: "chủ sở hữu" },
  admin: { en: "an admin", vi: "quản trị viên" },
  developer: { en: "a developer", vi: "lập trình viên" },
  billing: { en: "in charge of billing", vi: "kế toán" },
  viewer: { en: "a viewer", vi: "người xem" },
};

/** Work of each role, for those who are invited to it. */
const roleWork: Readonly<Record<GivenRole, Readonly<Record<Locale, string>>>> = {
  admin: {
    en: "you manage members, API keys and money",
    vi: "bạn quản lý thành viên, khoá API và tiền",
  },
  developer: {
    en: "you create API keys and see their calls",
    vi: "bạn tạo khoá API và xem các lượt gọi",
  },
  billing: {
    en: "you top up, and see invoices and costs",
    vi: "bạn nạp tiền, xem hoá đơn và chi phí",
  },
  viewer: { en: "you see calls and costs", vi: "bạn xem các lượt gọi và chi phí" },
};

/** The balance after a top-up, as a sentence. */
function balanceText({ balanceMicroVnd, locale }: Job<"topup_credited">): string[] {
  if (balanceMicroVnd === undefined) return [];
  const balance = formatMoneyShort(balanceMicroVnd, locale);
  return [locale === "vi" ? `Số dư mới: ${balance}.` : `The new balance is ${balance}.`];
}

/** Effect of a used-up budget, and the end of its window. */
function budgetEndText(
  { atLimit, resetsAtMs, locale }: Job<"budget_reached" | "budget_exhausted">,
  isOver: boolean,
): string {
  const until = resetsAtMs === undefined ? undefined : minuteText(resetsAtMs, locale);
  if (locale === "vi") {
    const reset = until === undefined ? "" : ` Kỳ mới bắt đầu lúc ${until} (giờ Việt Nam).`;
    const end = atLimit === "tell"
      ? "Các lượt gọi vẫn tiếp tục."
      : isOver
      ? "Lượt gọi vượt ngân sách này bị từ chối."
      : "Khi dùng hết, lượt gọi thuộc ngân sách này bị từ chối.";
    return `${end}${reset}`;
  }
  const reset = until === undefined ? "" : ` It resets at ${until} (Vietnam time).`;
  const end = atLimit === "tell"
    ? "Calls continue."
    : isOver
    ? "Calls beyond it are refused."
    : "When it is used up, calls that count in it are refused.";
  return `${end}${reset}`;
}

/** Owner of a wallet, as it stands in a sentence. */
function walletText({ about, locale }: Pick<MailJob, "about" | "locale">): string {
  const name = about?.organisation;
  if (locale === "vi") return name === undefined ? "ví của bạn" : `ví của “${name}”`;
  return name === undefined ? "your wallet" : `the wallet of “${name}”`;
}

/** A text that begins a sentence. */
function capitalised(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** The sentences about credit that was given. */
function creditText(job: Job<"bonus_credited" | "voucher_redeemed">): string[] {
  const { amountMicroVnd, campaign, expiresAtMs, locale } = job;
  const amount = formatMoneyShort(amountMicroVnd, locale);
  const until = expiresAtMs === undefined ? undefined : dayText(expiresAtMs, locale);
  return locale === "vi"
    ? [
      `${amount} từ “${campaign}” đã vào ${walletText(job)}.`,
      until === undefined ? "Khoản này không hết hạn." : `Hãy dùng trước ngày ${until}.`,
    ]
    : [
      `${amount} from “${campaign}” is in ${walletText(job)}.`,
      until === undefined ? "It does not expire." : `Use it before ${until}.`,
    ];
}

/** Change as a sentence without its end. */
const secondFactorChanges: Readonly<
  Record<Job<"second_factor_changed">["change"], Readonly<Record<Locale, string>>>
> = {
  app_added: {
    en: "An authenticator app was set up for your account",
    vi: "Tài khoản của bạn vừa được thiết lập một ứng dụng xác thực",
  },
  app_removed: {
    en: "The authenticator app of your account was switched off",
    vi: "Ứng dụng xác thực của tài khoản bạn vừa bị tắt",
  },
  passkey_added: {
    en: "A passkey was added to your account",
    vi: "Tài khoản của bạn vừa được thêm một passkey",
  },
  passkey_removed: {
    en: "A passkey of your account was removed",
    vi: "Một passkey của tài khoản bạn vừa bị xoá",
  },
  codes_made: {
    en: "New recovery codes were made for your account, and the earlier ones ended",
    vi: "Tài khoản của bạn vừa có mã khôi phục mới, các mã cũ đã hết hiệu lực",
  },
  recovery_code_used: {
    en: "A recovery code of your account was used and has ended",
    vi: "Một mã khôi phục của tài khoản bạn vừa được dùng và đã hết hiệu lực",
  },
};

const table: { readonly [Kind in MailKind]: MailEntry<Kind> } = {
  sign_up: {
    audience: "customer",
    always: "requested",
    path: "/verify",
    name: { en: "Confirm the address", vi: "Xác nhận địa chỉ" },
    en: (_, url) => ({
      subject: "Confirm your email address",
      paragraphs: ["Welcome. Confirm this address to finish creating your account."],
      action: { label: "Confirm the address", url },
      note:
        "The link works once, for 24 hours. If you did not sign up, ignore this email: no account is created.",
    }),
    vi: (_, url) => ({
      subject: "Xác nhận địa chỉ email",
      paragraphs: ["Chào mừng bạn. Hãy xác nhận địa chỉ này để hoàn tất việc tạo tài khoản."],
      action: { label: "Xác nhận địa chỉ", url },
      note:
        "Liên kết dùng được một lần, trong 24 giờ. Nếu bạn không đăng ký, hãy bỏ qua thư này: không có tài khoản nào được tạo.",
    }),
  },
  already_registered: {
    audience: "customer",
    always: "requested",
    path: "/sign-in",
    name: { en: "Already registered", vi: "Đã đăng ký trước đó" },
    en: (_, url) => ({
      subject: "You already have an account",
      paragraphs: [
        "Somebody, probably you, tried to create an account with this address. It already has one.",
        "Sign in with your password, or choose “Forgot your password?” on that page.",
      ],
      action: { label: "Sign in", url },
    }),
    vi: (_, url) => ({
      subject: "Bạn đã có tài khoản",
      paragraphs: [
        "Có người, có lẽ là bạn, vừa tạo tài khoản bằng địa chỉ này. Địa chỉ này đã có tài khoản rồi.",
        "Hãy đăng nhập bằng mật khẩu, hoặc chọn “Quên mật khẩu?” trên trang đó.",
      ],
      action: { label: "Đăng nhập", url },
    }),
  },
  reset_password: {
    audience: "customer",
    always: "requested",
    path: "/reset",
    name: { en: "New password", vi: "Mật khẩu mới" },
    en: (_, url) => ({
      subject: "Choose a new password",
      paragraphs: ["You asked for a new password. All other browsers will be signed out."],
      action: { label: "Choose a new password", url },
      note:
        "The link works once, for 30 minutes. If you did not ask for it, ignore this email: nothing changes.",
    }),
    vi: (_, url) => ({
      subject: "Đặt mật khẩu mới",
      paragraphs: ["Bạn vừa yêu cầu mật khẩu mới. Mọi trình duyệt khác sẽ bị đăng xuất."],
      action: { label: "Đặt mật khẩu mới", url },
      note:
        "Liên kết dùng được một lần, trong 30 phút. Nếu bạn không yêu cầu, hãy bỏ qua thư này: không có gì thay đổi.",
    }),
  },
  sign_in_link: {
    audience: "customer",
    always: "requested",
    path: "/sign-in/mail",
    name: { en: "Sign-in link", vi: "Liên kết đăng nhập" },
    en: (_, url) => ({
      subject: "Your link to sign in",
      paragraphs: ["This link signs you in without a password. Your password stays as it is."],
      action: { label: "Sign in", url },
      note:
        "The link works once, for 30 minutes. If you did not ask for it, ignore this email: only its reader can use it.",
    }),
    vi: (_, url) => ({
      subject: "Liên kết đăng nhập của bạn",
      paragraphs: ["Liên kết này đăng nhập cho bạn mà không cần mật khẩu. Mật khẩu giữ nguyên."],
      action: { label: "Đăng nhập", url },
      note:
        "Liên kết dùng được một lần, trong 30 phút. Nếu bạn không yêu cầu, hãy bỏ qua thư này: không ai khác dùng được liên kết.",
    }),
  },
  password_changed: {
    audience: "customer",
    always: "security",
    isAboutPerson: true,
    path: "/forgot",
    name: { en: "Password changed", vi: "Đã đổi mật khẩu" },
    en: (_, url) => ({
      subject: "Your password was changed",
      paragraphs: [
        "The password of your account was just changed, and all other browsers were signed out.",
        "If that was not you, choose a new password at once.",
      ],
      action: { label: "I did not do this", url },
    }),
    vi: (_, url) => ({
      subject: "Mật khẩu của bạn đã được đổi",
      paragraphs: [
        "Mật khẩu tài khoản của bạn vừa được đổi, và mọi trình duyệt khác đã bị đăng xuất.",
        "Nếu không phải bạn, hãy đặt mật khẩu mới ngay.",
      ],
      action: { label: "Không phải tôi", url },
    }),
  },
  change_email: {
    audience: "customer",
    always: "requested",
    path: "/account/email/confirm",
    name: { en: "Confirm the new address", vi: "Xác nhận địa chỉ mới" },
    en: (_, url) => ({
      subject: "Confirm your new email address",
      paragraphs: ["Confirm this address to use it for your account from now on."],
      action: { label: "Confirm the address", url },
      note: "The link works once, for 24 hours. If you did not ask for it, ignore this email.",
    }),
    vi: (_, url) => ({
      subject: "Xác nhận địa chỉ email mới",
      paragraphs: ["Hãy xác nhận địa chỉ này để dùng nó cho tài khoản của bạn từ nay."],
      action: { label: "Xác nhận địa chỉ", url },
      note: "Liên kết dùng được một lần, trong 24 giờ. Nếu bạn không yêu cầu, hãy bỏ qua thư này.",
    }),
  },
  email_changed: {
    audience: "customer",
    always: "security",
    isAboutPerson: true,
    path: "/account",
    name: { en: "Address changed", vi: "Đã đổi địa chỉ" },
    en: (job, _, support) => ({
      subject: "The email address of your account was changed",
      paragraphs: [
        `Your account now uses ${job.newEmail}. This address no longer opens it.`,
        ...(support === undefined ? [] : [`If that was not you, write to ${support} at once.`]),
      ],
    }),
    vi: (job, _, support) => ({
      subject: "Địa chỉ email của tài khoản đã được đổi",
      paragraphs: [
        `Tài khoản của bạn nay dùng ${job.newEmail}. Địa chỉ này không còn mở được tài khoản.`,
        ...(support === undefined ? [] : [`Nếu không phải bạn, hãy liên hệ ${support} ngay.`]),
      ],
    }),
  },
  low_balance: {
    audience: "customer",
    path: "/wallet",
    name: { en: "Low balance", vi: "Số dư thấp" },
    en: (job, url) => ({
      subject: job.about?.organisation === undefined
        ? "Your wallet is running low"
        : "The wallet is running low",
      paragraphs: [
        `${formatMoneyShort(job.balanceMicroVnd, "en")} is left in ${
          walletText(job)
        }, less than the mark that was set.`,
        "When it is empty, calls are refused until you top up. API keys stay as they are.",
      ],
      action: { label: "Top up", url },
    }),
    vi: (job, url) => ({
      subject: job.about?.organisation === undefined
        ? "Ví của bạn sắp hết tiền"
        : "Ví sắp hết tiền",
      paragraphs: [
        `${capitalised(walletText(job))} còn ${
          formatMoneyShort(job.balanceMicroVnd, "vi")
        }, dưới mức đã đặt.`,
        "Khi hết tiền, các lượt gọi bị từ chối cho đến khi bạn nạp thêm. Khoá API vẫn giữ nguyên.",
      ],
      action: { label: "Nạp tiền", url },
    }),
  },
  topup_credited: {
    audience: "customer",
    path: "/wallet",
    name: { en: "Top-up has arrived", vi: "Tiền nạp đã vào ví" },
    en: (job, url) => ({
      subject: `${formatMoneyShort(job.amountMicroVnd, "en")} has arrived`,
      paragraphs: [
        `The transfer of ${formatMoneyShort(job.amountMicroVnd, "en")}${
          job.orderCode === undefined ? "" : ` for order ${job.orderCode}`
        } is in ${walletText(job)}.`,
        ...balanceText(job),
      ],
      action: { label: "Open the wallet", url },
    }),
    vi: (job, url) => ({
      subject: `Đã nhận ${formatMoneyShort(job.amountMicroVnd, "vi")}`,
      paragraphs: [
        `Khoản chuyển ${formatMoneyShort(job.amountMicroVnd, "vi")}${
          job.orderCode === undefined ? "" : ` cho đơn ${job.orderCode}`
        } đã vào ${walletText(job)}.`,
        ...balanceText(job),
      ],
      action: { label: "Mở ví", url },
    }),
  },
  invoice_issued: {
    audience: "customer",
    path: "/invoices",
    name: { en: "Invoice issued", vi: "Đã phát hành hoá đơn" },
    en: (job, url) => ({
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
    vi: (job, url) => ({
      subject: `Hoá đơn GTGT ${job.invoiceNumber}`,
      paragraphs: [
        `Hoá đơn GTGT ${job.invoiceNumber}${
          job.orderCode === undefined ? "" : ` cho đơn ${job.orderCode}`
        } đã được phát hành.${
          job.invoiceId === undefined ? " Bạn có thể tải về từ tài khoản." : ""
        }`,
      ],
      action: { label: "Mở hoá đơn", url },
      ...(job.invoiceId !== undefined && {
        note:
          "Liên kết cho xem hoá đơn này và các tệp trong 30 ngày, không cần đăng nhập. Chỉ chuyển cho người được phép xem.",
      }),
    }),
  },
  invoice_rejected: {
    audience: "customer",
    path: "/invoices",
    name: { en: "Invoice rejected", vi: "Từ chối hoá đơn" },
    en: (job, url) => ({
      subject: "Your invoice request needs a correction",
      paragraphs: ["We could not issue the VAT invoice you asked for.", `Reason: ${job.reason}`],
      action: { label: "Open invoices", url },
    }),
    vi: (job, url) => ({
      subject: "Yêu cầu hoá đơn cần chỉnh sửa",
      paragraphs: [
        "Chúng tôi chưa thể phát hành hoá đơn GTGT bạn yêu cầu.",
        `Lý do: ${job.reason}`,
      ],
      action: { label: "Mở hoá đơn", url },
    }),
  },
  key_changed: {
    audience: "customer",
    always: "security",
    path: "/keys",
    name: { en: "API key changed", vi: "Khoá API thay đổi" },
    en: ({ change, keyName, masked }, url) => ({
      subject: {
        made: `New API key: ${keyName}`,
        rotated: `API key rotated: ${keyName}`,
        revoked: `API key revoked: ${keyName}`,
      }[change],
      paragraphs: [
        {
          made:
            `The API key “${keyName}” (${masked}) was created. Whoever has it can spend the balance.`,
          rotated:
            `The API key “${keyName}” has a new secret (${masked}). The old one works until its grace period ends.`,
          revoked: `The API key “${keyName}” (${masked}) was revoked. Calls with it are refused.`,
        }[change],
        "If that was not you, change your password and revoke keys you do not know.",
      ],
      action: { label: "Open API keys", url },
    }),
    vi: ({ change, keyName, masked }, url) => ({
      subject: {
        made: `Khoá API mới: ${keyName}`,
        rotated: `Đã cấp lại khoá API: ${keyName}`,
        revoked: `Đã thu hồi khoá API: ${keyName}`,
      }[change],
      paragraphs: [
        {
          made:
            `Khoá API “${keyName}” (${masked}) vừa được tạo. Ai có khoá này đều tiêu được số dư.`,
          rotated:
            `Khoá API “${keyName}” có khoá mới (${masked}). Khoá cũ dùng được đến hết thời gian chuyển tiếp.`,
          revoked:
            `Khoá API “${keyName}” (${masked}) đã bị thu hồi. Lượt gọi bằng khoá này bị từ chối.`,
        }[change],
        "Nếu không phải bạn, hãy đổi mật khẩu và thu hồi những khoá bạn không biết.",
      ],
      action: { label: "Mở danh sách khoá API", url },
    }),
  },
  wallet_adjusted: {
    audience: "customer",
    path: "/wallet/statement",
    name: { en: "Wallet corrected", vi: "Ví được điều chỉnh" },
    en: ({ amountMicroVnd, reason, ...job }, url) => ({
      subject: amountMicroVnd > 0n
        ? `${formatMoneyShort(amountMicroVnd, "en")} was credited to the wallet`
        : `${formatMoneyShort(-amountMicroVnd, "en")} was taken from the wallet`,
      paragraphs: [
        amountMicroVnd > 0n
          ? `We credited ${formatMoneyShort(amountMicroVnd, "en")} to ${walletText(job)}.`
          : `We corrected ${walletText(job)} by −${formatMoneyShort(-amountMicroVnd, "en")}.`,
        `Reason: ${reason}`,
      ],
      action: { label: "Open the statement", url },
    }),
    vi: ({ amountMicroVnd, reason, ...job }, url) => ({
      subject: amountMicroVnd > 0n
        ? `Ví được cộng ${formatMoneyShort(amountMicroVnd, "vi")}`
        : `Ví bị trừ ${formatMoneyShort(-amountMicroVnd, "vi")}`,
      paragraphs: [
        amountMicroVnd > 0n
          ? `Chúng tôi đã cộng ${formatMoneyShort(amountMicroVnd, "vi")} vào ${walletText(job)}.`
          : `Chúng tôi đã điều chỉnh ${walletText(job)}: −${
            formatMoneyShort(-amountMicroVnd, "vi")
          }.`,
        `Lý do: ${reason}`,
      ],
      action: { label: "Mở sao kê", url },
    }),
  },
  bonus_credited: {
    audience: "customer",
    path: "/wallet",
    name: { en: "Bonus credited", vi: "Được cộng tiền thưởng" },
    en: (job, url) => ({
      subject: `Bonus of ${formatMoneyShort(job.amountMicroVnd, "en")}`,
      paragraphs: creditText(job),
      action: { label: "Open the wallet", url },
    }),
    vi: (job, url) => ({
      subject: `Tiền thưởng ${formatMoneyShort(job.amountMicroVnd, "vi")}`,
      paragraphs: creditText(job),
      action: { label: "Mở ví", url },
    }),
  },
  voucher_redeemed: {
    audience: "customer",
    path: "/wallet",
    name: { en: "Voucher redeemed", vi: "Đã dùng mã quà tặng" },
    en: (job, url) => ({
      subject: `Voucher of ${formatMoneyShort(job.amountMicroVnd, "en")} redeemed`,
      paragraphs: creditText(job),
      action: { label: "Open the wallet", url },
    }),
    vi: (job, url) => ({
      subject: `Đã dùng mã quà tặng ${formatMoneyShort(job.amountMicroVnd, "vi")}`,
      paragraphs: creditText(job),
      action: { label: "Mở ví", url },
    }),
  },
  credit_expiring: {
    audience: "customer",
    path: "/wallet",
    name: { en: "Credit about to expire", vi: "Tiền được tặng sắp hết hạn" },
    en: ({ leftMicroVnd, campaign, expiresAtMs, ...job }, url) => ({
      subject: `${formatMoneyShort(leftMicroVnd, "en")} of credit expires on ${
        dayText(expiresAtMs, "en")
      }`,
      paragraphs: [
        `${formatMoneyShort(leftMicroVnd, "en")} is left of “${campaign}”. What is not spent by ${
          minuteText(expiresAtMs, "en")
        } (Vietnam time) is taken back. Money that was paid in stays in ${walletText(job)}.`,
      ],
      action: { label: "Open the wallet", url },
    }),
    vi: ({ leftMicroVnd, campaign, expiresAtMs, ...job }, url) => ({
      subject: `${formatMoneyShort(leftMicroVnd, "vi")} tiền được tặng hết hạn ngày ${
        dayText(expiresAtMs, "vi")
      }`,
      paragraphs: [
        `Còn ${formatMoneyShort(leftMicroVnd, "vi")} của “${campaign}”. Phần chưa dùng trước ${
          minuteText(expiresAtMs, "vi")
        } (giờ Việt Nam) sẽ bị thu lại. Tiền đã nạp vẫn giữ nguyên trong ${walletText(job)}.`,
      ],
      action: { label: "Mở ví", url },
    }),
  },
  new_browser: {
    audience: "customer",
    always: "security",
    isAboutPerson: true,
    path: "/account",
    name: { en: "Sign-in from a new browser", vi: "Đăng nhập từ trình duyệt mới" },
    en: ({ device, address, atMs }, url) => ({
      subject: "Sign-in from a new browser",
      paragraphs: [
        `Your account was signed in to from a browser that it has not used before: ${
          device || "unknown browser"
        }, IP address ${address}, at ${minuteText(atMs, "en")} (Vietnam time).`,
        "If that was not you, sign that browser out and change your password.",
      ],
      action: { label: "Check signed-in browsers", url },
    }),
    vi: ({ device, address, atMs }, url) => ({
      subject: "Đăng nhập từ trình duyệt mới",
      paragraphs: [
        `Tài khoản của bạn vừa được đăng nhập từ một trình duyệt chưa từng dùng: ${
          device || "không rõ trình duyệt"
        }, địa chỉ IP ${address}, lúc ${minuteText(atMs, "vi")} (giờ Việt Nam).`,
        "Nếu không phải bạn, hãy đăng xuất trình duyệt đó và đổi mật khẩu.",
      ],
      action: { label: "Xem các trình duyệt đang đăng nhập", url },
    }),
  },
  second_factor_changed: {
    audience: "customer",
    always: "security",
    isAboutPerson: true,
    path: "/account/security",
    name: { en: "Second factor changed", vi: "Bước hai đã đổi" },
    en: ({ change, atMs }, url) => ({
      subject: "Your two-factor sign-in has changed",
      paragraphs: [
        `${secondFactorChanges[change].en}, at ${minuteText(atMs, "en")} (Vietnam time).`,
        "If that was not you, change your password and sign all other browsers out.",
      ],
      action: { label: "Check two-factor sign-in", url },
    }),
    vi: ({ change, atMs }, url) => ({
      subject: "Đăng nhập hai bước của bạn đã thay đổi",
      paragraphs: [
        `${secondFactorChanges[change].vi}, lúc ${minuteText(atMs, "vi")} (giờ Việt Nam).`,
        "Nếu không phải bạn, hãy đổi mật khẩu và đăng xuất mọi trình duyệt khác.",
      ],
      action: { label: "Xem đăng nhập hai bước", url },
    }),
  },
  limit_reached: {
    audience: "customer",
    path: "/keys",
    name: { en: "Limit of an API key reached", vi: "Khoá API chạm giới hạn" },
    en: (job, url) => ({
      subject: `Limit reached: ${job.keyName}`,
      paragraphs: [
        `The API key “${job.keyName}” has reached its limit of ${
          limitText(job)
        } per ${job.window}.`,
        `Calls that would exceed it are refused until the next ${job.window} begins (Vietnam time), or until you raise the limit.`,
      ],
      action: { label: "Open API keys", url },
    }),
    vi: (job, url) => ({
      subject: `Đã chạm giới hạn: ${job.keyName}`,
      paragraphs: [
        `Khoá API “${job.keyName}” đã chạm giới hạn ${limitText(job)} mỗi ${
          job.window === "day" ? "ngày" : "tháng"
        }.`,
        `Lượt gọi vượt giới hạn bị từ chối cho đến ${
          job.window === "day" ? "ngày hôm sau" : "tháng sau"
        } (giờ Việt Nam), hoặc đến khi bạn nâng giới hạn.`,
      ],
      action: { label: "Mở danh sách khoá API", url },
    }),
  },
  budget_reached: {
    audience: "customer",
    path: "/budgets",
    name: { en: "Budget reached", vi: "Ngân sách chạm mức" },
    en: (job, url) => ({
      subject: `Budget at ${job.percent} %: ${job.budgetName}`,
      paragraphs: [
        `${formatMoneyShort(job.spentMicroVnd, "en")} of the budget “${job.budgetName}” of ${
          formatMoneyShort(job.amountMicroVnd, "en")
        } ${windowTexts[job.window].en} are spent.`,
        budgetEndText(job, job.percent >= 100),
      ],
      action: { label: "Open budgets", url },
    }),
    vi: (job, url) => ({
      subject: `Ngân sách đạt ${job.percent} %: ${job.budgetName}`,
      paragraphs: [
        `Đã chi ${formatMoneyShort(job.spentMicroVnd, "vi")} của ngân sách “${job.budgetName}” ${
          formatMoneyShort(job.amountMicroVnd, "vi")
        } ${windowTexts[job.window].vi}.`,
        budgetEndText(job, job.percent >= 100),
      ],
      action: { label: "Mở ngân sách", url },
    }),
  },
  budget_exhausted: {
    audience: "customer",
    path: "/budgets",
    name: { en: "Budget used up", vi: "Ngân sách đã dùng hết" },
    en: (job, url) => ({
      subject: `Budget used up: ${job.budgetName}`,
      paragraphs: [
        `${formatMoneyShort(job.spentMicroVnd, "en")} of the budget “${job.budgetName}” of ${
          formatMoneyShort(job.amountMicroVnd, "en")
        } ${windowTexts[job.window].en} are spent or reserved by running calls.`,
        budgetEndText(job, true),
      ],
      action: { label: "Open budgets", url },
    }),
    vi: (job, url) => ({
      subject: `Ngân sách đã dùng hết: ${job.budgetName}`,
      paragraphs: [
        `Ngân sách “${job.budgetName}” ${formatMoneyShort(job.amountMicroVnd, "vi")} ${
          windowTexts[job.window].vi
        } đã dùng ${
          formatMoneyShort(job.spentMicroVnd, "vi")
        }, gồm cả phần tạm giữ cho các lượt gọi đang chạy.`,
        budgetEndText(job, true),
      ],
      action: { label: "Mở ngân sách", url },
    }),
  },
  webhook_switched_off: {
    audience: "customer",
    path: "/webhooks",
    name: { en: "Webhook switched off", vi: "Webhook bị tắt" },
    en: ({ url: endpoint, why }, url) => ({
      subject: `Webhook switched off: ${hostOf(endpoint)}`,
      paragraphs: [
        `We no longer send webhooks to ${endpoint}.`,
        why === "gone"
          ? "It answered with status 410, which asks for no more events."
          : "Every try has failed for five days.",
        "Events of this time are not kept for it. Switch it on again once it answers.",
      ],
      action: { label: "Open webhooks", url },
    }),
    vi: ({ url: endpoint, why }, url) => ({
      subject: `Webhook bị tắt: ${hostOf(endpoint)}`,
      paragraphs: [
        `Chúng tôi đã ngừng gửi webhook đến ${endpoint}.`,
        why === "gone"
          ? "Địa chỉ này trả về mã 410, nghĩa là không muốn nhận thêm sự kiện."
          : "Mọi lần gửi trong năm ngày qua đều thất bại.",
        "Sự kiện trong thời gian tắt không được giữ lại. Hãy bật lại khi máy chủ của bạn đã phản hồi.",
      ],
      action: { label: "Mở trang webhook", url },
    }),
  },
  approval_waiting: {
    audience: "operator",
    isAboutPerson: true,
    path: "/operator/approvals",
    name: { en: "Approval waiting", vi: "Có yêu cầu chờ duyệt" },
    en: ({ amountMicroVnd, requestedBy, reason }, url) => ({
      subject: `Approval waiting: ${formatMoneyShort(amountMicroVnd, "en")}`,
      paragraphs: [
        `${requestedBy} asks for the approval of ${formatMoneyShort(amountMicroVnd, "en")}.`,
        `Reason: ${reason}`,
      ],
      action: { label: "Open approvals", url },
    }),
    vi: ({ amountMicroVnd, requestedBy, reason }, url) => ({
      subject: `Chờ duyệt: ${formatMoneyShort(amountMicroVnd, "vi")}`,
      paragraphs: [
        `${requestedBy} yêu cầu duyệt ${formatMoneyShort(amountMicroVnd, "vi")}.`,
        `Lý do: ${reason}`,
      ],
      action: { label: "Mở danh sách chờ duyệt", url },
    }),
  },
  invitation: {
    audience: "customer",
    always: "requested",
    path: "/organisations",
    name: { en: "Invitation to an organisation", vi: "Lời mời vào tổ chức" },
    en: ({ organisation, inviter, role }, url) => ({
      subject: `${inviter} invites you to ${organisation}`,
      paragraphs: [
        `${inviter} would like you to join “${organisation}”.`,
        ...(role === undefined
          ? []
          : [`You would be ${roleTexts[role].en}: ${roleWork[role].en}.`]),
        "Sign in or sign up with this email address to answer. Your own account stays as it is.",
      ],
      action: { label: "Answer the invitation", url },
      note:
        "The invitation ends after seven days. If you do not know the sender, ignore this email: nothing happens.",
    }),
    vi: ({ organisation, inviter, role }, url) => ({
      subject: `${inviter} mời bạn vào ${organisation}`,
      paragraphs: [
        `${inviter} muốn mời bạn tham gia “${organisation}”.`,
        ...(role === undefined
          ? []
          : [`Vai trò của bạn là ${roleTexts[role].vi}: ${roleWork[role].vi}.`]),
        "Hãy đăng nhập hoặc đăng ký bằng chính địa chỉ email này để trả lời. Tài khoản riêng của bạn không thay đổi.",
      ],
      action: { label: "Trả lời lời mời", url },
      note:
        "Lời mời hết hạn sau bảy ngày. Nếu bạn không biết người gửi, hãy bỏ qua thư này: không có gì xảy ra.",
    }),
  },
  member_joined: {
    audience: "customer",
    path: "/organisation",
    name: { en: "A member joined", vi: "Có thành viên mới" },
    en: ({ organisation, member }, url) => ({
      subject: `${member} joined ${organisation}`,
      paragraphs: [`${member} is now a member of “${organisation}”.`],
      action: { label: "See the members", url },
    }),
    vi: ({ organisation, member }, url) => ({
      subject: `${member} đã vào ${organisation}`,
      paragraphs: [`${member} đã là thành viên của “${organisation}”.`],
      action: { label: "Xem các thành viên", url },
    }),
  },
  member_role_changed: {
    audience: "customer",
    path: "/organisation",
    name: { en: "Role of a member changed", vi: "Đổi vai trò thành viên" },
    en: ({ organisation, member, formerRole, role }, url) => ({
      subject: `The role of ${member} in ${organisation} has changed`,
      paragraphs: [
        `${member} is now ${roleTexts[role].en} in “${organisation}”, and was ${
          roleTexts[formerRole].en
        } before.`,
      ],
      action: { label: "See the members", url },
      note:
        "If you did not expect this, check the activity log of the organisation to see who did it.",
    }),
    vi: ({ organisation, member, formerRole, role }, url) => ({
      subject: `Vai trò của ${member} trong ${organisation} đã thay đổi`,
      paragraphs: [
        `Vai trò của ${member} trong “${organisation}” đã đổi từ ${
          roleTexts[formerRole].vi
        } thành ${roleTexts[role].vi}.`,
      ],
      action: { label: "Xem các thành viên", url },
      note: "Nếu bạn không rõ thay đổi này, hãy xem nhật ký của tổ chức để biết ai đã thực hiện.",
    }),
  },
  member_removed: {
    audience: "customer",
    path: "/organisation",
    name: { en: "A member was removed or left", vi: "Thành viên bị xoá hoặc rời đi" },
    en: ({ organisation, member, hasLeft }, url) => ({
      subject: hasLeft
        ? `${member} left ${organisation}`
        : `${member} was removed from ${organisation}`,
      paragraphs: [
        hasLeft
          ? `${member} has left “${organisation}”.`
          : `${member} was removed from “${organisation}”.`,
        "The keys they made for the organisation are revoked.",
      ],
      action: { label: "See the members", url },
    }),
    vi: ({ organisation, member, hasLeft }, url) => ({
      subject: hasLeft
        ? `${member} đã rời ${organisation}`
        : `${member} bị xoá khỏi ${organisation}`,
      paragraphs: [
        hasLeft
          ? `${member} đã rời “${organisation}”.`
          : `${member} đã bị xoá khỏi “${organisation}”.`,
        "Các khoá do người này tạo cho tổ chức đã bị thu hồi.",
      ],
      action: { label: "Xem các thành viên", url },
    }),
  },
  company_domain_missing: {
    audience: "customer",
    always: "security",
    path: "/organisation/sign-in",
    name: { en: "Record of a domain missing", vi: "Thiếu bản ghi của tên miền" },
    en: ({ organisation, domain, untilMs }, url) => ({
      subject: untilMs === undefined
        ? `${domain} is no longer verified`
        : `The record of ${domain} is missing`,
      paragraphs: untilMs === undefined
        ? [
          `The TXT record of ${domain} has been missing for a week, so its addresses no longer lead to the sign-in of “${organisation}”.`,
          "Its members stay members. Publish the record and check it on the page to verify the domain again.",
        ]
        : [
          `The TXT record that verifies ${domain} for “${organisation}” cannot be found.`,
          `If it stays away until ${
            minuteText(untilMs, "en")
          }, addresses of the domain no longer lead to your sign-in. The page shows the record.`,
        ],
      action: { label: "Open the sign-in", url },
    }),
    vi: ({ organisation, domain, untilMs }, url) => ({
      subject: untilMs === undefined
        ? `${domain} không còn được xác minh`
        : `Thiếu bản ghi của ${domain}`,
      paragraphs: untilMs === undefined
        ? [
          `Bản ghi TXT của ${domain} đã thiếu một tuần, nên địa chỉ của tên miền này không còn dẫn đến đăng nhập của “${organisation}”.`,
          "Các thành viên vẫn là thành viên. Hãy công bố bản ghi và kiểm tra trên trang để xác minh lại tên miền.",
        ]
        : [
          `Không tìm thấy bản ghi TXT xác minh ${domain} cho “${organisation}”.`,
          `Nếu đến ${
            minuteText(untilMs, "vi")
          } vẫn thiếu, địa chỉ của tên miền sẽ không dẫn đến đăng nhập của bạn nữa. Trang có sẵn nội dung bản ghi.`,
        ],
      action: { label: "Mở trang đăng nhập", url },
    }),
  },
  provider_key_refused: {
    audience: "customer",
    path: "/organisation/provider-keys",
    name: { en: "Provider key refused", vi: "Khoá nhà cung cấp bị từ chối" },
    en: ({ provider, status }, url) => ({
      subject: `${provider} refuses your key`,
      paragraphs: [
        `The provider ${provider} refused your own key in a call (status ${status}). It may have been revoked there, or its credit may be used up.`,
        "Calls that may go on to our routes do, at the price of the model; the others fail. Check the key at the provider, or replace it on the page.",
      ],
      action: { label: "Open the provider keys", url },
    }),
    vi: ({ provider, status }, url) => ({
      subject: `${provider} từ chối khoá của bạn`,
      paragraphs: [
        `Nhà cung cấp ${provider} đã từ chối khoá riêng của bạn trong một lượt gọi (status ${status}). Khoá có thể đã bị thu hồi, hoặc tài khoản ở đó đã hết tiền.`,
        "Lượt gọi được phép chuyển sang route của chúng tôi thì vẫn chạy theo giá của model; các lượt khác báo lỗi. Hãy kiểm tra khoá ở nhà cung cấp, hoặc thay khoá trên trang.",
      ],
      action: { label: "Mở trang khoá nhà cung cấp", url },
    }),
  },
  ownership_received: {
    audience: "customer",
    always: "security",
    // To the new owner's own address, wherever the mails of the person's own account go.
    isAboutPerson: true,
    path: "/organisation",
    name: { en: "Ownership handed over", vi: "Được chuyển quyền sở hữu" },
    en: ({ organisation, from }, url) => ({
      subject: `You now own ${organisation}`,
      paragraphs: [
        `${from} has made you the owner of “${organisation}”.`,
        "Its wallet and invoices are yours now, and its mails come to this address.",
      ],
      action: { label: "Open the organisation", url },
    }),
    vi: ({ organisation, from }, url) => ({
      subject: `Bạn là chủ sở hữu mới của ${organisation}`,
      paragraphs: [
        `${from} đã chuyển quyền sở hữu “${organisation}” cho bạn.`,
        "Từ nay ví và hoá đơn của tổ chức thuộc về bạn, và thư của tổ chức được gửi đến địa chỉ này.",
      ],
      action: { label: "Mở trang tổ chức", url },
    }),
  },
  subscription_asked: {
    audience: "subscriber",
    always: "requested",
    path: "/incident-mails/confirm",
    name: { en: "Confirm emails about incidents", vi: "Xác nhận nhận thư trạng thái" },
    en: (_, url) => ({
      subject: "Confirm emails about incidents",
      paragraphs: ["Somebody, probably you, asked for emails about incidents to this address."],
      action: { label: "Confirm the subscription", url },
      note:
        "The link works once, for 24 hours. If you did not ask for it, ignore this email: nothing is sent.",
    }),
    vi: (_, url) => ({
      subject: "Xác nhận nhận thư về sự cố",
      paragraphs: ["Có người, có lẽ là bạn, vừa đăng ký nhận thư về sự cố bằng địa chỉ này."],
      action: { label: "Xác nhận đăng ký", url },
      note:
        "Liên kết dùng được một lần, trong 24 giờ. Nếu bạn không đăng ký, hãy bỏ qua thư này: không có gì được gửi.",
    }),
  },
  incident_opened: {
    audience: "subscriber",
    path: "/status",
    name: { en: "Incident", vi: "Sự cố" },
    en: ({ title, text }, url) => ({
      subject: `Incident: ${title}`,
      paragraphs: text.split(/\n{2,}/),
      action: { label: "Open the status page", url },
    }),
    vi: ({ title, text }, url) => ({
      subject: `Sự cố: ${title}`,
      paragraphs: text.split(/\n{2,}/),
      action: { label: "Mở trang trạng thái", url },
    }),
  },
  incident_resolved: {
    audience: "subscriber",
    path: "/status",
    name: { en: "Incident resolved", vi: "Sự cố đã xử lý xong" },
    en: ({ title, text }, url) => ({
      subject: `Resolved: ${title}`,
      paragraphs: ["The incident is over.", ...text.split(/\n{2,}/)],
      action: { label: "Open the status page", url },
    }),
    vi: ({ title, text }, url) => ({
      subject: `Đã xử lý xong: ${title}`,
      paragraphs: ["Sự cố đã kết thúc.", ...text.split(/\n{2,}/)],
      action: { label: "Mở trang trạng thái", url },
    }),
  },
};

/** Facts of a kind of mail that pages, documents and senders need. */
export type MailKindFacts = Pick<
  MailEntry<MailKind>,
  "audience" | "always" | "isAboutPerson" | "path" | "name"
>;

/** Every kind of mail, without its texts. */
export const mailKinds: Readonly<Record<MailKind, MailKindFacts>> = table;

/** Whether a text names a kind of mail that this version knows. */
export function isMailKind(text: string): text is MailKind {
  return Object.hasOwn(table, text);
}

/** The kinds of mail, in the order of pages and documents. */
export const mailKindNames: readonly MailKind[] = Object.keys(table).filter(isMailKind);

/** Whether a kind of mail is about what a person does, not about the organisation that the person owns. */
export function isAboutPerson(kind: MailKind): boolean {
  return mailKinds[kind].isAboutPerson === true;
}

/** Whether the reader of a kind of mail can switch it off. */
export function canSwitchOff(kind: MailKind): boolean {
  return mailKinds[kind].always === undefined;
}

function write<Kind extends MailKind>(
  entry: MailEntry<Kind>,
  job: Job<Kind>,
  url: string,
  support: string | undefined,
): RenderedMail {
  return entry[job.locale](job, url, support);
}

/** Members of jobs whose text customers write. */
const nameMembers: ReadonlySet<string> = new Set([
  "organisation",
  "inviter",
  "member",
  "from",
  "keyName",
  "budgetName",
]);

/** Parts of advertisements: addresses of pages, amounts of money and shares, numbers of telephones. */
const advertising =
  /:\/\/|\bwww\.|\p{L}\.\p{L}{2,}|[$€£¥₫%]\s*\d|\d[\s.,]*(?:[$€£¥₫%]|vnđ|vnd|usd|eur|k|tr|triệu|đồng|đ)(?!\p{L})|(?:\d[\s.-]?){8,}/iu;

/** Words in place of such a name. */
const unnamed = { en: "(name withheld)", vi: "(tên không hiển thị)" } as const;

/** Whether a name reads like an advertisement. Addresses of persons are names, too. */
function advertises(name: string): boolean {
  return normaliseEmail(name) !== name && advertising.test(name);
}

/** A name, unless it reads like an advertisement. */
function plainName(name: string, locale: Locale): string {
  return advertises(name) ? unnamed[locale] : name;
}

/** The job without names that read like advertisements. */
function withPlainNames<Kind extends MailKind>(job: Job<Kind>): Job<Kind> {
  const plain = Object.entries(job).map(([member, value]) => {
    const isName = typeof value === "string" && nameMembers.has(member);
    return [member, isName ? plainName(value, job.locale) : value];
  });
  return Object.fromEntries(plain);
}

/** Names the organisation of a mail in its subject and above its text, where neither does. */
function withOrganisation(
  mail: RenderedMail,
  job: MailJob,
): RenderedMail {
  const name = job.about?.organisation;
  if (name === undefined || "organisation" in job) return mail;
  return { ...mail, subject: `${plainName(name, job.locale)}: ${mail.subject}`, about: name };
}

/**
 * Renders the mail of a job in its language. Names that customers choose and that read like advertisements stand in no
 * subject, and nowhere in an invitation, whose reader never asked for mails.
 *
 * @param url the target of its link, token included
 * @param support the support contact, if one is set
 */
export function renderMail<Kind extends MailKind>(
  job: Job<Kind>,
  url: string,
  support?: string,
): RenderedMail {
  const entry: MailEntry<Kind> = table[job.kind as Kind];
  const plain = write(entry, withPlainNames(job), url, support);
  return job.kind === "invitation"
    ? plain
    : withOrganisation({ ...write(entry, job, url, support), subject: plain.subject }, job);
}
