/** Secrets that come in by the environment. No text of a problem ever holds one. */
import { z } from "zod";

/** RFC 9110 section 5.5: what a header carries without doubt. A space inside a secret is a slip of the clipboard. */
const visibleAscii = /^[\x21-\x7e]*$/;

/**
 * Takes the one line end off that files of mounted secrets end with. Nothing else is trimmed: what looks like part of a
 * secret may be one.
 *
 * @example
 * ```ts
 * import { withoutLineEnd } from "./secret_text.ts";
 * if (withoutLineEnd("k-1\n") !== "k-1" || withoutLineEnd("k-1\r\n") !== "k-1") throw new Error();
 * if (withoutLineEnd("k-1\n\n") !== "k-1\n") throw new Error("more than one was taken");
 * ```
 */
export function withoutLineEnd(text: string): string {
  return text.replace(/\r?\n$/, "");
}

/** What is wrong with a secret, or `undefined`. The text never holds it. */
export function secretProblem(secret: string): string | undefined {
  return visibleAscii.test(secret)
    ? undefined
    : "must be visible ASCII characters: no spaces, line breaks or accents";
}

/** A secret of at least so many characters, without the line end of its file. */
export function secretText(minChars: number): z.ZodType<string, string> {
  const length = `must have at least ${minChars} character${minChars === 1 ? "" : "s"}`;
  return z.string().transform(withoutLineEnd).pipe(
    z.string().min(minChars, length).superRefine((secret, context) => {
      const message = secretProblem(secret);
      if (message !== undefined) context.addIssue({ code: "custom", message });
    }),
  );
}
