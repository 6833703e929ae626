/** The form for a new campaign. What was typed stays in it when a field is wrong. */
import { campaignKinds } from "../../../../core/trade/credits/campaign.ts";
import {
  type CampaignFields,
  maxCampaignNameChars,
} from "../../../../core/trade/credits/campaign_form.ts";
import {
  Card,
  PostForm,
  SelectField,
  SubmitButton,
  TextField,
} from "../../../dashboard/components/mod.ts";
import type { Visitor } from "../../../dashboard/page/visitor.ts";
import { campaignTexts } from "./campaign_texts.ts";

/** Characters of an amount or a number. */
const maxNumberChars = 20;

export interface CampaignFormProps {
  readonly visitor: Visitor;
  readonly typed: CampaignFields;
  readonly wrong: keyof CampaignFields | undefined;
  readonly action: string;
}

export function CampaignForm({ visitor, typed, wrong, action }: CampaignFormProps) {
  const t = campaignTexts[visitor.locale];
  const hints: Readonly<Partial<Record<keyof CampaignFields, string>>> = t.hints;
  const field = (name: keyof CampaignFields) => ({
    name,
    label: t.fields[name],
    value: typed[name],
    hint: hints[name],
    error: wrong === name ? t.wrong(t.fields[name]) : undefined,
  });
  const number = (name: keyof CampaignFields, placeholder = "") => (
    <TextField {...field(name)} maxlength={maxNumberChars} placeholder={placeholder} />
  );
  return (
    <Card title={t.make}>
      <PostForm visitor={visitor} action={action} confirm={t.createConfirm}>
        <div class="fields">
          <SelectField
            name="kind"
            label={t.fields.kind}
            value={typed.kind}
            options={campaignKinds.map((value) => ({ value, label: t.kinds[value] }))}
          />
          <TextField {...field("name")} required maxlength={maxCampaignNameChars} />
          {number("amount", "20k")}
          {number("budget", "10tr")}
          {number("maxGrants", "500")}
          {number("expiresAfterDays", "30")}
          <TextField {...field("starts")} type="datetime-local" />
          <TextField {...field("ends")} type="datetime-local" />
          {number("perAccount", "1")}
        </div>
        <details open={typed.percent !== "" || typed.minTopup !== "" || typed.cap !== ""}>
          <summary>{t.ofBonus}</summary>
          <p class="muted">{t.bonusHint}</p>
          <div class="fields">
            {number("percent", "10")}
            {number("cap", "50k")}
            {number("minTopup", "100k")}
          </div>
        </details>
        <details open={typed.perNetworkPerDay !== ""}>
          <summary>{t.ofSignup}</summary>
          <p class="muted">{t.networkHint}</p>
          <div class="fields">{number("perNetworkPerDay", "10")}</div>
        </details>
        <SubmitButton>{t.create}</SubmitButton>
      </PostForm>
    </Card>
  );
}
