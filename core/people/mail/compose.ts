/** Lays out a mail as plain text and as HTML that every mail client displays. */
import type { Locale } from "../../lib/base/locale.ts";
import type { RenderedMail } from "./templates.ts";
import type { Mail } from "./mail.ts";

const signatures: Readonly<Record<Locale, string>> = {
  en: "Model Gateway",
  vi: "Model Gateway",
};

function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

/**
 * Composes a mail from its rendered parts.
 *
 * @example
 * ```ts
 * import { composeMail } from "./compose.ts";
 * const content = { subject: "Hi", paragraphs: ["1 < 2"], action: { label: "Go", url: "https://gw.example/x" } };
 * const mail = composeMail(content, { id: "1", to: "ann@example.com", locale: "en" });
 * if (!mail.text.includes("https://gw.example/x") || !mail.html.includes("1 &lt; 2")) throw new Error();
 * ```
 */
export function composeMail(
  content: RenderedMail,
  to: { readonly id: string; readonly to: string; readonly locale: Locale },
): Mail {
  return {
    id: to.id,
    to: to.to,
    // A line break ends a header line, so none may come in from a number or a typed reason.
    subject: content.subject.replace(/\s+/g, " ").trim(),
    text: plainText(content, to.locale),
    html: html(content, to.locale),
  };
}

function plainText(content: RenderedMail, locale: Locale): string {
  const parts = [...content.paragraphs];
  if (content.action !== undefined) parts.push(`${content.action.label}:\n${content.action.url}`);
  if (content.note !== undefined) parts.push(content.note);
  return `${parts.join("\n\n")}\n\n-- \n${signatures[locale]}\n`;
}

function html(content: RenderedMail, locale: Locale): string {
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
    `border-radius:14px">${body.join("")}<p style="margin:24px 0 0;color:#5a6775;font-size:13px">${
      escapeHtml(signatures[locale])
    }</p></div></body></html>`;
}
