/** Shared parts of the sign-in pages. */
import type { Context } from "hono";
import type { Child } from "hono/jsx";
import { Card, Notice, type NoticeTone, TextField } from "../../components/mod.ts";
import type { ProviderId } from "../../../../core/config/sign_in_providers.ts";
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

/** Path at which the sign-in at a provider begins. */
export function providerStartPath(id: ProviderId): string {
  return `/auth/${id}/start`;
}

/** The logos of the providers: shapes with their colours, as their guides for buttons ask. */
const logos: Readonly<
  Record<ProviderId, readonly { readonly d: string; readonly fill: string }[]>
> = {
  google: [
    {
      d: "M22.6 12.2c0-.8-.1-1.5-.2-2.2H12v4.2h5.9a5.1 5.1 0 0 1-2.2 3.3v2.7h3.6c2.1-1.9 3.3-4.7 3.3-8Z",
      fill: "#4285f4",
    },
    {
      d: "M12 23c3 0 5.5-1 7.3-2.7l-3.6-2.7c-1 .6-2.2 1-3.7 1-2.9 0-5.3-1.9-6.2-4.5H2.2v2.8A11 11 0 0 0 12 23Z",
      fill: "#34a853",
    },
    {
      d: "M5.8 14.1a6.6 6.6 0 0 1 0-4.2V7.1H2.2a11 11 0 0 0 0 9.9l3.6-2.9Z",
      fill: "#fbbc05",
    },
    {
      d: "M12 5.4c1.6 0 3.1.6 4.2 1.6l3.2-3.1A11 11 0 0 0 2.2 7.1l3.6 2.8C6.7 7.3 9.1 5.4 12 5.4Z",
      fill: "#ea4335",
    },
  ],
  github: [{
    d: "M12 1.3a11 11 0 0 0-3.5 21.4c.6.1.8-.2.8-.5v-2c-3.1.7-3.7-1.3-3.7-1.3-.5-1.3-1.2-1.6-1.2-1.6-1-.7.1-.7.1-.7 1.1.1 1.7 1.1 1.7 1.1 1 1.7 2.6 1.2 3.2.9.1-.7.4-1.2.7-1.5-2.5-.3-5-1.2-5-5.4 0-1.2.4-2.2 1.1-3-.1-.3-.5-1.4.1-2.9 0 0 .9-.3 3 1.1a10.5 10.5 0 0 1 5.5 0c2.1-1.4 3-1.1 3-1.1.6 1.5.2 2.6.1 2.9.7.8 1.1 1.8 1.1 3 0 4.2-2.6 5.1-5 5.4.4.3.8 1 .8 2v3c0 .3.2.6.8.5A11 11 0 0 0 12 1.3Z",
    fill: "currentColor",
  }],
  openid: [{
    d: "M12 2.5a5 5 0 0 0-5 5V10H5.5v11.5h13V10H17V7.5a5 5 0 0 0-5-5Zm-2.5 5a2.5 2.5 0 0 1 5 0V10h-5V7.5ZM12 13.5a1.7 1.7 0 0 1 .8 3.2v2h-1.6v-2a1.7 1.7 0 0 1 .8-3.2Z",
    fill: "currentColor",
  }],
};

/** The buttons of the operator's providers, above the form: the shortest way for most. */
export function ProviderWays({ providers = [], next, locale }: {
  providers: SignInDeps["providers"];
  next: string | undefined;
  locale: Locale;
}) {
  const t = signInTexts[locale];
  if (providers.length === 0) return null;
  return (
    <>
      <div class="provider-ways">
        {providers.map(({ id, client }) => (
          <a class="button outline wide-button" href={`${providerStartPath(id)}${nextQuery(next)}`}>
            <svg
              class="icon"
              viewBox="0 0 24 24"
              width="20"
              height="20"
              aria-hidden="true"
              focusable="false"
            >
              {logos[id].map(({ d, fill }) => <path key={d} d={d} fill={fill} />)}
            </svg>{" "}
            {t.continueWith(client.label)}
          </a>
        ))}
      </div>
      <div class="or">{t.orByMail}</div>
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
