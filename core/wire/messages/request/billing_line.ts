/**
 * The line that Claude Code puts before its instructions, for the vendor's accounting: version and a check of the
 * request, which older versions of the agent compute for each. It is no part of the prompt: the vendor takes it out,
 * and at the head of a prompt of another vendor it would be different text in each conversation, before everything that
 * could be cached.
 */

import { isJsonObject, type Json } from "../../../lib/json/json.ts";

/** Start of the line; it is the whole block, or the first line of one. */
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

/** Returns the field `system` without the line; `undefined` where it has none. A block that was only the line goes. */
export function withoutBillingLines(system: Json | undefined): Json | undefined {
  if (typeof system === "string") {
    const text = withoutBillingLine(system);
    return text === system ? undefined : text;
  }
  if (!Array.isArray(system)) return undefined;
  let isChanged = false;
  const blocks = system.flatMap((block): Json[] => {
    if (!isJsonObject(block) || typeof block["text"] !== "string") return [block];
    const text = withoutBillingLine(block["text"]);
    if (text === block["text"]) return [block];
    isChanged = true;
    return text === "" ? [] : [{ ...block, text }];
  });
  return isChanged ? blocks : undefined;
}
