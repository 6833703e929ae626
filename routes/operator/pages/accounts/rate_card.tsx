/** The rate limits of one account: what binds it, what is used now, and the form that changes them. */
import type { Account } from "../../../../kv/people/accounts/accounts.ts";
import { Card, PostForm, SubmitButton, TextField } from "../../../dashboard/components/mod.ts";
import { formatCount } from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { LimitTable } from "../../../dashboard/customer/rate_limits/limit_table.tsx";
import { type LimitInUse, limitsInUse } from "../../../dashboard/page/rate_view.ts";
import { rateTexts } from "../../../dashboard/customer/rate_limits/texts.ts";
import type { Visitor } from "../../../dashboard/page/visitor.ts";
import type { OperatorDeps } from "../base/deps.ts";
import { ReasonField } from "../base/reason_field.tsx";
import { rateFields, rateFormOf } from "./rate_form.ts";
import { rateCardTexts } from "./rate_texts.ts";

/** Reads what the card shows. */
export async function loadRates(deps: OperatorDeps, account: Account): Promise<LimitInUse[]> {
  return await limitsInUse(deps.rates, { account });
}

function hintOf(limit: number | undefined, locale: Locale): string {
  const t = rateCardTexts[locale];
  return t.fieldHint(limit === undefined ? t.unlimited : formatCount(limit, locale));
}

/** The card of the account page. */
export function RateCard({ account, limits, deps, visitor }: {
  readonly account: Account;
  readonly limits: readonly LimitInUse[];
  readonly deps: OperatorDeps;
  readonly visitor: Visitor;
}) {
  const { locale } = visitor;
  const t = rateCardTexts[locale];
  const rates = rateTexts[locale];
  const values = rateFormOf(account.rateLimits);
  const defaults = deps.rates?.defaults()?.account;
  return (
    <Card title={rates.title}>
      {limits.length === 0 ? <p>{rates.none}</p> : (
        <>
          <p class="muted">{rates.now}</p>
          <LimitTable limits={limits} locale={locale} />
        </>
      )}
      <details>
        <summary>{t.change}</summary>
        <p>{t.text}</p>
        <PostForm visitor={visitor} action={`/operator/accounts/${account.id}/limits`}>
          <div class="fields">
            {rateFields.map((name) => (
              <TextField
                name={name}
                label={rates.names[name]}
                value={values[name]}
                inputmode="numeric"
                autocomplete="off"
                maxlength={16}
                hint={hintOf(defaults?.[name], locale)}
              />
            ))}
          </div>
          <TextField
            name="models"
            label={t.models}
            value={values["models"]}
            rows={3}
            maxlength={10_000}
            hint={t.modelsHint}
          />
          <ReasonField locale={locale} id="limits-reason" />
          <SubmitButton>{t.save}</SubmitButton>
        </PostForm>
      </details>
    </Card>
  );
}
