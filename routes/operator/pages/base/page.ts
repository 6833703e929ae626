/**
 * How an operator's page is declared: once, in its own file. `routes/operator/pages/mod.ts` lists the declarations.
 *
 * - Folder `routes/operator/pages/base/`: what the operator's pages share: declaration, gate, frame, texts, parts of
 *   lists.
 * - In: an account that asks for a page of operators.
 * - Out: the frame around a page, or a 404.
 * - Never: admits a session that has not entered a one-time code within twelve hours.
 */
import type { Hono } from "hono";
import type { PageLink } from "../../../dashboard/page/navigation.ts";
import type { DashboardEnv } from "../../../dashboard/page/visitor.ts";
import type { OperatorDeps } from "./deps.ts";

/** A page, or a group of pages that share an entry in the operator's navigation. */
export interface OperatorPage {
  /** The entry; its label is the title of pages that name none. */
  readonly link: PageLink;
  /** Registers the handlers, under whole paths. */
  readonly routes: (deps: OperatorDeps) => Hono<DashboardEnv>;
}
