/**
 * Renders the frame of every page: head, navigation, footer. Pages give a title and a body.
 *
 * - Folder `routes/dashboard/frame/`: the frame around every page, and the pages for errors.
 * - In: a title, a body, the navigation, and who is looking.
 * - Out: whole HTML documents.
 * - Never: reads the store.
 */
import type { Context } from "hono";
import { raw } from "hono/html";
import type { Child, PropsWithChildren } from "hono/jsx";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { accountName } from "../../../kv/people/accounts/accounts.ts";
import { type AssetName, assetPath } from "../assets/assets.ts";
import { Notice } from "../components/mod.ts";
import { AnnouncementNotice } from "./announcement_list.tsx";
import type { TopBarState } from "../page/top_bar_state.ts";
import type { DashboardEnv, Visitor } from "../page/visitor.ts";
import {
  BottomBar,
  type NavigationLinks,
  NavLinks,
  type PageArea,
  Preferences,
  TopBar,
} from "./header.tsx";
import { layoutTexts } from "./layout_texts.ts";
import { currentEntry, type PageLink } from "../page/navigation.ts";

// The footer of every page, and the dialog that asks before an act.

/** The footer; for visitors without a session with language and theme, which others have in their menu. */
function Footer({ visitor, app }: { visitor: Visitor; app: boolean }) {
  const t = layoutTexts[visitor.locale];
  return (
    <footer class="foot">
      <p>
        {visitor.company ?? t.footer}
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
        <li>
          <a href="/proofs">{t.proofs}</a>
        </li>
        {visitor.suppliedPages.map((name) => (
          <li>
            <a href={`/${name}`}>{t.supplied[name]}</a>
          </li>
        ))}
      </ul>
      {!app && <Preferences visitor={visitor} />}
    </footer>
  );
}

/** The dialog that `app.js` opens before it sends a form with `data-confirm`. */
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

/** Options that a page gives its frame. */
export interface PageOptions {
  readonly title: string;
  /** Description for search engines and previews; pages for one account have none. */
  readonly description?: string;
  /** The address of an Atom feed of what the page shows. */
  readonly feed?: string;
  /** No entry of the navigation is marked as the current one, whatever the path. */
  readonly outsideNavigation?: true;
  /** The area of the page, if it is another than the customer's. */
  readonly area?: PageArea;
  /** Shown beside the heading. */
  readonly actions?: Child;
  /** One sentence under the heading. */
  readonly lead?: Child;
  /** A narrow card in the middle, as on the sign-in page. */
  readonly narrow?: boolean;
  /** The page draws its own heading (landing page). */
  readonly bare?: boolean;
  /** Scripts in addition to those of every page. */
  readonly scripts?: readonly AssetName[];
  readonly styles?: readonly AssetName[];
  readonly status?: ContentfulStatusCode;
}

/**
 * Answers with a page. The body is JSX, which escapes every value in it.
 *
 * @example
 * ```tsx ignore
 * app.get("/wallet", requireAccount, (c) => {
 *   const { locale } = c.get("visitor");
 *   return renderPage(c, { title: texts[locale].title }, <p>…</p>);
 * });
 * ```
 */
export async function renderPage<Env extends DashboardEnv>(
  c: Context<Env>,
  options: PageOptions,
  body: Child,
): Promise<Response> {
  const navigation = c.get("navigation") ?? noNavigation;
  const current = options.outsideNavigation === true
    ? undefined
    : currentEntry(navigation, c.req.path);
  const links = { navigation, current, area: options.area };
  const state = options.narrow === true ? undefined : await c.get("topBar")?.();
  return await c.html(
    <>
      {raw("<!DOCTYPE html>")}
      <Page
        visitor={c.get("visitor")}
        links={links}
        state={state}
        {...options}
      >
        {body}
      </Page>
    </>,
    options.status ?? 200,
  );
}

const noNavigation: NavigationLinks["navigation"] = { items: [], depth: 0 };

type PageProps = PropsWithChildren<
  PageOptions & {
    visitor: Visitor;
    links: NavigationLinks;
    state: TopBarState | undefined;
  }
>;

/** The entry of the navigation that a page belongs to without being it: the way back. */
function parentOf({ visitor, links: { current, area } }: PageProps): PageLink | undefined {
  const entry = area === undefined ? current : area.parent;
  const path = visitor.path.split("?")[0];
  return entry === undefined || entry.href.split("?")[0] === path ? undefined : entry;
}

