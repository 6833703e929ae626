/** Building blocks of pages: notices, figures, badges, copy buttons, times and money. */
import type { Child, PropsWithChildren } from "hono/jsx";
import { vietnamIsoTime } from "../../../core/lib/time/vietnam_time.ts";
import { formatDate, formatDateTime, formatMoneyShort, formatMoneyTo } from "../text/format.ts";
import { defineTexts, type Locale } from "../text/i18n.ts";
import { Icon } from "../page/icons.tsx";

/** The kind of a message. */
export type NoticeTone = "info" | "success" | "warning" | "danger";

const noticeIcons = {
  info: "info",
  success: "check",
  warning: "warning",
  danger: "warning",
} as const;

/** A message above the content. Screen readers announce failures at once, other messages politely. */
export function Notice({ tone, title, children }: PropsWithChildren<{
  tone: NoticeTone;
  title?: string;
}>) {
  return (
    <div class={`notice ${tone}`} role={tone === "danger" ? "alert" : "status"}>
      <Icon name={noticeIcons[tone]} />
      <div>
        {title !== undefined && <strong class="notice-title">{title}</strong>}
        {children}
      </div>
    </div>
  );
}

/** The kind of a state. */
export type BadgeTone = "neutral" | "good" | "busy" | "bad";

/** A state: a coloured dot and a word. */
export function Badge({ tone, children }: PropsWithChildren<{ tone: BadgeTone }>) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** A property or a draft in a label, beside the name of what has it. */
export function Tag({ isBusy = false, children }: PropsWithChildren<{ isBusy?: boolean }>) {
  return <span class={isBusy ? "tag busy" : "tag"}>{children}</span>;
}

/** A figure with its label. */
export function Stat(
  { label, note, children }: PropsWithChildren<{ label: string; note?: Child }>,
) {
  return (
    <div class="stat">
      <dt>{label}</dt>
      <dd>
        <span class="stat-value">{children}</span>
        {note !== undefined && <span class="stat-note">{note}</span>}
      </dd>
    </div>
  );
}

/** {@linkcode Stat}s side by side. */
export function Stats({ children }: PropsWithChildren) {
  return <dl class="stats">{children}</dl>;
}

/** A section of a page with an optional heading. */
export function Card({ title, actions, children, id }: PropsWithChildren<{
  title?: Child;
  actions?: Child;
  id?: string;
}>) {
  return (
    <section class="card" id={id}>
      {title !== undefined && (
        <div class="card-head">
          <h2>{title}</h2>
          {actions !== undefined && <div class="card-actions">{actions}</div>}
        </div>
      )}
      {children}
    </section>
  );
}

/** The message in place of an empty list, and what to do about it. */
export function Empty({ title, children }: PropsWithChildren<{ title: string }>) {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  );
}

/** A name and its value, inside `<dl class="facts">`. */
export function Fact({ name, children }: PropsWithChildren<{ name: Child }>) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}

/**
 * A table that scrolls sideways on a phone instead of widening the page. It is focusable, so that the keyboard can
 * scroll it.
 */
export function TableFrame({ label, children }: PropsWithChildren<{ label: string }>) {
  return (
    <div class="table-frame" role="region" aria-label={label} tabindex={0}>
      {children}
    </div>
  );
}

const copyTexts = defineTexts({
  en: { copy: "Copy", copied: "Copied" },
  vi: { copy: "Sao chép", copied: "Đã sao chép" },
});

/** A button that copies a text. It needs script, so the text itself must be beside it. */
export function CopyButton({ text, what, locale }: { text: string; what: string; locale: Locale }) {
  const t = copyTexts[locale];
  return (
    <button
      type="button"
      class="outline secondary small copy"
      data-copy={text}
      data-copied={t.copied}
      aria-label={`${t.copy}: ${what}`}
    >
      <Icon name="copy" />
      <span>{t.copy}</span>
    </button>
  );
}

/** A value with its name and a copy button: account numbers, memos, keys. */
export function CopyRow({ label, value, shown, locale }: {
  label: string;
  /** The text that is copied. */
  value: string;
  /** The text that is shown, if it differs (an amount with separators). */
  shown?: string;
  locale: Locale;
}) {
  return (
    <div class="copy-row">
      <span class="copy-label">{label}</span>
      <code class="copy-value">{shown ?? value}</code>
      <CopyButton text={value} what={label} locale={locale} />
    </div>
  );
}

/**
 * A time in the form of the language; its title has milliseconds, in the same time zone. In lists (`relative`) `app.js`
 * says how long ago a recent one was, and moves the exact one into the title.
 */
export function Time({ atMs, locale, dateOnly = false, relative = false }: {
  atMs: number;
  locale: Locale;
  dateOnly?: boolean;
  relative?: boolean;
}) {
  const iso = vietnamIsoTime(atMs);
  return (
    <time datetime={iso} title={iso} data-ago={relative && !dateOnly ? "" : undefined}>
      {dateOnly ? formatDate(atMs, locale) : formatDateTime(atMs, locale)}
    </time>
  );
}

/**
 * An amount of money. Small fractions are in the title; receipts show them (`exact`), with as many decimals as the other
 * amounts of their column. `signed`: a plus for credits.
 */
export function Money({ microVnd, locale, exact = false, decimals = 0, signed = false }: {
  microVnd: bigint;
  locale: Locale;
  exact?: boolean;
  /** At least so many, if the amount is exact. */
  decimals?: number;
  signed?: boolean;
}) {
  const plus = signed && microVnd > 0n ? "+" : "";
  const whole = plus + formatMoneyTo(microVnd, locale, decimals);
  const shown = exact ? whole : plus + formatMoneyShort(microVnd, locale);
  return (
    <data class="money" value={microVnd.toString()} title={shown === whole ? undefined : whole}>
      {shown}
    </data>
  );
}

/** Links to the previous and the next page of a list. */
export function Pager({ previous, next, locale }: {
  previous?: string | undefined;
  next?: string | undefined;
  locale: Locale;
}) {
  const t = pagerTexts[locale];
  return previous === undefined && next === undefined
    ? null
    : (
      <nav class="pager" aria-label={t.label}>
        {previous !== undefined && <a href={previous} rel="prev">← {t.previous}</a>}
        {next !== undefined && <a href={next} rel="next">{t.next} →</a>}
      </nav>
    );
}

const pagerTexts = defineTexts({
  en: { label: "Pages of this list", previous: "Newer", next: "Older" },
  vi: { label: "Các trang của danh sách", previous: "Mới hơn", next: "Cũ hơn" },
});
