/** A field whose key appears in all snippets of the page. It works in the browser alone: the key is sent nowhere. */
import { defineTexts, type Locale } from "../../text/i18n.ts";
import { keyPlaceholder } from "./recipes.ts";

const texts = defineTexts({
  en: {
    label: "Fill in your key",
    hint: "Paste it here and the snippets have it. It stays in this page and is sent nowhere.",
  },
  vi: {
    label: "Điền khoá API của bạn",
    hint: "Dán vào đây, các đoạn mã sẽ có sẵn. Khoá chỉ ở trong trang này, không gửi đi đâu.",
  },
});

/** The field; hidden until the script that it needs shows it. */
export function KeyFiller({ locale }: { locale: Locale }) {
  const t = texts[locale];
  return (
    <div class="key-filler" data-key-filler={keyPlaceholder} hidden>
      <label for="fill-key">{t.label}</label>
      <input
        id="fill-key"
        type="password"
        placeholder="sk-…"
        autocomplete="off"
        spellcheck={false}
        aria-describedby="fill-key-hint"
      />
      <small id="fill-key-hint">{t.hint}</small>
    </div>
  );
}
