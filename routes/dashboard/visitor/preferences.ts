/** Stores the language and theme that the footer offers. */
import { Hono } from "hono";
import { returnPath } from "../../../core/accounts/return_path.ts";
import { updateAccount } from "../../../kv/accounts/accounts.ts";
import { writePreference } from "./cookies.ts";
import type { PageDeps } from "../page_deps.ts";
import { readForm } from "../form_data.ts";
import { parseLocale } from "../i18n.ts";
import { type DashboardEnv, themes } from "./visitor.ts";
import type { PageDeclaration } from "../page.ts";

function createPreferences(deps: PageDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>().post("/preferences", async (c) => {
    const form = await readForm(c);
    const locale = parseLocale(form.text("locale"));
    if (locale !== undefined) {
      writePreference(c, "locale", locale);
      const { signedIn } = c.get("visitor");
      // Mails are in the language of the pages.
      if (signedIn !== undefined) await updateAccount(deps.kv, signedIn.account.id, { locale });
    }
    const theme = themes.find((name) => name === form.text("theme"));
    if (theme !== undefined) writePreference(c, "theme", theme);
    return c.redirect(returnPath(form.text("next"), "/"), 303);
  });
}

export const preferencePages: PageDeclaration<PageDeps> = {
  isPublicForm: true,
  isHarmlessForm: true,
  routes: createPreferences,
};
