/**
 * The line that Claude Code puts before its instructions, for the vendor's accounting: version and a check of the
 * request, which older versions of the agent compute for each. It is no part of the prompt: the vendor takes it out,
 * and at the head of a prompt of another vendor it would be different text in each conversation, before everything that
 * could be cached.
 */

/** How the line begins; it is the whole block, or the first line of one. */
export const billingLineStart = "x-anthropic-billing-header:";

/**
 * Returns a text of the instructions without the line; it may be empty then.
 *
 * @example
 * ```ts
 * import { withoutBillingLine } from "./billing_line.ts";
 * const text = withoutBillingLine("x-anthropic-billing-header: cch=71fea;\nBe brief.");
 * if (text !== "Be brief.") throw new Error(text);
 * ```
 */
export function withoutBillingLine(text: string): string {
  if (!text.startsWith(billingLineStart)) return text;
  const end = text.indexOf("\n");
  return end === -1 ? "" : text.slice(end + 1);
}
