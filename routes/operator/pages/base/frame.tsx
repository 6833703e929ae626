/** The frame of the operator's pages: their own navigation, and a message after an act. */
import type { Context } from "hono";
import type { Child } from "hono/jsx";
import { Notice } from "../../../dashboard/components/mod.ts";
import { type PageOptions, renderPage } from "../../../dashboard/frame/layout.tsx";
import { currentEntry } from "../../../dashboard/page/navigation.ts";
import type { DashboardEnv } from "../../../dashboard/page/visitor.ts";
import type { Operator } from "../../../../kv/people/audit/operator_audit.ts";
import { frameTexts } from "./texts.ts";
import { defined } from "../../../../core/lib/base/defined.ts";

/** The context of a request to an operator's page. */
export type OperatorContext = Context<DashboardEnv>;

/** The message after an act, named in the address; other values there are ignored. */
export type Done = keyof typeof frameTexts["en"]["done"];

function isDone(text: string | undefined): text is Done {
  return text !== undefined && Object.hasOwn(frameTexts.en.done, text);
}

/** Answers with an operator page. */
export async function renderOperatorPage(
  c: OperatorContext,
  options: {
    /** Absent: the label of the page's entry in the navigation. */
    readonly title?: string;
    /** The entry that the page belongs to, if it is not the one of its path. */
    readonly under?: string;
    readonly lead?: Child;
    readonly actions?: Child;
    /** What went wrong with the form that was sent. */
    readonly problem?: string | undefined;
    /** The status of a page that shows its problem elsewhere than at its top. */
    readonly status?: 400;
  } & Pick<PageOptions, "scripts" | "styles">,
  body: Child,
) {
  const { locale } = c.get("visitor");
  const t = frameTexts[locale];
  const navigation = c.get("operatorNavigation") ?? { items: [], depth: 1 };
  const current = currentEntry(navigation, options.under ?? c.req.path);
  const done = c.req.query("done");
  return await renderPage(
    c,
    {
      title: options.title ?? current?.label[locale] ?? "",
      status: options.status ?? (options.problem === undefined ? 200 : 400),
      ...defined({
        lead: options.lead,
        actions: options.actions,
        scripts: options.scripts,
        styles: options.styles,
      }),
    },
    <>
      <nav class="subnav" aria-label={t.navigation}>
        {navigation.items.map(({ entry }) => (
          <a href={entry.href} aria-current={entry === current ? "page" : undefined}>
            {entry.label[locale]}
          </a>
        ))}
      </nav>
      {options.problem !== undefined && <Notice tone="danger">{options.problem}</Notice>}
      {isDone(done) && <Notice tone="success">{t.done[done]}</Notice>}
      {body}
    </>,
  );
}

/** Redirects after an act to a page that reports it, so that a reload repeats nothing. */
export function doneAt(c: OperatorContext, path: string, done: Done): Response {
  const mark = path.includes("?") ? "&" : "?";
  return c.redirect(`${path}${mark}done=${done}`, 303);
}

/** Returns the operator who sent the request. */
export function operatorOf(c: OperatorContext): Operator {
  const { account } = c.get("signedIn");
  return { accountId: account.id, email: account.email ?? account.id };
}
