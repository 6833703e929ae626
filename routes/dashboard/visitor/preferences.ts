/** Stores the language and theme that the footer offers. */
import { Hono } from "hono";
import { returnPath } from "../../../core/people/accounts/return_path.ts";
import { updateAccount } from "../../../kv/people/accounts/accounts.ts";
import { writePreference } from "./cookies.ts";
import type { PageDeps } from "../page/page_deps.ts";
import { readForm } from "../page/form_data.ts";
import { parseLocale } from "../text/i18n.ts";
import { type DashboardEnv, themes } from "../page/visitor.ts";
import type { PageDeclaration } from "../page/page.ts";

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
