/** How an operator's page is declared: once, in its own file. `mod.ts` lists the declarations. */
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
