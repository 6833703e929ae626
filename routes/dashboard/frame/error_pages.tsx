/** The error pages. */
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { type ErrorCode, GatewayError } from "../../../core/lib/errors/errors.ts";
import { accountName } from "../../../kv/people/accounts/accounts.ts";
import { roleNames } from "../text/role_names.ts";
import { AskSupport, Card } from "../components/mod.ts";
import { defineTexts } from "../text/i18n.ts";
import type { RefusedForm } from "../visitor/identify.ts";
import { renderPage } from "./layout.tsx";
import type { DashboardEnv } from "../page/visitor.ts";

const texts = defineTexts({
  both: {
    home: ["Go to the start page", "Về trang đầu"],
    notFound: ["There is no such page", "Không có trang này"],
    forbidden: ["This form is no longer valid", "Biểu mẫu này không còn hiệu lực"],
    notAllowed: ["Your role does not allow this", "Vai trò của bạn không được làm việc này"],
    unreadable: ["This form cannot be read", "Không đọc được biểu mẫu này"],
    tooLarge: ["That is too large", "Quá lớn"],
    failed: ["Something went wrong", "Đã có lỗi xảy ra"],
    ifItStays: ["If the problem persists, write to", "Nếu vẫn còn lỗi, hãy liên hệ"],
    busy: ["Too busy right now", "Đang quá bận"],
    busyText: ["Try again in a moment.", "Hãy thử lại sau giây lát."],
  },
  en: {
    notFoundText: "The address may be mistyped, or the page has moved.",
    forbiddenText:
      "You signed in or out in another window, or the page was open for too long. Go back, reload it and try again.",
    notAllowedText: (organisation: string, role: string) =>
      `You are ${role} in “${organisation}”. Ask its owner or an admin.`,
    unreadableText: "The form arrived incomplete or malformed. Go back and send it again.",
    tooLargeText: "The form you sent is larger than we accept.",
    failedText: "It is our fault. Try again in a moment.",
  },
  vi: {
    notFoundText: "Có thể địa chỉ bị gõ sai, hoặc trang đã được chuyển đi.",
    forbiddenText:
      "Bạn đã đăng nhập hoặc đăng xuất ở cửa sổ khác, hoặc trang được mở quá lâu. Hãy quay lại, tải lại trang và thử lại.",
    notAllowedText: (organisation: string, role: string) =>
      `Vai trò của bạn trong “${organisation}” là ${role}. Hãy hỏi chủ sở hữu hoặc một quản trị viên.`,
    unreadableText: "Nội dung nhận được không đầy đủ hoặc sai định dạng. Hãy quay lại và gửi lại.",
    tooLargeText: "Biểu mẫu bạn gửi lớn hơn mức chúng tôi nhận.",
    failedText: "Đây là lỗi của chúng tôi. Hãy thử lại sau giây lát.",
  },
});

function messagePage(
  c: Context<DashboardEnv>,
  page: { status: ContentfulStatusCode; title: string; text: string; ask?: string },
): Response | Promise<Response> {
  const t = texts[c.get("visitor").locale];
  return renderPage(
    c,
    { title: page.title, narrow: true, outsideNavigation: true, status: page.status },
    <Card>
      <p>
        {page.text}{" "}
        {page.ask !== undefined && <AskSupport visitor={c.get("visitor")}>{page.ask}</AskSupport>}
      </p>
      <p>
        <a href="/">{t.home}</a>
      </p>
    </Card>,
  );
}

/** Answers 404 with a page. */
export function notFoundPage(c: Context<DashboardEnv>): Response | Promise<Response> {
  const t = texts[c.get("visitor").locale];
  return messagePage(c, { status: 404, title: t.notFound, text: t.notFoundText });
}

/** Answers 403 with a page: the visitor's role does not allow what was asked for. */
export function notAllowedPage(c: Context<DashboardEnv>): Response | Promise<Response> {
  const { locale, signedIn } = c.get("visitor");
  const t = texts[locale];
  const text = signedIn === undefined
    ? t.forbiddenText
    : t.notAllowedText(accountName(signedIn.account), roleNames[locale][signedIn.role]);
  return messagePage(c, { status: 403, title: t.notAllowed, text });
}

/** The page shown for a receipt that does not exist. */
export function noReceiptPage(
  c: Context<DashboardEnv>,
  page: { readonly title: string; readonly text: string },
): Response | Promise<Response> {
  return messagePage(c, { status: 404, ...page });
}

/** Refuses a form without the right token or from another site, or a body that is not the form it claims to be. */
export function forbiddenPage(
  c: Context<DashboardEnv>,
  why: RefusedForm,
): Response | Promise<Response> {
  const t = texts[c.get("visitor").locale];
  if (why === "unreadable") {
    return messagePage(c, { status: 400, title: t.unreadable, text: t.unreadableText });
  }
  return messagePage(c, { status: 403, title: t.forbidden, text: t.forbiddenText });
}

/** Answers 413 with a page. */
export function tooLargePage(c: Context<DashboardEnv>): Response | Promise<Response> {
  const t = texts[c.get("visitor").locale];
  return messagePage(c, { status: 413, title: t.tooLarge, text: t.tooLargeText });
}

/** Errors that pass on their own: a row that many change at once, a store that does not answer. */
const passing: ReadonlySet<string> = new Set<ErrorCode>(["overloaded", "maintenance"]);

/** Answers an exception. It shows the message only of errors that are meant for visitors. */
export function errorPage(error: unknown, c: Context<DashboardEnv>): Response | Promise<Response> {
  const t = texts[c.get("visitor").locale];
  if (error instanceof GatewayError && passing.has(error.code)) {
    if (error.retryAfterSeconds !== undefined) {
      c.header("retry-after", String(error.retryAfterSeconds));
    }
    return messagePage(c, { status: 503, title: t.busy, text: t.busyText });
  }
  if (error instanceof GatewayError && error.status < 500) {
    return messagePage(c, { status: 400, title: t.failed, text: error.message });
  }
  return messagePage(c, { status: 500, title: t.failed, text: t.failedText, ask: t.ifItStays });
}
