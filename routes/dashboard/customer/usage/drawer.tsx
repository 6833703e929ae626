/** One call beside the list of calls; `log.js` puts it there. Its address is that of the page of the call. */
import type { PropsWithChildren } from "hono/jsx";
import { Icon } from "../../components/mod.ts";
import type { Locale } from "../../text/i18n.ts";
import { usageTexts } from "./texts.ts";

/** The content of the drawer. */
export function Drawer({ title, href, locale, children }: PropsWithChildren<{
  title: string;
  href: string;
  locale: Locale;
}>) {
  const t = usageTexts[locale];
  return (
    <>
      <div class="drawer-head">
        <h2 id="drawer-title">{title}</h2>
        <a href={href} class="button outline secondary small" data-whole-page>
          <Icon name="external" /> {t.wholePage}
        </a>
        <button type="button" class="outline secondary small" data-close-drawer>{t.close}</button>
      </div>
      {children}
    </>
  );
}
