/**
 * The frame of the operator's pages: their own sidebar and tabs, and a message after an act.
 *
 * - Folder `routes/operator/pages/base/`: what the operator's pages share: declaration, gate, frame, texts, parts of
 *   lists.
 * - In: an account that asks for a page of operators.
 * - Out: the frame around a page, or a 404.
 * - Never: admits a session that has not entered a one-time code within twelve hours.
 */
import type { Context, Hono } from "hono";
import type { Child } from "hono/jsx";
import { Empty, Notice, SubmitButton, TextField } from "../../../dashboard/components/mod.ts";
import { type PageOptions, renderPage } from "../../../dashboard/frame/layout.tsx";
import type { PageLink } from "../../../dashboard/page/navigation.ts";
import {
  type OperatorShell,
  type WaitingCounts,
  whereaboutsOf,
} from "../../../dashboard/page/places.ts";
import type { DashboardEnv } from "../../../dashboard/page/visitor.ts";
import type { Operator } from "../../../../kv/people/audit/operator_audit.ts";
import { operatorArea, PlaceTabs } from "./sidebar.tsx";
import { frameTexts } from "./texts.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import type { MasterKeys } from "../../../../core/people/api_keys/seal.ts";
import type { RouteReport } from "../../../../core/routing/contract/router.ts";
import type { TopupSettings } from "../../../../core/trade/settings/settings.ts";
import type { BankIntake } from "../../../../kv/money/payments/bank_intake.ts";
import type { LiveCatalog } from "../../../../kv/services/catalog/live_catalog.ts";
import type { RateView } from "../../../dashboard/page/rate_view.ts";
import type { OperationAct, OperationDeps } from "../../operations/contract/operation.ts";
import { maxReasonChars } from "../../operations/contract/texts.ts";
import type { PageDeps } from "../../../dashboard/page/page_deps.ts";
import type { SepayPollResult } from "../../../payments/sepay_poll.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";

// What the operator's pages need of the gateway.

/** The dependencies of all pages under `/operator`, with those of the operations that pages call. */
export interface OperatorDeps extends PageDeps, Omit<OperationDeps, "kv" | "clock" | "operators"> {
  readonly topup: TopupSettings;
  /** Seals the secrets of second factors. */
  readonly masterKeys: MasterKeys;
  readonly intake: BankIntake;
  /** The catalogue that calls use now, and the version that this process cannot serve, if there is one. */
  readonly catalog: Pick<LiveCatalog, "current" | "refused" | "head">;
  readonly routes: () => readonly RouteReport[];
  /** Rate limits and their use; absent: none are shown. */
  readonly rates?: RateView | undefined;
  /** Reads the provider's list of movements now. Absent: no token is set. */
  readonly poll?: (() => Promise<SepayPollResult>) | undefined;
  readonly hintMail: () => void;
}

// Shared parts of the operator's lists.

/** The message in place of an empty list. */
export function NothingHere({ of, locale }: {
  of: keyof typeof frameTexts["en"]["nothing"];
  locale: Locale;
}) {
  return <Empty title={frameTexts[locale].nothing[of]} />;
}

/** The search form of a list. */
export function SearchForm({ query, hint, locale }: {
  query: string;
  hint: string;
  locale: Locale;
}) {
  const t = frameTexts[locale];
  return (
    <form method="get" class="inline-form">
      <TextField name="q" label={t.search} type="search" hint={hint} value={query} />
      <SubmitButton tone="plain">{t.show}</SubmitButton>
    </form>
  );
}

// How an operator's page is declared: once, in its own file. `routes/operator/pages/operator_pages.ts` lists the declarations.

/** A page, or a group of pages that share an entry in the operator's tabs. */
export interface OperatorPage {
  /** The entry; its label is the title of pages that name none. */
  readonly link: PageLink;
  /** Further views of the page with entries of their own, below the tabs. */
  readonly views?: readonly PageLink[];
  /** Registers the handlers, under whole paths. */
  readonly routes: (deps: OperatorDeps) => Hono<DashboardEnv>;
}

// The field for an operator's reason: required by every act that moves money or blocks somebody, and kept in the audit
// log.

/** `id` is needed only for the second field of a page. */
export function ReasonField({ locale, id }: { locale: Locale; id?: string }) {
  return (
    <TextField
      name="reason"
      id={id}
      label={frameTexts[locale].reason}
      required
      maxlength={maxReasonChars}
    />
  );
}

/** The context of a request to an operator's page. */
export type OperatorContext = Context<DashboardEnv>;

/** The message after an act, named in the address; other values there are ignored. */
export type Done = keyof typeof frameTexts["en"]["done"];

function isDone(text: string | undefined): text is Done {
  return text !== undefined && Object.hasOwn(frameTexts.en.done, text);
}

/** The frame of pages that are served without the places around them, as the gate does. */
const noShell: OperatorShell = {
  places: [],
  depth: 1,
  waiting: () => Promise.resolve(new Map()),
  facts: () => Promise.resolve({ verified: undefined, catalogVersion: undefined }),
};

/** Answers with an operator page. */
export async function renderOperatorPage(
  c: OperatorContext,
  options: {
    /** Absent: the label of the page's link. */
    readonly title?: string;
    /** The address of the link that the page belongs to, if it is not the one of its path. */
    readonly under?: string;
    readonly lead?: Child;
    readonly actions?: Child;
    /** Problem of the form that was sent. */
    readonly problem?: string | undefined;
    /** The status of a page that shows its problem elsewhere than at its top. */
    readonly status?: 400;
    /** Counts of what waits, if the page has just read them. */
    readonly waiting?: WaitingCounts;
  } & Pick<PageOptions, "scripts" | "styles">,
  body: Child,
) {
  const { locale } = c.get("visitor");
  const t = frameTexts[locale];
  const shell = c.get("operatorShell") ?? noShell;
  const here = whereaboutsOf(shell, options.under ?? addressOf(c));
  const [waiting, facts] = await Promise.all([options.waiting ?? shell.waiting(), shell.facts()]);
  const done = c.req.query("done");
  return await renderPage(
    c,
    {
      title: options.title ?? here?.link.label[locale] ?? "",
      area: operatorArea({ shell, here, waiting, facts, locale }),
      styles: ["operator.css", ...options.styles ?? []],
      status: options.status ?? (options.problem === undefined ? 200 : 400),
      ...defined({
        lead: options.lead,
        actions: options.actions,
        scripts: options.scripts,
      }),
    },
    <>
      {here !== undefined && <PlaceTabs here={here} locale={locale} />}
      {options.problem !== undefined && <Notice tone="danger">{options.problem}</Notice>}
      {isDone(done) && <Notice tone="success">{t.done[done]}</Notice>}
      {body}
    </>,
  );
}

/** The path and query of a request. */
function addressOf(c: OperatorContext): string {
  return c.req.path + new URL(c.req.url).search;
}

/** Redirects after an act to a page that reports it, so that a reload repeats nothing. */
export function doneAt(c: OperatorContext, path: string, done: Done): Response {
  const mark = path.includes("?") ? "&" : "?";
  return c.redirect(`${path}${mark}done=${done}`, 303);
}

/** Returns the operator who sent the request. */
export function operatorOf(c: OperatorContext): Operator {
  const { person: account } = c.get("signedIn");
  return { accountId: account.id, email: account.email ?? account.id };
}

/** Returns who acts with a form, and when. */
export function actOf(c: OperatorContext, { clock }: Pick<OperatorDeps, "clock">): OperationAct & {
  readonly operator: Operator;
} {
  return { operator: operatorOf(c), nowMs: clock.nowMs() };
}
