/** The charge of a call, read like a bill: lines of count × price that add up to the sum. */
import { percentOfFee } from "../../../../core/billing/own_key_fee.ts";
import {
  type ChargedItem,
  type ChargeLine,
  chargeLines,
  type HoldLines,
  holdLines,
} from "../../../../core/billing/charge_lines.ts";
import { failureOf } from "../../../../core/billing/usage/call_failure.ts";
import type { Receipt } from "../../../../core/billing/usage/receipt.ts";
import type { LedgerEntry } from "../../../../kv/money/ledger/ledger.ts";
import { DataTable, Fact, Money, Time } from "../../components/mod.ts";
import { bucketNames } from "../../text/bucket_names.ts";
import { decimalsOf, formatCount, formatDuration, formatMoney } from "../../text/format.ts";
import { defineTexts, type Locale } from "../../text/i18n.ts";
import { hostedToolNames } from "../../text/model_prices.ts";

type Unit = (ChargedItem & { readonly kind: "units" })["unit"];

interface BillTexts {
  readonly bill: string;
  readonly item: string;
  readonly count: string;
  readonly price: string;
  readonly amount: string;
  readonly units: Readonly<Record<Unit, string>>;
  readonly difference: string;
  readonly ownKey: (percent: number) => string;
  readonly shortfall: string;
  readonly charged: string;
  readonly notCharged: string;
  readonly refunded: string;
  readonly held: string;
  readonly added: string;
  readonly returned: string;
  readonly heldFree: (amount: string, time: string) => string;
  readonly perMtok: string;
  readonly counted: string;
  readonly reported: string;
  readonly version: (version: string) => string;
  readonly tier: (name: string) => string;
}

const texts = defineTexts<BillTexts>({
  en: {
    bill: "Charge",
    item: "Item",
    count: "Count",
    price: "Price",
    amount: "Amount",
    units: {
      request: "Calls",
      image: "Images",
      video: "Videos",
      second: "Seconds",
      search: "Searches",
    },
    difference: "Adjustment",
    ownKey: (percent) => `Your own provider key: ${percent} % of the price is charged`,
    shortfall: "Not covered by the wallet",
    charged: "Charged",
    notCharged: "Not charged",
    refunded: "Refunded",
    held: "Held for the call",
    added: "Taken in addition",
    returned: "Returned to the wallet",
    heldFree: (amount, time) => `${amount} was held for ${time} and is free again.`,
    perMtok: "Token prices are per 1M tokens.",
    counted: "Tokens estimated by us.",
    reported: "Tokens counted by the provider.",
    version: (version) => `Catalogue version ${version}.`,
    tier: (name) => `Service tier ${name}.`,
  },
  vi: {
    bill: "Phí",
    item: "Khoản",
    count: "Số lượng",
    price: "Đơn giá",
    amount: "Thành tiền",
    units: {
      request: "Lượt gọi",
      image: "Ảnh",
      video: "Video",
      second: "Giây",
      search: "Lượt tìm",
    },
    difference: "Điều chỉnh",
    ownKey: (percent) => `Khoá nhà cung cấp của bạn: chỉ thu ${percent} % giá`,
    shortfall: "Ví không đủ trả",
    charged: "Đã tính phí",
    notCharged: "Không tính phí",
    refunded: "Đã hoàn tiền",
    held: "Tạm giữ cho lượt gọi",
    added: "Trừ thêm từ ví",
    returned: "Trả lại ví",
    heldFree: (amount, time) => `${amount} được tạm giữ trong ${time} và đã trả lại ví.`,
    perMtok: "Giá token tính trên 1 triệu token.",
    counted: "Số token do chúng tôi ước tính.",
    reported: "Số token do nhà cung cấp báo.",
    version: (version) => `Danh mục phiên bản ${version}.`,
    tier: (name) => `Hạng dịch vụ ${name}.`,
  },
});

function nameOf(item: ChargedItem, locale: Locale): string {
  switch (item.kind) {
    case "tokens":
      return bucketNames[locale][item.bucket];
    case "units":
      return texts[locale].units[item.unit];
    case "tool":
      return hostedToolNames[locale][item.tool];
  }
}

/** A row that is no line: a name and an amount. */
function SumRow({ name, microVnd, decimals, locale }: {
  name: string;
  microVnd: bigint;
  decimals: number;
  locale: Locale;
}) {
  return (
    <tr>
      <td colspan={3} data-phone="first">{name}</td>
      <td class="number" data-phone="first-end">
        <Money microVnd={microVnd} decimals={decimals} locale={locale} exact />
      </td>
    </tr>
  );
}

/** Members of a call that a bill shows. */
type BilledCall = Pick<
  Receipt,
  | "price"
  | "usage"
  | "units"
  | "estimated"
  | "outcome"
  | "status"
  | "attempts"
  | "toolCharges"
  | "serviceTier"
  | "catalogVersion"
  | "costMicroVnd"
  | "shortfallMicroVnd"
  | "ownKey"
  | "heldMicroVnd"
  | "latencyMs"
>;

