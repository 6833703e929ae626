/**
 * Tags of calls: a few words by which a customer tells calls apart (`team=search`, `env=prod`). They are metadata of a
 * receipt, never text of a prompt, so their number, size and alphabet are small.
 */
import { ascending } from "../../lib/base/ascending.ts";

/** Most tags of a call: as many dimensions as anybody charts. */
export const maxTags = 10;
/** Most characters of a key. */
const maxTagKeyChars = 40;
/** Most characters of a value: names and ids, not sentences. */
const maxTagValueChars = 100;

/** One tag. */
export interface CallTag {
  readonly key: string;
  readonly value: string;
}

/** Tags of a call in the order of their keys, each key once; at least one. */
export type CallTags = readonly [CallTag, ...CallTag[]];

const keyForm = `[A-Za-z][A-Za-z0-9_.-]{0,${maxTagKeyChars - 1}}`;
const valueForm = `[A-Za-z0-9_.:/@+-]{1,${maxTagValueChars}}`;
const keyPattern = new RegExp(`^${keyForm}$`);
const valuePattern = new RegExp(`^${valueForm}$`);

/** The regular expression of several tags in one text. */
export const tagsPattern = `^${keyForm}=${valueForm}(,${keyForm}=${valueForm}){0,${maxTags - 1}}$`;

/** The rule of keys, for messages. */
export const tagKeyRule =
  `a key is a letter, then letters, digits, "_", "." or "-", at most ${maxTagKeyChars} characters`;
/** The rule of values, for messages. */
export const tagValueRule =
  `a value is letters, digits, "_", ".", ":", "/", "@", "+" or "-", at most ${maxTagValueChars} characters`;

/** Whether a text can be the key of a tag. */
export function isTagKey(text: string): boolean {
  return keyPattern.test(text);
}

/** Whether a text can be the value of a tag. */
export function isTagValue(text: string): boolean {
  return valuePattern.test(text);
}

/** Puts tags in order; `undefined` if there are none. */
export function sortedTags(byKey: ReadonlyMap<string, string>): CallTags | undefined {
  if (byKey.size === 0) return undefined;
  const [first, ...more] = [...byKey].sort(([one], [other]) => ascending(one, other))
    .map(([key, value]) => ({ key, value }));
  return first === undefined ? undefined : [first, ...more];
}

/** Key of the tag that names the rules by which text of a call was masked. */
const maskedTagKey = "masked";

/** Makes the tag of a call of which rules masked text. */
export function maskedTag(rules: readonly string[]): CallTag {
  return { key: maskedTagKey, value: rules.join("+").slice(0, maxTagValueChars) };
}

/** Adds a tag, in the place of one of the same key. */
export function withTag(tags: CallTags | undefined, { key, value }: CallTag): CallTags | undefined {
  const byKey = new Map((tags ?? []).map((tag) => [tag.key, tag.value]));
  return sortedTags(byKey.set(key, value));
}

/** Writes a tag as headers, rows and CSV have it. */
export function tagText({ key, value }: CallTag): string {
  return `${key}=${value}`;
}

/**
 * Writes tags as one text, as receipts keep them.
 *
 * @example
 * ```ts
 * import { parseTags, tagsText } from "./call_tags.ts";
 * const tags = parseTags("team=search,env=prod");
 * if (tags === undefined || tagsText(tags) !== "env=prod,team=search") throw new Error("not in order");
 * ```
 */
export function tagsText(tags: CallTags): string {
  return tags.map(tagText).join();
}

/** Reads what {@linkcode tagsText} wrote; `undefined` if the text has no tags, or is something else. */
export function parseTags(text: string): CallTags | undefined {
  const byKey = new Map<string, string>();
  for (const pair of text.split(",")) {
    const at = pair.indexOf("=");
    const [key, value] = [pair.slice(0, Math.max(0, at)), pair.slice(at + 1)];
    if (!isTagKey(key) || !isTagValue(value)) return undefined;
    byKey.set(key, value);
  }
  return sortedTags(byKey);
}

/**
 * Reads a tag as filters and forms have it: `team:search`, or `team=search`.
 *
 * @example
 * ```ts
 * import { parseTag } from "./call_tags.ts";
 * const tag = parseTag("user:auth0:17");
 * if (tag?.key !== "user" || tag.value !== "auth0:17") throw new Error("not read");
 * ```
 */
export function parseTag(text: string): CallTag | undefined {
  const at = text.search(/[:=]/);
  const tag = { key: text.slice(0, Math.max(0, at)), value: text.slice(at + 1) };
  return isTagKey(tag.key) && isTagValue(tag.value) ? tag : undefined;
}

/** Writes a tag as filters have it. */
export function tagFilterText({ key, value }: CallTag): string {
  return `${key}:${value}`;
}

/** Whether some tags have this one. */
export function hasTag(tags: CallTags | undefined, { key, value }: CallTag): boolean {
  return tags?.some((tag) => tag.key === key && tag.value === value) === true;
}
