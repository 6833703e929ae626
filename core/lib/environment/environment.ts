/**
 * Reads environment variables for every part of the configuration.
 *
 * - Folder `core/lib/environment/`: settings as text: variables, numbers, addresses, secrets.
 * - In: environment variables as values.
 * - Out: parsed settings, or every problem with them.
 * - Never: reads the environment of the process, or repeats a secret in the text of a problem.
 */
import { z } from "zod";

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

/** Writes one line per issue, without the values. */
export function issueLines(prefix: string, error: z.ZodError): string[] {
  return error.issues.map((issue) => {
    const path = issue.path.map(String).join(".");
    return `${prefix}${path === "" ? "" : ` ${path}`}: ${issue.message}`;
  });
}
