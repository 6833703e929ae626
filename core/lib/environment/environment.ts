/**
 * Reads environment variables for every part of the configuration.
 *
 * - Folder `core/lib/environment/`: settings as text: variables, numbers, addresses, secrets.
 * - In: environment variables as values.
 * - Out: parsed settings, or every problem with them.
 * - Never: reads the environment of the process, or repeats a secret in the text of a problem.
 */
import { z } from "zod";

// Addresses that contain a user and a password, parsed so that no error text repeats them.

/** The hint for characters that an address cannot contain as they are. */
export const percentEncodeHint =
  "percent-encode what is special in user and password (% is %25, # is %23, / is %2F, ? is %3F, @ is %40)";

/**
 * Whether a text has control characters, which `URL` drops silently, and with them a part of the
 * password.
 */
export function holdsControls(text: string): boolean {
  return /\p{Cc}/u.test(text);
}

/** Decodes user and password of an address; `undefined` if they are not well encoded. */
export function userInformation(
  url: URL,
): { readonly user: string; readonly password: string } | undefined {
  try {
    return { user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) };
  } catch {
    return undefined; // URIError: a % that begins no character
  }
}

// Secrets from the environment. The text of a problem never contains one.

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
 * import { withoutLineEnd } from "./environment.ts";
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

/** Environment variables by their names. */
export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Returns the variables that are set. An empty or blank one counts as not set, since that is what
 * `PORT= deno task start` and an unfilled line of a service file mean; `Number("")` would turn it
 * into 0.
 *
 * @example
 * ```ts
 * import { setVariables } from "./environment.ts";
 * const set = setVariables({ PORT: "", HOST: " ", GATEWAY_REGION: "sg" });
 * if (Object.keys(set).join() !== "GATEWAY_REGION") throw new Error("blanks were kept");
 * ```
 */
export function setVariables(environment: Environment): Environment {
  return Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value.trim() !== ""),
  );
}

/** A schema for whole numbers in decimal digits; `Number` would also accept `0x50` and `1e3`. */
export function wholeNumber(least: number, most: number) {
  const message = `must be a whole number from ${least} to ${most}`;
  return z.string().trim().regex(/^\d{1,15}$/, message).transform(Number)
    .pipe(z.int(message).min(least, message).max(most, message));
}
