/** Schemas of texts that have a parser of their own. */
import { z } from "zod";

/**
 * The schema of a text as its parser reads it.
 *
 * @param parse returns `undefined` for a text that is none
 * @param message what it must be
 *
 * @example
 * ```ts
 * import { z } from "zod";
 * import { parsedText } from "./parsed_text.ts";
 * const whole = parsedText(
 *   z.string().max(9),
 *   (text) => /^\d+$/.test(text) ? Number(text) : undefined,
 *   "must be a whole number",
 * );
 * if (whole.parse("42") !== 42) throw new Error("not read");
 * if (whole.safeParse("4.2").error?.issues[0]?.message !== "must be a whole number") throw new Error("read");
 * ```
 */
export function parsedText<Value>(
  text: z.ZodString,
  parse: (text: string) => Value | undefined,
  message: string,
) {
  return text.transform((typed, context): Value => {
    const value = parse(typed);
    if (value !== undefined) return value;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  });
}
