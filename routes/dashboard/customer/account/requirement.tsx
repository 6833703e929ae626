/** The switch of the account page that makes a second factor a condition of everything else. */
import { type Account, requiresSecondFactor } from "../../../../kv/people/accounts/accounts.ts";
import { Badge, Card, PostForm, SubmitButton } from "../../components/mod.ts";
import type { Visitor } from "../../page/visitor.ts";
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
        confirm={isOn ? t.requirementEndConfirm : t.requirementBeginConfirm}
      >
        <input type="hidden" name="required" value={isOn ? "no" : "yes"} />
        <SubmitButton tone="plain">{isOn ? t.requirementEnd : t.requirementBegin}</SubmitButton>
      </PostForm>
    </Card>
  );
}
