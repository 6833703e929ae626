/** Who acts on a page, as the acts of customers take it (`routes/acts/`), and what a page shows of a refusal. */
import type { Context } from "hono";
import { defined } from "../../../core/lib/base/defined.ts";
import type { Acting, CommonRefusal, Refused } from "../../acts/operation.ts";
import { defineTexts, type Locale } from "../text/i18n.ts";
import type { PostedForm } from "../page/form_data.ts";
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

/** What a page shows for each reason why an act was refused. */
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
