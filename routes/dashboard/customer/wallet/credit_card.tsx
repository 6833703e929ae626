/** The card of the wallet page about credit: what is left of it, until when, and a field for a voucher code. */
import { grantedOf, type Pots } from "../../../../core/trade/credits/pots.ts";
import { voucherCodeChars } from "../../../../core/trade/credits/voucher_code.ts";
import type { BookGrant } from "../../../../kv/money/balances/grant_book.ts";
import {
  Card,
  DataTable,
  Money,
  Notice,
  PostForm,
  SubmitButton,
  TextField,
  Time,
} from "../../components/mod.ts";
import { formatDate, formatMoneyShort } from "../../text/format.ts";
import type { Locale } from "../../text/i18n.ts";
import type { Visitor } from "../../page/visitor.ts";
import { creditTexts } from "./credit_texts.ts";

/** Milliseconds before its expiry in which credit is announced to expire. */
const soonMs = 7 * 86_400_000;

/** Says how much expires next, if that is soon. */
export function ExpiryNotice({ pots, nowMs, locale }: {
  pots: Pots<BookGrant>;
  nowMs: number;
  locale: Locale;
}) {
  const [next] = pots.grants;
  if (next?.expiresAtMs === undefined || next.expiresAtMs - nowMs > soonMs) return null;
  const day = formatDate(next.expiresAtMs, locale);
  const ofThatDay = pots.grants.filter(({ expiresAtMs }) =>
    expiresAtMs !== undefined && formatDate(expiresAtMs, locale) === day
  );
  const amount = formatMoneyShort(grantedOf({ ...pots, grants: ofThatDay }), locale);
  return <Notice tone="warning">{creditTexts[locale].soon(amount, day)}</Notice>;
}

function GrantTable({ grants, locale }: { grants: readonly BookGrant[]; locale: Locale }) {
  const t = creditTexts[locale];
  return (
    <DataTable
      label={t.title}
      rows={grants}
      empty={<p class="muted">{t.none}</p>}
      columns={[
        { head: t.from, cell: ({ name }) => name },
        {
          head: t.left,
          kind: "number",
          cell: ({ leftMicroVnd }) => <Money microVnd={leftMicroVnd} locale={locale} short />,
        },
        {
          head: t.given,
          kind: "number",
          wideOnly: true,
          cell: ({ amountMicroVnd }) => <Money microVnd={amountMicroVnd} locale={locale} short />,
        },
        {
          head: t.expires,
          kind: "one-line",
          cell: ({ expiresAtMs }) =>
            expiresAtMs === undefined
              ? t.never
              : <Time atMs={expiresAtMs} locale={locale} dateOnly />,
        },
      ]}
    />
  );
}

/** What is left of each grant, and the form for a code. */
export function CreditCard({ pots, visitor, code, error }: {
  pots: Pots<BookGrant>;
  visitor: Visitor;
  /** What was typed, and why it was refused. */
  code?: string | undefined;
  error?: string | undefined;
}) {
  const { locale } = visitor;
  const t = creditTexts[locale];
  return (
    <Card title={t.title} id="credit">
      {pots.grants.length > 0 && (
        <p class="muted">{pots.spendGranted === "first" ? t.spentFirst : t.spentLast}</p>
      )}
      <GrantTable grants={pots.grants} locale={locale} />
      <PostForm visitor={visitor} action="/wallet/vouchers" class="inline-form">
        <TextField
          name="code"
          label={t.code}
          required
          maxlength={2 * voucherCodeChars}
          placeholder="XXXX-XXXX-XXXX-XXXX"
          hint={t.codeHint}
          value={code ?? ""}
          error={error}
        />
        <SubmitButton tone="plain">{t.redeem}</SubmitButton>
      </PostForm>
    </Card>
  );
}
