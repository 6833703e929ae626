import { limits } from "../limits.ts";

/** The value of a header by lower-case name. */
export type HeaderOf = (name: string) => string | undefined;

/**
 * How long a provider asks to be left alone, in whole seconds: `retry-after` as seconds or as a date (RFC 9110
 * section 10.2.3; measured against its own `date`, so that clocks need not agree), or `retry-after-ms`.
 *
 * @example
 * ```ts
 * import { retryAfterSeconds } from "./retry_after.ts";
 * const seconds = retryAfterSeconds((name) => name === "retry-after" ? "1.2" : undefined);
 * if (seconds !== 2) throw new Error(String(seconds));
 * ```
 */
export function retryAfterSeconds(header: HeaderOf): number | undefined {
  const milliseconds = plainNumber(header("retry-after-ms"));
  if (milliseconds !== undefined) return bounded(milliseconds / 1000);
  const text = header("retry-after")?.trim();
  const seconds = plainNumber(text);
  if (seconds !== undefined) return bounded(seconds);
  const untilMs = Date.parse(text ?? "");
  const sentMs = Date.parse(header("date") ?? "");
  return Number.isNaN(untilMs) || Number.isNaN(sentMs)
    ? undefined
    : bounded((untilMs - sentMs) / 1000);
}

function plainNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,9}(\.\d{1,6})?$/.test(text.trim()) ? Number(text) : undefined;
}

function bounded(seconds: number): number {
  return Math.min(Math.max(Math.ceil(seconds), 0), limits.retryAfterSeconds);
}
