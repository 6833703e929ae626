/** Names of the kinds of tokens on pages, where rate cards and receipts have their names. */
import { type TokenBucket, tokenBuckets } from "../../../core/billing/tariff.ts";
import type { Locale } from "./i18n.ts";

export const bucketNames: Readonly<Record<Locale, Readonly<Record<TokenBucket, string>>>> = {
  en: {
    input: "Uncached input tokens",
    cache_read: "Cache read tokens",
    cache_write: "Cache write tokens",
    cache_write_1h: "Cache write tokens, kept for 1 h",
    input_audio: "Audio input tokens",
    input_image: "Image input tokens",
    output: "Output tokens",
    output_audio: "Audio output tokens",
    output_image: "Image output tokens",
  },
  vi: {
    input: "Token đầu vào ngoài cache",
    cache_read: "Token đọc bộ nhớ đệm (cache)",
    cache_write: "Token ghi bộ nhớ đệm (cache)",
    cache_write_1h: "Token ghi bộ nhớ đệm (cache), giữ 1 giờ",
    input_audio: "Token đầu vào âm thanh",
    input_image: "Token đầu vào hình ảnh",
    output: "Token đầu ra",
    output_audio: "Token đầu ra âm thanh",
    output_image: "Token đầu ra hình ảnh",
  },
};

const longPrompts: Readonly<Record<Locale, string>> = { en: "long prompts", vi: "prompt dài" };

/**
 * Names a bucket of a rate card, which may have a service tier and the length of prompts behind its kind, as in
 * `output.flex.long`. Buckets that count no tokens keep their names.
 */
export function bucketWords(bucket: string, locale: Locale): string {
  const [first = "", ...rest] = bucket.split(".");
  const kind = tokenBuckets.find((one) => one === first);
  if (kind === undefined) return bucket;
  const details = rest.map((part) => part === "long" ? longPrompts[locale] : part);
  return [bucketNames[locale][kind], ...details].join(", ");
}
