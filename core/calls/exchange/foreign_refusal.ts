/** Recognises a provider's refusal of sealed items that another account made. */

/**
 * What vendors write: OpenAI (`invalid_encrypted_content`, and items that it does not know), Anthropic (`Invalid signature
 * in thinking block`), Google (`Thought signature is not valid`).
 */
const refusals: readonly RegExp[] = [
  /invalid_encrypted_content/,
  /encrypted content\b.{0,200}\bcould not be (?:verified|decrypted|parsed)/is,
  /invalid \W{0,2}signature\W{0,2} in \W{0,2}(?:redacted_)?thinking\W{0,2} block/i,
  /item with id \W{0,2}rs_[\w-]+\W{0,2} not found/i,
  /\bthought[_ ]?signature\b.{0,80}\b(?:not valid|invalid|corrupted)|corrupted thought[_ ]?signature/is,
];

/** Statuses of such refusals: an item that is not known is missing. */
const statuses: ReadonlySet<number> = new Set([400, 404, 422]);

/**
 * Whether a provider refused a request because it cannot read its sealed items.
 *
 * @example
 * ```ts
 * import { refusesForeignItems } from "./foreign_refusal.ts";
 * if (!refusesForeignItems(400, '{"error":{"code":"invalid_encrypted_content"}}')) throw new Error("not seen");
 * if (refusesForeignItems(400, '{"error":{"message":"max_tokens is too large"}}')) throw new Error("another matter");
 * ```
 */
export function refusesForeignItems(status: number, text: string): boolean {
  return statuses.has(status) && refusals.some((refusal) => refusal.test(text));
}
