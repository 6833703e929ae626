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
import { DataTable, Money, TableFrame } from "../../components/mod.ts";
import { formatCount, formatMoneyShort, formatPercent } from "../../text/format.ts";
import { defineTexts, type Locale } from "../../text/i18n.ts";
import type { KeySpend, LimitInUse } from "../../page/rate_view.ts";

/** Things that limits count. */
type Meter = typeof limitTable[LimitName]["meter"];

/** The time over which limits count. */
type LimitWindow = typeof limitTable[LimitName]["window"];

// Texts about limits.

export const rateTexts = defineTexts({
  both: {
    title: ["Rate limits", "Giới hạn tốc độ"],
    none: ["No rate limits are set.", "Chưa đặt giới hạn tốc độ nào."],
    limit: ["Limit", "Giới hạn"],
    of: ["Applies to", "Của"],
    used: ["Now", "Hiện tại"],
    share: ["Share", "Tỷ lệ"],
    noLimit: ["no limit", "không giới hạn"],
    matrixLabel: ["Limits of the key", "Giới hạn của khoá API"],
  },
  en: {
    now: "Used in the last minute or hour, as each limit says, over all servers.",
    usedOf: (used: string, limit: string) => `${used} of ${limit}`,
    meters: {
      money: ["Money", "in VND"],
      calls: ["Calls", "requests"],
      tokens: ["Tokens", "input and output"],
      images: ["Images", "made"],
    } satisfies Record<Meter, readonly [name: string, unit: string]>,
    windows: { at_once: "At once", minute: "Minute", hour: "Hour", day: "Day", month: "Month" },
    matrixHint:
      "Empty (∞): no limit. A bar shows what is used of a limit now; days and months are Vietnam's.",
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
    now: "Đã dùng trong phút hoặc giờ qua, tuỳ giới hạn, trên mọi máy chủ.",
    usedOf: (used, limit) => `${used} trên ${limit}`,
    meters: {
      money: ["Tiền", "bằng VND"],
      calls: ["Lượt gọi", "yêu cầu"],
      tokens: ["Token", "đầu vào và đầu ra"],
      images: ["Ảnh", "đã tạo"],
    },
    windows: { at_once: "Cùng lúc", minute: "Phút", hour: "Giờ", day: "Ngày", month: "Tháng" },
    matrixHint:
      "Để trống (∞): không giới hạn. Thanh cho biết mức đang dùng; ngày và tháng tính theo giờ Việt Nam.",
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
function LimitMeter({ locale, ...row }: LimitInUse & { readonly locale: Locale }) {
  const { name, used, limit } = row;
  return (
    <meter
      class="limit-meter"
      aria-label={rateTexts[locale].names[name]}
      title={rateTexts[locale].usedOf(...inFigures(row, locale))}
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

/** The limit of money by the window that it is of. */
const spendLimits: Readonly<Record<keyof KeySpend, LimitName>> = {
  day: "dailyLimit",
  month: "monthlyLimit",
};

/** Spending of a key in a day or month: beside its limit with the share over a bar, or that it has none. */
export function SpendBar({ spend, window, limits, locale }: {
  readonly spend: KeySpend;
  readonly window: keyof KeySpend;
  /** Limits of the key; others than that of money in this window are not of it. */
  readonly limits: readonly LimitInUse[];
  readonly locale: Locale;
}) {
  const t = rateTexts[locale];
  const limit = limits.find(({ name }) => name === spendLimits[window]);
  if (limit === undefined) {
    return (
      <>
        <Money microVnd={spend[window]} locale={locale} />
        <small class="muted under">{t.noLimit}</small>
      </>
    );
  }
  const share = limit.limit === 0 ? 1 : limit.used / limit.limit;
  const tone = share >= 1 ? "bad" : share >= highShare ? "busy" : "muted";
  return (
    <div class="spend-bar">
      <span>{t.usedOf(...inFigures(limit, locale))}</span>
      <small class={tone}>{formatPercent(share, locale)}</small>
      <LimitMeter {...limit} locale={locale} />
    </div>
  );
}

/** Limits of a key that {@linkcode SpendBar} does not show. */
export function otherLimits(limits: readonly LimitInUse[]): readonly LimitInUse[] {
  const shown: readonly LimitName[] = Object.values(spendLimits);
  return limits.filter(({ name }) => !shown.includes(name));
}

// The limits of a form as a matrix.

/** Rows and columns of the matrix, in their order; those without any limit are left out. */
const meters: readonly Meter[] = ["money", "calls", "tokens", "images"];
const windows: readonly LimitWindow[] = ["at_once", "minute", "hour", "day", "month"];

interface MatrixProps<Name extends LimitName> {
  /** Limits to set. */
  readonly names: readonly Name[];
  /** As typed. */
  readonly values: Readonly<Record<Name, string>>;
  readonly errors: Readonly<Partial<Record<Name, string>>>;
  /** Use of those that are set; empty for a new owner. */
  readonly limits: readonly LimitInUse[];
  readonly locale: Locale;
}

/** A field of the matrix over the bar of its limit. */
function MatrixField<Name extends LimitName>(
  { name, values, errors, limits, locale }: MatrixProps<Name> & { readonly name: Name },
) {
  const t = rateTexts[locale];
  const { meter, window } = limitTable[name];
  const isWrong = errors[name] !== undefined;
  const limit = limits.find((one) => one.name === name);
  return (
    <div class="field">
      <label for={name}>
        <span class="visually-hidden">{t.meters[meter][0]},</span> {t.windows[window]}
      </label>
      <input
        id={name}
        name={name}
        value={values[name]}
        placeholder="∞"
        inputmode="numeric"
        autocomplete="off"
        maxlength={24}
        aria-invalid={isWrong ? "true" : undefined}
        aria-describedby={isWrong ? `${name}-error` : undefined}
      />
      {limit !== undefined && <LimitMeter {...limit} locale={locale} />}
    </div>
  );
}

/** Fields of limits, meters down and windows across. What is wrong with one stands under its row and names it. */
export function LimitMatrix<Name extends LimitName>(props: MatrixProps<Name>) {
  const { names, errors, locale } = props;
  const t = rateTexts[locale];
  const columns = windows.filter((window) =>
    names.some((name) => limitTable[name].window === window)
  );
  const rows = meters.map((meter) => ({
    meter,
    inRow: names.filter((name) => limitTable[name].meter === meter),
  })).filter(({ inRow }) => inRow.length > 0);
  return (
    <TableFrame label={t.matrixLabel}>
      <table class="matrix limit-matrix">
        <thead>
          <tr>
            <td></td>
            {columns.map((window) => (
              <th key={window} scope="col" class="number">{t.windows[window]}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ meter, inRow }) => (
            <>
              <tr>
                <th scope="row">
                  {t.meters[meter][0]} <small class="muted under">{t.meters[meter][1]}</small>
                </th>
                {columns.map((window) => {
                  const name = inRow.find((one) => limitTable[one].window === window);
                  return name === undefined
                    ? <td key={window} class="number none">–</td>
                    : (
                      <td key={window}>
                        <MatrixField {...props} name={name} />
                      </td>
                    );
                })}
              </tr>
              {inRow.filter((name) => errors[name] !== undefined).map((name) => (
                <tr class="matrix-error">
                  <td colspan={columns.length + 1}>
                    <small class="field-error" id={`${name}-error`}>
                      <strong>{t.meters[meter][0]}, {t.windows[limitTable[name].window]}:</strong>
                      {" "}
                      {errors[name]}
                    </small>
                  </td>
                </tr>
              ))}
            </>
          ))}
        </tbody>
      </table>
    </TableFrame>
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