/** Bill of what was charged, line by line. */
export function Bill({ receipt, refund, locale }: {
  receipt: BilledCall;
  refund: LedgerEntry | undefined;
  locale: Locale;
}) {
  const t = texts[locale];
  const { costMicroVnd, shortfallMicroVnd, ownKey } = receipt;
  const { lines, differenceMicroVnd } = chargeLines(receipt);
  const hold = holdLines(receipt);
  if (costMicroVnd === 0n && failureOf(receipt) !== undefined) {
    return (
      <>
        <FreeBill locale={locale} />
        {hold !== undefined && hold.heldMicroVnd > 0n && (
          <p class="muted">
            {t.heldFree(
              formatMoney(hold.heldMicroVnd, locale),
              formatDuration(receipt.latencyMs, locale),
            )}
          </p>
        )}
      </>
    );
  }
  const decimals = decimalsOf([
    ...lines.map(({ amountMicroVnd }) => amountMicroVnd),
    ...[costMicroVnd, shortfallMicroVnd, differenceMicroVnd, refund?.amountMicroVnd ?? 0n],
  ]);
  const priceDecimals = decimalsOf(lines.map(({ priceMicroVnd }) => priceMicroVnd));
  const sums = (
    <>
      {differenceMicroVnd !== 0n && (
        <SumRow
          name={ownKey === undefined ? t.difference : t.ownKey(percentOfFee(ownKey.fee))}
          microVnd={differenceMicroVnd}
          decimals={decimals}
          locale={locale}
        />
      )}
      {shortfallMicroVnd > 0n && (
        <SumRow
          name={t.shortfall}
          microVnd={-shortfallMicroVnd}
          decimals={decimals}
          locale={locale}
        />
      )}
      <tr class="bill-sum">
        <td colspan={3} data-phone="first">{t.charged}</td>
        <td class="number" data-phone="first-end">
          <Money microVnd={costMicroVnd} decimals={decimals} locale={locale} exact />
        </td>
      </tr>
      {refund !== undefined && (
        <tr>
          <td colspan={3} data-phone="first">
            {t.refunded}, <Time atMs={refund.atMs} locale={locale} />
          </td>
          <td class="number" data-phone="first-end">
            <Money
              microVnd={refund.amountMicroVnd}
              decimals={decimals}
              locale={locale}
              exact
              signed
            />
          </td>
        </tr>
      )}
    </>
  );
  return (
    <div class="bill">
      <DataTable<ChargeLine>
        label={t.bill}
        rows={lines}
        edges={{ first: null, last: sums }}
        columns={[
          { head: t.item, phone: "first", cell: ({ item }) => nameOf(item, locale) },
          {
            head: t.count,
            kind: "number",
            phone: "second",
            cell: ({ count }) => formatCount(count, locale),
          },
          {
            head: t.price,
            kind: "number",
            phone: "second-end",
            cell: ({ priceMicroVnd }) => (
              <>
                <span class="muted">×</span>{" "}
                <Money microVnd={priceMicroVnd} decimals={priceDecimals} locale={locale} exact />
              </>
            ),
          },
          {
            head: t.amount,
            kind: "number",
            phone: "first-end",
            cell: ({ amountMicroVnd }) => (
              <Money microVnd={amountMicroVnd} decimals={decimals} locale={locale} exact />
            ),
          },
        ]}
      />
      <BillNote receipt={receipt} locale={locale} />
      {hold !== undefined && <Hold lines={hold} locale={locale} />}
    </div>
  );
}

/** Lines of where the money went that was held for a call; nothing for a call that needed none. */
function Hold({ lines, locale }: { lines: HoldLines; locale: Locale }) {
  const t = texts[locale];
  const { heldMicroVnd, addedMicroVnd, chargedMicroVnd, returnedMicroVnd } = lines;
  if (heldMicroVnd + chargedMicroVnd === 0n) return null;
  const rows = [
    { name: t.held, microVnd: heldMicroVnd },
    ...(addedMicroVnd > 0n ? [{ name: t.added, microVnd: addedMicroVnd }] : []),
    { name: t.charged, microVnd: -chargedMicroVnd },
    { name: t.returned, microVnd: returnedMicroVnd },
  ];
  const decimals = decimalsOf(rows.map(({ microVnd }) => microVnd));
  return (
    <dl class="bill-hold">
      {rows.map(({ name, microVnd }) => (
        <div>
          <Fact name={name}>
            <Money microVnd={microVnd} decimals={decimals} locale={locale} exact />
          </Fact>
        </div>
      ))}
    </dl>
  );
}

/** The bill of a call that failed or was refused. */
export function FreeBill({ locale }: { locale: Locale }) {
  return (
    <p class="bill bill-free">
      <strong>{texts[locale].notCharged}</strong>
      <Money microVnd={0n} locale={locale} />
    </p>
  );
}

function BillNote({ receipt, locale }: { receipt: BilledCall; locale: Locale }) {
  const t = texts[locale];
  const { usage, estimated, price, catalogVersion, serviceTier } = receipt;
  const notes = [
    price.unit === "token" && receipt.costMicroVnd > 0n && t.perMtok,
    serviceTier !== undefined && t.tier(serviceTier),
    catalogVersion !== undefined && t.version(formatCount(catalogVersion, locale)),
    usage !== undefined && receipt.costMicroVnd > 0n && (estimated ? t.counted : t.reported),
  ].filter((note) => note !== false);
  return notes.length === 0 ? null : <p class="muted">{notes.join(" ")}</p>;
}
