/** What the pages around signing in have in common. */
import type { Context } from "hono";
import type { Child } from "hono/jsx";
import { Card, Notice, type NoticeTone, TextField } from "../components/mod.ts";
import type { Locale } from "../i18n.ts";
import { renderPage } from "../frame/layout.tsx";
import type { DashboardEnv } from "../visitor/visitor.ts";
import type { SignInDeps } from "./deps.ts";
import { signInTexts } from "./texts.ts";
import { defined } from "../../../core/lib/defined.ts";

/** The pages to start from carry on where the visitor wanted to go. */
export function nextQuery(next: string | undefined): string {
  return next === undefined ? "" : `?next=${encodeURIComponent(next)}`;
}

export function NextField({ next }: { next: string | undefined }) {
  return <input type="hidden" name="next" value={next ?? ""} />;
}

/** A narrow page with a form. `refused`: what was sent cannot be taken, and the form says why. */
export function formPage(
  c: Context<DashboardEnv>,
  { title, lead, refused }: { title: string; lead?: string; refused: boolean },
  body: Child,
) {
  const status = refused ? 422 : 200;
  return renderPage(c, { title, narrow: true, status, ...defined({ lead }) }, body);
}

/** The address that one signs in with. */
export function EmailField({ value, error, autofocus, locale }: {
  value: string | undefined;
  error?: string | undefined;
  autofocus?: boolean;
  locale: Locale;
}) {
  return (
    <TextField
      name="email"
      type="email"
      label={signInTexts[locale].email}
      value={value}
      autocomplete="username"
      required
      error={error}
      {...(autofocus !== undefined && { autofocus })}
    />
  );
}

/** The other way in, where the operator has set up a provider. */
export function OpenIdWay({ openId, next, locale }: {
  openId: SignInDeps["openId"];
  next: string | undefined;
  locale: Locale;
}) {
  const t = signInTexts[locale];
  if (openId === undefined) return null;
  return (
    <>
      <div class="or">{t.or}</div>
      <a class="button outline wide-button" href={`/auth/openid/start${nextQuery(next)}`}>
        {t.continueWith(openId.label)}
      </a>
    </>
  );
}

/** Here it goes no further: why, and where to go instead. */
export function deadEndPage(
  c: Context<DashboardEnv>,
  { title, tone = "danger", why, way }: {
    title: string;
    tone?: NoticeTone;
    why: string;
    way: { readonly href: string; readonly text: string };
  },
) {
  return formPage(
    c,
    { title, refused: true },
    <Card>
      <Notice tone={tone}>{why}</Notice>
      <p>
        <a href={way.href}>{way.text}</a>
      </p>
    </Card>,
  );
}
