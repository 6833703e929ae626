/** The footer of every page (support, language, theme), and the dialog that asks before an act. */
import { CsrfField } from "../components/form.tsx";
import { localeNames, locales } from "../text/i18n.ts";
import { themes, type Visitor } from "../page/visitor.ts";
import { layoutTexts } from "./layout_texts.ts";

/** The footer; language and theme are plain forms, which work without script. */
export function Footer({ visitor }: { visitor: Visitor }) {
  const t = layoutTexts[visitor.locale];
  return (
    <footer class="foot">
      <p>
        {t.footer}
        {visitor.support !== undefined && (
          <>
            {" "}
            {t.support} <a href={visitor.support.href}>{visitor.support.text}</a>
          </>
        )}
      </p>
      <ul class="foot-links">
        <li>
          <a href="/docs">{t.docs}</a>
        </li>
        <li>
          <a href="/status">{t.status}</a>
        </li>
        {visitor.suppliedPages.map((name) => (
          <li>
            <a href={`/${name}`}>{t.supplied[name]}</a>
          </li>
        ))}
      </ul>
      <form method="post" action="/preferences" class="preferences">
        <CsrfField visitor={visitor} />
        <input type="hidden" name="next" value={visitor.path} />
        <div role="group" aria-label={t.language}>
          {locales.map((locale) => (
            <button
              type="submit"
              name="locale"
              value={locale}
              lang={locale}
              aria-pressed={locale === visitor.locale ? "true" : "false"}
            >
              {localeNames[locale]}
            </button>
          ))}
        </div>
        <div role="group" aria-label={t.theme}>
          {themes.map((theme) => (
            <button
              type="submit"
              name="theme"
              value={theme}
              aria-pressed={theme === visitor.theme ? "true" : "false"}
            >
              {t.themes[theme]}
            </button>
          ))}
        </div>
      </form>
    </footer>
  );
}

/** The dialog that `app.js` opens before it sends a form with `data-confirm`. */
export function ConfirmDialog({ visitor }: { visitor: Visitor }) {
  const t = layoutTexts[visitor.locale];
  return (
    <dialog id="confirm" aria-labelledby="confirm-text">
      <form method="dialog">
        <p id="confirm-text"></p>
        <div class="dialog-actions">
          <button type="submit" value="no" class="outline secondary">{t.cancel}</button>
          <button type="submit" value="yes" class="danger">{t.confirm}</button>
        </div>
      </form>
    </dialog>
  );
}
