/**
 * The frame of every page: head, navigation, footer. Pages give a title, the section they belong to, and a body.
 *
 * - Folder `routes/dashboard/frame/`: the frame around every page, and the pages for errors.
 * - In: a title, a section, a body, and who is looking.
 * - Out: whole HTML documents.
 * - Never: reads the store.
 */
import type { Context } from "hono";
import { raw } from "hono/html";
import type { Child, PropsWithChildren } from "hono/jsx";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { type AssetName, assetPath } from "../assets.ts";
import { Icon, type IconName, Mark } from "../components/icons.tsx";
import { CsrfField } from "../components/form.tsx";
import { Notice } from "../components/blocks.tsx";
import { localeNames, locales } from "../i18n.ts";
import { layoutTexts } from "./layout_texts.ts";
import { type DashboardEnv, themes, type Visitor } from "../visitor/visitor.ts";

/** The entry of the navigation that a page belongs to. */
export type Section =
  | "home"
  | "keys"
  | "usage"
  | "wallet"
  | "invoices"
  | "models"
  | "playground"
  | "connect"
  | "account"
  | "operator";

const navigation: readonly { section: Section; href: string; icon: IconName }[] = [
  { section: "home", href: "/", icon: "home" },
  { section: "keys", href: "/keys", icon: "key" },
  { section: "usage", href: "/usage", icon: "usage" },
  { section: "wallet", href: "/wallet", icon: "wallet" },
  { section: "invoices", href: "/invoices", icon: "invoice" },
  { section: "models", href: "/models", icon: "models" },
  { section: "playground", href: "/playground", icon: "playground" },
  { section: "connect", href: "/connect", icon: "connect" },
  { section: "account", href: "/account", icon: "account" },
];

export interface PageOptions {
  readonly title: string;
  readonly section?: Section | undefined;
  /** Stands beside the heading. */
  readonly actions?: Child;
  /** One sentence under the heading. */
  readonly lead?: Child;
  /** Sign-in and its kin: one narrow card in the middle. */
  readonly narrow?: boolean;
  /** The page draws its own heading (landing page). */
  readonly bare?: boolean;
  /** Scripts beyond the usual ones. */
  readonly scripts?: readonly AssetName[];
  readonly styles?: readonly AssetName[];
  readonly status?: ContentfulStatusCode;
}

/**
 * Answers with a page. The body is JSX: every value in it is escaped.
 *
 * @example
 * ```tsx ignore
 * app.get("/wallet", requireAccount, (c) => {
 *   const { locale } = c.get("visitor");
 *   return renderPage(c, { title: texts[locale].title, section: "wallet" }, <p>…</p>);
 * });
 * ```
 */
export function renderPage<Env extends DashboardEnv>(
  c: Context<Env>,
  options: PageOptions,
  body: Child,
): Response | Promise<Response> {
  const visitor = c.get("visitor");
  return c.html(
    <>
      {raw("<!DOCTYPE html>")}
      <Page visitor={visitor} {...options}>{body}</Page>
    </>,
    options.status ?? 200,
  );
}

type PageProps = PropsWithChildren<PageOptions & { visitor: Visitor }>;

function Page(props: PageProps) {
  const { visitor, children } = props;
  const t = layoutTexts[visitor.locale];
  const app = visitor.signedIn !== undefined && props.narrow !== true;
  return (
    <html lang={visitor.locale} data-theme={visitor.theme === "auto" ? undefined : visitor.theme}>
      <Head {...props} />
      <body class={app ? "app" : "public"}>
        <a class="skip-link" href="#main">{t.skip}</a>
        <TopBar visitor={visitor} section={props.section} app={app} />
        <div class="frame">
          {app && (
            <nav class="side" aria-label={t.navigation}>
              <NavLinks visitor={visitor} section={props.section} />
            </nav>
          )}
          <main id="main" class={props.narrow === true ? "narrow" : undefined} tabindex={-1}>
            {visitor.maintenance !== undefined && (
              <Notice tone="warning" title={t.maintenance}>
                <p>{visitor.maintenance}</p>
              </Notice>
            )}
            {visitor.sandbox && app && <Notice tone="info">{t.sandbox}</Notice>}
            {props.bare !== true && (
              <div class="page-head">
                <div>
                  <h1>{props.title}</h1>
                  {props.lead !== undefined && <p class="lead">{props.lead}</p>}
                </div>
                {props.actions !== undefined && <div class="page-actions">{props.actions}</div>}
              </div>
            )}
            {children}
          </main>
        </div>
        <Footer visitor={visitor} />
        <div id="announcer" class="visually-hidden" role="status" aria-live="polite"></div>
        <ConfirmDialog visitor={visitor} />
      </body>
    </html>
  );
}

