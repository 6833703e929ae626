/** The switch of the account page that makes a second factor a condition of everything else. */
import { type Context, Hono } from "hono";
import {
  type Account,
  requiresSecondFactor,
  updateAccount,
} from "../../../../kv/people/accounts/accounts.ts";
import { Badge, Card, PostForm, SubmitButton } from "../../components/mod.ts";
import type { DashboardDeps } from "../../page/deps.ts";
import { readForm } from "../../page/form_data.ts";
import type { DashboardEnv, Visitor } from "../../page/visitor.ts";
import { doneBy } from "../../visitor/doer.ts";
import { requireFresh } from "./confirm.tsx";
import { securityTexts } from "./security_texts.ts";

/** Takes the form of the card. */
export const requirementPath = "/account/second-factor";

/** The card with the switch. */
export function RequirementCard({ visitor, account }: { visitor: Visitor; account: Account }) {
  const t = securityTexts[visitor.locale];
  const isOn = requiresSecondFactor(account);
  return (
    <Card
      title={t.requirement}
      id="second-factor"
      actions={<Badge tone={isOn ? "good" : "neutral"}>{isOn ? t.on : t.off}</Badge>}
    >
      <p class="muted">{t.requirementText}</p>
      <PostForm
        visitor={visitor}
        action={requirementPath}
        confirm={isOn ? t.requirementEndConfirm : undefined}
      >
        <input type="hidden" name="required" value={isOn ? "no" : "yes"} />
        <SubmitButton tone="plain">{isOn ? t.requirementEnd : t.requirementBegin}</SubmitButton>
      </PostForm>
    </Card>
  );
}

async function switchRequirement(c: Context<DashboardEnv>, deps: DashboardDeps) {
  const isRequired = (await readForm(c)).text("required") === "yes";
  await updateAccount(deps.kv, c.get("signedIn").account.id, {
    secondFactorRequired: isRequired ? true : undefined,
  }, { act: "second_factor_requirement_changed", ...doneBy(c, deps.clock.nowMs()) });
  return c.redirect(`/account?done=${isRequired ? "required" : "not-required"}`, 303);
}

/** Registers the form of the card. */
export function createRequirementForm(deps: DashboardDeps): Hono<DashboardEnv> {
  return new Hono<DashboardEnv>()
    .post(requirementPath, requireFresh(deps, "/account"), (c) => switchRequirement(c, deps));
}
