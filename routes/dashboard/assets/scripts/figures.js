/* Money and times as the server writes them (`text/format.ts`), for what scripts show. */

/* Up to here two decimals are right: what is rounded to ten seconds has one. */
const belowTenSecondsMs = 9_995;

/** Milliseconds below a second, then seconds with two decimals, and with one from ten seconds on. */
export function durationText(ms, locale) {
  if (Math.round(ms) < 1000) return `${Math.round(ms)}\u00a0ms`;
  const decimals = ms < belowTenSecondsMs ? 2 : 1;
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  const seconds = Number((ms / 1000).toFixed(decimals));
  return `${new Intl.NumberFormat(locale, digits).format(seconds)}\u00a0s`;
}

/** Whole VND from 100 up, below two decimals or none; parts of one VND have up to four. */
export function moneyText(vnd, locale) {
  const decimals = Math.abs(vnd) >= 100 ? 0 : Math.abs(vnd) >= 1 ? 2 : 4;
  const isWhole = decimals === 0 || Number.isInteger(Number(vnd.toFixed(decimals)));
  const digits = { minimumFractionDigits: isWhole ? 0 : 2, maximumFractionDigits: decimals };
  const text = new Intl.NumberFormat(locale, digits).format(vnd);
  return locale === "vi-VN" ? `${text}\u00a0₫` : `₫${text}`;
}