function Page(props: PageProps) {
  const { visitor, links, state, children } = props;
  const t = layoutTexts[visitor.locale];
  const app = visitor.signedIn !== undefined && props.narrow !== true;
  const parent = app ? parentOf(props) : undefined;
  return (
    <html lang={visitor.locale} data-theme={visitor.theme === "auto" ? undefined : visitor.theme}>
      <Head {...props} />
      <body class={app ? "app" : "public"}>
        <a class="skip-link" href="#main">{t.skip}</a>
        <TopBar visitor={visitor} links={links} state={state} app={app} />
        <div class="frame">
          {app && (
            <nav class="side" aria-label={t.navigation}>
              <NavLinks visitor={visitor} links={links} within="side" />
            </nav>
          )}
          <main id="main" class={props.narrow === true ? "narrow" : undefined} tabindex={-1}>
            {visitor.maintenance !== undefined && (
              <Notice tone="warning" title={t.maintenance}>
                <p>{visitor.maintenance}</p>
              </Notice>
            )}
            {app && visitor.signedIn?.keptOutOf !== undefined && (
              <Notice tone="warning">
                {t.keptOutOf(accountName(visitor.signedIn.keptOutOf))}{" "}
                <a href={`/sign-in/company?${new URLSearchParams({ next: visitor.path })}`}>
                  {t.companySignIn}
                </a>
              </Notice>
            )}
            {visitor.announcements.map((announcement) =>
              AnnouncementNotice({ announcement, locale: visitor.locale })
            )}
            {props.bare !== true && (
              <div class="page-head">
                <div>
                  {parent !== undefined && (
                    <p class="crumb">
                      <a href={parent.href}>{parent.label[visitor.locale]}</a>
                    </p>
                  )}
                  <h1 id="page-title">{props.title}</h1>
                  {props.lead !== undefined && <p class="lead">{props.lead}</p>}
                </div>
                {props.actions !== undefined && <div class="page-actions">{props.actions}</div>}
              </div>
            )}
            {children}
          </main>
        </div>
        <Footer visitor={visitor} app={app} />
        {app && <BottomBar visitor={visitor} links={links} />}
        <div id="announcer" class="visually-hidden" role="status" aria-live="polite"></div>
        <ConfirmDialog visitor={visitor} />
      </body>
    </html>
  );
}

function Head({ visitor, title, description, feed, scripts, styles, bare }: PageProps) {
  return (
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <meta name="color-scheme" content={visitor.theme === "auto" ? "light dark" : visitor.theme} />
      <meta name="referrer" content="same-origin" />
      {visitor.csrfToken !== undefined && <meta name="csrf-token" content={visitor.csrfToken} />}
      <meta name="htmx-config" content='{"includeIndicatorCSS":false,"history":false}' />
      <title>{bare === true ? title : `${title} · ${visitor.brand.name}`}</title>
      {description === undefined
        ? <meta name="robots" content="noindex" />
        : <Preview visitor={visitor} title={title} description={description} />}
      {feed !== undefined && (
        <link rel="alternate" type="application/atom+xml" href={feed} title={title} />
      )}
      <link rel="icon" type={visitor.brand.iconType} href={visitor.brand.icon} />
      <link rel="stylesheet" href={assetPath("app.css")} />
      {styles?.map(styleLink)}
      {visitor.brand.style !== undefined && <link rel="stylesheet" href={visitor.brand.style} />}
      {(["htmx.js", "app.js", ...scripts ?? []] as const).map(scriptLink)}
    </head>
  );
}

/** Preview of a page for search engines and links. */
function Preview({ visitor, title, description }: {
  visitor: Visitor;
  title: string;
  description: string;
}) {
  return (
    <>
      <meta name="description" content={description} />
      <meta property="og:type" content="website" />
      <meta property="og:site_name" content={visitor.brand.name} />
      <meta property="og:title" content={title} />
      <meta property="og:description" content={description} />
      {visitor.brand.logoOrigin !== undefined && (
        <meta property="og:image" content={visitor.brand.logo} />
      )}
      <meta property="og:locale" content={ogLocales[visitor.locale]} />
      <meta name="twitter:card" content="summary" />
    </>
  );
}

const ogLocales = { en: "en_US", vi: "vi_VN" } as const;

function styleLink(name: AssetName) {
  return <link rel="stylesheet" href={assetPath(name)} />;
}

function scriptLink(name: AssetName) {
  return <script src={assetPath(name)} defer></script>;
}
