/** The schemas of texts that operators write: trimmed, never blank, and without what cannot be shown. */
import { z } from "zod";
import {
  isOneLine,
  isProse,
  oneLineForm,
  proseForm,
} from "../../../../core/lib/base/plain_text.ts";
import { parseDay } from "../../../usage_api/range.ts";

/** Characters of a reason: a few sentences, which an audit line, a statement and a mail have room for. */
export const maxReasonChars = 500;

function textOf(minChars: number, maxChars: number) {
  const error = `must have ${minChars} to ${maxChars} characters`;
  // Browsers count the end of a line as one character, and send two.
  return z.string({ error }).overwrite((text) => text.replaceAll("\r\n", "\n").trim())
    .min(minChars, { error }).max(maxChars, { error });
}

/** The schema of a name, a number or an id: one line. */
export function lineText(maxChars: number, minChars = 1) {
  return textOf(minChars, maxChars).refine(isOneLine, oneLineForm);
}

/** The schema of a line that may be missing or empty, which is the same. */
export function optionalLine(maxChars: number) {
  return lineText(maxChars, 0).optional();
}

/** The schema of a message or a reason: some lines. */
export function proseText(maxChars: number, minChars = 1) {
  return textOf(minChars, maxChars).refine(isProse, proseForm);
}

/** The schema of the reason of an act. */
export const reasonText = proseText(maxReasonChars);

const dayForm = "must be a day such as 2026-11-20";

/** The schema of a day. */
export const day = z.iso.date(dayForm).refine((text) => parseDay(text) !== undefined, dayForm);
