/** Lays out a mail as plain text and as HTML that every mail client displays. */
import type { Locale } from "../../lib/base/locale.ts";
import { defined } from "../../lib/base/defined.ts";
import type { Brand } from "./brand.ts";
import type { Mail } from "./mail.ts";
import type { RenderedMail } from "./mail_kinds.ts";

/** The last line: who writes, and where to ask. */
function signature(brand: string, locale: Locale, support: string | undefined): string {
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
 * import { composeMail } from "./mail_layout.ts";
 * const content = { subject: "Hi", paragraphs: ["1 < 2"], action: { label: "Go", url: "https://gw.example/x" } };
 * const mail = composeMail(content, { id: "1", to: "ann@example.com", locale: "en", brand: { name: "Gateway" } });
 * if (!mail.text.includes("https://gw.example/x") || !mail.html.includes("1 &lt; 2")) throw new Error();
 * ```
 */
export function composeMail(
  content: RenderedMail,
  to: {
    readonly id: string;
    readonly to: string;
    readonly locale: Locale;
    /** The name at the top and at the end, and the colour. */
    readonly brand: Brand;
    /** The support contact, if one is set. */
    readonly support?: string | undefined;
    /** Address at which one click switches off mails of this kind, if they can be switched off. */
    readonly switchOffUrl?: string | undefined;
  },
): Mail {
  const { locale, switchOffUrl, brand } = to;
  const signed = signature(brand.name, locale, to.support);
  const foot = switchOffUrl === undefined
    ? []
    : [{ label: switchOffLabels[locale], url: switchOffUrl }];
  return {
    id: to.id,
    to: to.to,
    // A line break ends a header line, so none may come in from a number or a typed reason.
    subject: content.subject.replace(/\s+/g, " ").trim(),
    text: plainText(content, locale, signed, foot),
    html: html(content, { locale, brand }, signed, foot),
    ...defined({ switchOffUrl }),
  };
}

/** The colours of mails of the project's own brand. */
const projectColours = { text: "#0f766e", fill: "#0f766e", onFill: "#ffffff" } as const;

/** A link under a mail. */
interface FootLink {
  readonly label: string;
  readonly url: string;
}

/** The line that names the organisation. */
function aboutText(name: string, locale: Locale): string {
  return locale === "vi" ? `Tổ chức: ${name}` : `Organisation: ${name}`;
}

const switchOffLabels: Readonly<Record<Locale, string>> = {
  en: "Switch off emails of this kind",
  vi: "Tắt loại thư này",
};

function plainText(
  content: RenderedMail,
  locale: Locale,
  signed: string,
  foot: readonly FootLink[],
): string {
  const { about } = content;
  const parts = [...about === undefined ? [] : [aboutText(about, locale)], ...content.paragraphs];
  if (content.action !== undefined) parts.push(`${content.action.label}:\n${content.action.url}`);
  if (content.note !== undefined) parts.push(content.note);
  const links = foot.map(({ label, url }) => `${label}: ${url}\n`).join("");
  return `${parts.join("\n\n")}\n\n-- \n${signed}\n${links}`;
}

function html(
  content: RenderedMail,
  { locale, brand: { name, colours } }: { readonly locale: Locale; readonly brand: Brand },
  signed: string,
  foot: readonly FootLink[],
): string {
  const { fill, onFill, text } = colours?.light ?? projectColours;
  const paragraph = (text: string, style = "margin:0 0 16px") =>
    `<p style="${style}">${escapeHtml(text)}</p>`;
  const body = content.paragraphs.map((text) => paragraph(text));
  if (content.about !== undefined) {
    body.unshift(paragraph(aboutText(content.about, locale), "margin:0 0 16px;font-weight:600"));
  }
  if (content.action !== undefined) {
    const url = escapeHtml(content.action.url);
    const button =
      `display:inline-block;padding:11px 20px;border-radius:8px;background:${fill};color:${onFill};` +
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
    `border-radius:14px"><p style="margin:0 0 20px;color:${text};font-weight:700">${
      escapeHtml(name)
    }</p>` +
    `${body.join("")}<p style="margin:24px 0 0;color:#5a6775;font-size:13px">${escapeHtml(signed)}${
      foot.map(({ label, url }) =>
        `<br><a href="${escapeHtml(url)}" style="color:#5a6775">${escapeHtml(label)}</a>`
      ).join("")
    }</p></div></body></html>`;
}
