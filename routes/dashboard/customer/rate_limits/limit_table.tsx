/**
 * Shows limits and what is used of them now.
 *
 * - Folder `routes/dashboard/customer/rate_limits/`: the table of limits and of what is used of them.
 * - In: limits in use, as `routes/dashboard/page/rate_view.ts` finds them.
 * - Out: markup and texts.
 * - Never: admits or refuses a call, or reads the store.
 */
import { microVndPerVnd } from "../../../../core/billing/money/micro_vnd.ts";
import {
  type LimitName,
  type LimitSubject,
  limitTable,
} from "../../../../core/limits/limit_table.ts";
import { DataTable } from "../../components/mod.ts";
import { formatCount, formatMoneyShort } from "../../text/format.ts";
import { defineTexts, type Locale } from "../../text/i18n.ts";
import type { LimitInUse } from "../../page/rate_view.ts";

// Texts about limits.

export const rateTexts = defineTexts({
  en: {
    title: "Rate limits",
    now: "Used in the last minute or hour, as each limit says, over all servers.",
    none: "No rate limits are set.",
    limit: "Limit",
    of: "Applies to",
    used: "Now",
    share: "Share",
    usedOf: (used: string, limit: string) => `${used} of ${limit}`,
    names: {
      requestsPerMinute: "Calls per minute",
      tokensPerMinute: "Tokens per minute",
      vndPerHour: "Spending per hour, in ₫",
      callsAtOnce: "Calls at once",
      dailyLimit: "Most per day, in ₫",
      monthlyLimit: "Most per month, in ₫",
      imagesPerDay: "Images per day",
    } satisfies Record<LimitName, string>,
    inShort: {
      requestsPerMinute: (used, limit) => `${used} of ${limit} calls a minute`,
      tokensPerMinute: (used, limit) => `${used} of ${limit} tokens a minute`,
      vndPerHour: (used, limit) => `${used} of ${limit} an hour`,
      callsAtOnce: (used, limit) => `${used} of ${limit} calls at once`,
      dailyLimit: (used, limit) => `${used} of ${limit} a day`,
      monthlyLimit: (used, limit) => `${used} of ${limit} a month`,
      imagesPerDay: (used, limit) => `${used} of ${limit} images a day`,
    } satisfies Record<LimitName, (used: string, limit: string) => string>,
    scopes: {
      account: "This account",
      key: "This key",
      model: "A model, all customers",
      account_model: "This account on a model",
    } satisfies Record<LimitSubject, string>,
    ofModel: (model: string) => `This account on ${model}`,
    keyHint:
      "Calls beyond a limit get a 429 with the seconds to wait. Limits of the service apply beside these.",
  },
  vi: {
    title: "Giới hạn tốc độ",
    now: "Đã dùng trong phút hoặc giờ qua, tuỳ giới hạn, trên mọi máy chủ.",
    none: "Chưa đặt giới hạn tốc độ nào.",
    limit: "Giới hạn",
    of: "Của",
    used: "Hiện tại",
    share: "Tỷ lệ",
    usedOf: (used, limit) => `${used} trên ${limit}`,
    names: {
      requestsPerMinute: "Lượt gọi mỗi phút",
      tokensPerMinute: "Token mỗi phút",
      vndPerHour: "Chi tiêu mỗi giờ, ₫",
      callsAtOnce: "Lượt gọi cùng lúc",
      dailyLimit: "Tối đa mỗi ngày, ₫",
      monthlyLimit: "Tối đa mỗi tháng, ₫",
      imagesPerDay: "Số ảnh mỗi ngày",
    },
    inShort: {
      requestsPerMinute: (used, limit) => `${used} / ${limit} lượt gọi mỗi phút`,
      tokensPerMinute: (used, limit) => `${used} / ${limit} token mỗi phút`,
      vndPerHour: (used, limit) => `${used} / ${limit} mỗi giờ`,
      callsAtOnce: (used, limit) => `${used} / ${limit} lượt gọi cùng lúc`,
      dailyLimit: (used, limit) => `${used} / ${limit} mỗi ngày`,
      monthlyLimit: (used, limit) => `${used} / ${limit} mỗi tháng`,
      imagesPerDay: (used, limit) => `${used} / ${limit} ảnh mỗi ngày`,
    },
    scopes: {
      account: "Tài khoản này",
      key: "Khoá API này",
      model: "Một mô hình, mọi khách hàng",
      account_model: "Tài khoản này trên một mô hình",
    },
    ofModel: (model) => `Tài khoản này trên ${model}`,
    keyHint:
      "Lượt gọi vượt giới hạn nhận lỗi 429 kèm số giây cần đợi. Giới hạn của dịch vụ vẫn áp dụng song song.",
  },
});

/** Shares of a limit above which its bar warns. */
const highShare = 0.8;

/** A limit of whole calls or tokens is used up from here on: the bar is red then. */
const wholeUse = 0.5;

function whose({ scope, model }: LimitInUse, locale: Locale): string {
  const t = rateTexts[locale];
  return model === undefined ? t.scopes[scope] : t.ofModel(model);
}

/** The share of a limit that is used: amber from 80 %, red at the limit. */
function LimitMeter({ name, used, limit, locale }: LimitInUse & { readonly locale: Locale }) {
  return (
    <meter
      class="limit-meter"
      aria-label={rateTexts[locale].names[name]}
      min={0}
      max={limit}
      low={limit * highShare}
      high={limit - wholeUse}
      optimum={0}
      value={Math.min(used, limit)}
    />
  );
}

/** Use and limit in figures, money as money. */
function inFigures({ name, used, limit }: LimitInUse, locale: Locale): [string, string] {
  const written = (amount: number) =>
    limitTable[name].meter === "money"
      ? formatMoneyShort(BigInt(Math.round(amount)) * microVndPerVnd, locale)
      : formatCount(amount, locale);
  return [written(used), written(limit)];
}

/** Limits in a cell of another table: each a line over its bar. */
export function LimitBars({ limits, locale }: {
  readonly limits: readonly LimitInUse[];
  readonly locale: Locale;
}) {
  const t = rateTexts[locale];
  return (
    <ul class="limit-bars">
      {limits.map((row) => (
        <li>
          <small>{t.inShort[row.name](...inFigures(row, locale))}</small>
          <LimitMeter {...row} locale={locale} />
        </li>
      ))}
    </ul>
  );
}

/** A table of limits, one row each. */
export function LimitTable({ limits, locale }: {
  readonly limits: readonly LimitInUse[];
  readonly locale: Locale;
}) {
  const t = rateTexts[locale];
  return (
    <DataTable
      label={t.title}
      rows={limits}
      columns={[
        { head: t.limit, cell: ({ name }) => t.names[name] },
        { head: t.of, cell: (row) => whose(row, locale) },
        {
          head: t.used,
          kind: "number",
          cell: ({ used, limit }) =>
            t.usedOf(formatCount(used, locale), formatCount(limit, locale)),
        },
        {
          head: t.share,
          wideOnly: true,
          hiddenHead: true,
          cell: (row) => <LimitMeter {...row} locale={locale} />,
        },
      ]}
    />
  );
}
