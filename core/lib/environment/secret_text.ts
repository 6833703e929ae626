/** Secrets from the environment. The text of a problem never contains one. */
import { z } from "zod";

/**
 * RFC 9110 section 5.5: the characters that every header may carry. A space inside a secret is a
 * copying mistake.
 */
const visibleAscii = /^[\x21-\x7e]*$/;

/**
 * Removes the one line end at the end of a mounted secret file. Nothing else is trimmed: what looks
 * like padding may be part of the secret.
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

/**
 * Describes what is wrong with a secret, or returns `undefined`. The text never contains the
 * secret.
 */
export function secretProblem(secret: string): string | undefined {
  return visibleAscii.test(secret)
    ? undefined
    : "must be visible ASCII characters: no spaces, line breaks or accents";
}

/** A schema for secrets of at least `minChars` characters, without the line end of their file. */
export function secretText(minChars: number): z.ZodType<string, string> {
  const length = `must have at least ${minChars} character${minChars === 1 ? "" : "s"}`;
  return z.string().transform(withoutLineEnd).pipe(
    z.string().min(minChars, length).superRefine((secret, context) => {
      const message = secretProblem(secret);
      if (message !== undefined) context.addIssue({ code: "custom", message });
    }),
  );
}
