/** The part of a call's page that shows what the call cost the operator. */
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import type { LedgerEntry } from "../../../../kv/money/ledger/ledger.ts";
import { Card, Fact, Money } from "../../../dashboard/components/mod.ts";
import { formatCount } from "../../../dashboard/text/format.ts";
import type { Locale } from "../../../dashboard/text/i18n.ts";
import { marginTexts } from "../margins/texts.ts";

/** What the provider charges for a call, and what is left. */
export function CallCost({ receipt, refund, locale }: {
  receipt: Receipt;
  refund: LedgerEntry | undefined;
  locale: Locale;
}) {
  const t = marginTexts[locale];
  const { providerCost: cost } = receipt;
  if (cost?.kind !== "known") {
    return (
      <Card title={t.callCost}>
        <p class="muted">{t.callUnknown}</p>
      </Card>
    );
  }
  const revenue = receipt.costMicroVnd - (refund?.amountMicroVnd ?? 0n);
  return (
    <Card title={t.callCost}>
      <dl class="facts">
        <Fact name={t.revenue}>
          <Money microVnd={revenue} locale={locale} />
        </Fact>
        <Fact name={t.cost}>
          <Money microVnd={cost.costMicroVnd} locale={locale} />
        </Fact>
        <Fact name={t.margin}>
          <Money microVnd={revenue - cost.costMicroVnd} locale={locale} />
        </Fact>
        <Fact name={t.units}>
          {Object.entries(cost.units).map(([bucket, units]) =>
            `${bucket} ${formatCount(units, locale)}`
          ).join(", ")}
        </Fact>
        <Fact name={t.rateCard}>
          <code>{cost.card}</code>
        </Fact>
      </dl>
    </Card>
  );
}