function Head({ visitor, title, scripts, styles, bare }: PageProps) {
  const t = layoutTexts[visitor.locale];
  return (
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content={visitor.theme === "auto" ? "light dark" : visitor.theme} />
      <meta name="referrer" content="same-origin" />
      <meta name="csrf-token" content={visitor.csrfToken} />
      <meta name="htmx-config" content='{"includeIndicatorCSS":false,"history":false}' />
      <title>{bare === true ? title : `${title} · ${t.brand}`}</title>
      <link rel="icon" type="image/svg+xml" href={assetPath("favicon.svg")} />
      <link rel="stylesheet" href={assetPath("app.css")} />
      {styles?.map(styleLink)}
      {(["htmx.js", "app.js", ...scripts ?? []] as const).map(scriptLink)}
    </head>
  );
}

function styleLink(name: AssetName) {
  return <link rel="stylesheet" href={assetPath(name)} />;
}

function scriptLink(name: AssetName) {
  return <script src={assetPath(name)} defer></script>;
}

function NavLinks({ visitor, section }: { visitor: Visitor; section: Section | undefined }) {
  const t = layoutTexts[visitor.locale];
  const entries = visitor.signedIn?.isOperator === true
    ? [...navigation, { section: "operator", href: "/operator", icon: "operator" } as const]
    : navigation;
  return (
    <ul>
      {entries.map((entry) => (
        <li>
          <a href={entry.href} aria-current={entry.section === section ? "page" : undefined}>
            <Icon name={entry.icon} />
            <span>{t.sections[entry.section]}</span>
          </a>
        </li>
      ))}
    </ul>
  );
}

function TopBar({ visitor, section, app }: {
  visitor: Visitor;
  section: Section | undefined;
  app: boolean;
}) {
  const t = layoutTexts[visitor.locale];
  return (
    <header class="top">
      <a class="brand" href="/">
        <Mark />
        <span>{t.brand}</span>
      </a>
      {app
        ? (
          <div class="top-end">
            <span class="who">{visitor.signedIn?.account.email}</span>
            <form method="post" action="/sign-out" class="sign-out">
              <CsrfField visitor={visitor} />
              <button type="submit" class="link-button" title={t.signOut}>
                <Icon name="signOut" />
                <span>{t.signOut}</span>
              </button>
            </form>
            <details class="menu">
              <summary aria-label={t.menu}>
                <Icon name="menu" />
              </summary>
              <nav aria-label={t.navigation}>
                <NavLinks visitor={visitor} section={section} />
              </nav>
            </details>
          </div>
        )
        : <PublicLinks visitor={visitor} section={section} />}
    </header>
  );
}

function PublicLinks({ visitor, section }: { visitor: Visitor; section: Section | undefined }) {
  const t = layoutTexts[visitor.locale];
  return (
    <nav class="top-end" aria-label={t.navigation}>
      <a href="/models" aria-current={section === "models" ? "page" : undefined}>
        {t.publicModels}
      </a>
      <a
        href="/connect"
        class="wide-link"
        aria-current={section === "connect" ? "page" : undefined}
      >
        {t.sections.connect}
      </a>
      {visitor.signedIn === undefined
        ? (
          <>
            <a href="/sign-in">{t.signIn}</a>
            <a href="/sign-up" class="button small">{t.signUp}</a>
          </>
        )
        : <a href="/" class="button small">{t.dashboard}</a>}
    </nav>
  );
}

/** Language and theme: plain forms, so they work without script. */
function Footer({ visitor }: { visitor: Visitor }) {
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

/** Asked by `app.js` before a form with `data-confirm` goes out. */
function ConfirmDialog({ visitor }: { visitor: Visitor }) {
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
