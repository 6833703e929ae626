/** Acts of customers (`routes/acts/`) as pages perform them: who acts, and what a page shows of a refusal. */
import type { Context } from "hono";
import type { z } from "zod";
import { defined } from "../../../core/lib/base/defined.ts";
import type { Clock } from "../../../core/lib/time/clock.ts";
import {
  type ActDeps,
  type Acting,
  type CommonRefusal,
  type Operation,
  type Outcome,
  perform,
  type Refused,
} from "../../acts/operation.ts";
import type { ActName } from "../../acts/spending.ts";
import { defineTexts, type Locale } from "../text/i18n.ts";
import type { PostedForm } from "../page/form_data.ts";
import { pageActOf } from "../page/page_acts.ts";
import type { DashboardEnv } from "../page/visitor.ts";
import { clientAddress, doneBy } from "./doer.ts";

/**
 * Returns the signed-in person as who acts for the organisation of the session.
 *
 * @param form the form of an act that is done once however often it is sent
 */
export function actingOf(
  c: Context<DashboardEnv>,
  nowMs: number,
  form?: Pick<PostedForm, "formId">,
): Acting {
  const { account, person, role, session } = c.get("signedIn");
  return {
    account,
    personId: person.id,
    roles: [role],
    actorName: person.email ?? person.id,
    address: clientAddress(c),
    locale: c.get("visitor").locale,
    ...doneBy(c, nowMs),
    ...defined({ companyId: session.companyId, formId: form?.formId() }),
  };
}

/**
 * Performs the operation of the form that was sent: the one way for a page to do so.
 *
 * @param form the form of an act that is done once however often it is sent
 * @throws {TypeError} for an operation that is not the declared one of the form (`pageActs`)
 */
export async function performForm<
  Name extends ActName,
  Input extends z.ZodType,
  Body,
  Why extends string,
  Deps extends Pick<ActDeps, "kv">,
>(
  c: Context<DashboardEnv>,
  deps: Deps & { readonly clock: Clock },
  operation: Operation<Name, Input, Body, Why, Deps>,
  sent: unknown,
  form?: Pick<PostedForm, "formId">,
): Promise<Outcome<Body, Why>> {
  const { method, path } = c.req;
  if (pageActOf(method, path)?.operation !== operation) {
    throw new TypeError(`${method} ${path} is not declared as ${operation.name}`);
  }
  return await perform(deps, actingOf(c, deps.clock.nowMs(), form), operation, sent);
}

const spentTexts = defineTexts({
  en: {
    tooMany: (minutes: number) => `Too many actions. Try again in ${minutes} minutes.`,
  },
  vi: {
    tooMany: (minutes) => `Bạn thao tác quá nhiều lần. Hãy thử lại sau ${minutes} phút.`,
  },
});

/** Says that a person, or the organisation, has spent what it may for now. */
export function spentWords(locale: Locale, retryAfterSeconds: number): string {
  return spentTexts[locale].tooMany(Math.ceil(retryAfterSeconds / 60));
}

/** The words of {@linkcode spentWords}, if an act was refused for that; `undefined` for any other refusal. */
export function spentProblem(
  refusal: Refused<string> | CommonRefusal,
  locale: Locale,
): string | undefined {
  return "common" in refusal && refusal.common === "spent"
    ? spentWords(locale, refusal.retryAfterSeconds)
    : undefined;
}

/** Views of a page for each reason why an act was refused. */
export interface RefusalViews<Why extends string, View> {
  readonly refusals: Readonly<Record<Why, View>>;
  /** By the member of the input that is wrong. */
  readonly fields?: Readonly<Record<string, View>>;
  /** With the words of {@linkcode spentWords}. */
  readonly spent: (words: string) => View;
  /** For what the page's own forms never send. */
  readonly otherwise: View;
}

/** Chooses what a page shows for a refusal. */
export function refusalView<Why extends string, View>(
  refusal: Refused<Why> | CommonRefusal,
  locale: Locale,
  { refusals, fields = {}, spent, otherwise }: RefusalViews<Why, View>,
): View {
  if ("why" in refusal) return refusals[refusal.why];
  switch (refusal.common) {
    case "input":
      return fields[refusal.issues[0]?.field ?? ""] ?? otherwise;
    case "spent":
      return spent(spentWords(locale, refusal.retryAfterSeconds));
    case "not_allowed":
      return otherwise;
  }
}
