/** Shared parts of the sign-in pages. */
import type { Context } from "hono";
import type { Child } from "hono/jsx";
import { Card, Notice, type NoticeTone, TextField } from "../../components/mod.ts";
import type { Locale } from "../../text/i18n.ts";
import type { AssetName } from "../../assets/assets.ts";
import { renderPage } from "../../frame/layout.tsx";
import type { DashboardEnv } from "../../page/visitor.ts";
import type { SignInDeps } from "../../page/sign_in_deps.ts";
import { signInTexts } from "./texts.ts";
import { defined } from "../../../../core/lib/base/defined.ts";

/** Writes the query that carries the page to return to through the sign-in pages. */
export function nextQuery(next: string | undefined): string {
  return next === undefined ? "" : `?next=${encodeURIComponent(next)}`;
}

/** The hidden field with the page to return to. */
export function NextField({ next }: { next: string | undefined }) {
  return <input type="hidden" name="next" value={next ?? ""} />;
}

/** Renders a narrow page with a form. `refused`: the form was invalid and shows why. */
export function formPage(
  c: Context<DashboardEnv>,
  { title, lead, refused, scripts }: {
    title: string;
    lead?: string;
    refused: boolean;
    scripts?: readonly AssetName[];
  },
  body: Child,
) {
  const status = refused ? 422 : 200;
  return renderPage(c, { title, narrow: true, status, ...defined({ lead, scripts }) }, body);
}

/** The field of the e-mail address. */
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

/** The button of the OpenID provider, if the operator has configured one. */
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

/** Shows a page without a form: the reason, and a link to another page. */
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
