/** Shared parts of pages with mailed tokens: "check your mail", and the field for the token. */
import type { Context } from "hono";
import { Card, TextField } from "../../components/mod.ts";
import type { Locale } from "../../text/i18n.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardEnv } from "../../page/visitor.ts";
import { signInTexts } from "./texts.ts";

/** Shows that a mail was sent, with what to do if it does not arrive. */
export function mailSentPage(c: Context<DashboardEnv>, sentence: string) {
  const t = signInTexts[c.get("visitor").locale];
  return renderPage(
    c,
    { title: t.sentTitle, narrow: true },
    <>
      <Card>
        <p>{sentence}</p>
        <p class="muted">{t.sentHint}</p>
      </Card>
      <p class="below-card">
        <a href="/sign-in">{t.back}</a>
      </p>
    </>,
  );
}

/**
 * The field for the token of a mail. `app.js` fills it from the fragment of the link and hides it; without script it
 * can be pasted.
 */
export function TokenField({ token, locale }: { token: string | undefined; locale: Locale }) {
  const t = signInTexts[locale];
  if (token !== undefined && token !== "") {
    return <input type="hidden" name="token" value={token} />;
  }
  return (
    <div class="token-field">
      <TextField
        name="token"
        label={t.token}
        hint={t.tokenHint}
        required
        autocomplete="one-time-code"
        tokenFromFragment
      />
    </div>
  );
}
