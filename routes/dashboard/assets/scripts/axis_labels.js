/* The labels of an axis of money: exact for the smallest steps, and short for large sums. */

/* As people of the language abbreviate thousands, millions and thousands of millions. */
const amountUnits = {
  "vi-VN": [[1e9, "\u00a0tỷ"], [1e6, "\u00a0tr"], [1e3, "k"]],
  "en-GB": [[1e9, "bn"], [1e6, "m"], [1e3, "k"]],
};

/* Six decimals are a µVND, the smallest sum there is. */
const mostDecimals = 6;

/** The labels of these steps. */
export function axisLabels(splits, step, locale) {
  const top = Math.max(...splits.map((value) => Math.abs(value)));
  const [size, name] = amountUnits[locale].find(([size]) => top >= size) ?? [1, ""];
  const decimals = Math.ceil(-Math.log10(step / size) - 1e-9);
  const format = new Intl.NumberFormat(locale, {
    minimumFractionDigits: 0,
    maximumFractionDigits: Math.min(Math.max(decimals, 0), mostDecimals) + 1,
  });
  return splits.map((value) => value === 0 ? "0" : format.format(value / size) + name);
}
