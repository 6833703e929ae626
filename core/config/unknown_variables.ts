/** Finds environment variables that look like settings of the gateway and are none: a mistyped name has no effect. */

const prefix = "GATEWAY_";

/** Set for clients, by the settings that `/connect` shows; the gateway itself reads no key from it. */
const clientVariables: ReadonlySet<string> = new Set([`${prefix}API_KEY`]);

/** Typing errors between a name and the one that was meant. */
const maxEdits = 3;

/** The Levenshtein distance of two short texts. */
function editsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, i) => i);
  for (const [i, letter] of [...one].entries()) {
    const next = [i + 1];
    for (const [j, otherLetter] of [...other].entries()) {
      const replaced = (row[j] ?? 0) + (letter === otherLetter ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}

/**
 * Writes a line for each variable with the gateway's prefix that it does not read.
 *
 * @param names the variables that are set
 * @param known those that the gateway reads, and those that `gateway.json` names for secrets
 *
 * @example
 * ```ts
 * import { unknownVariables } from "./unknown_variables.ts";
 * const mistyped = "GATEWAY_OPERATORS".slice(0, -1);
 * const [line] = unknownVariables([mistyped, "PATH"], new Set(["GATEWAY_OPERATORS"]));
 * if (!line?.endsWith("has no effect; did you mean GATEWAY_OPERATORS?")) throw new Error(line);
 * const [prefixed] = unknownVariables(["GATEWAY_" + "PORT"], new Set(["PORT"]));
 * if (!prefixed?.endsWith("did you mean PORT?")) throw new Error(prefixed);
 * ```
 */
export function unknownVariables(
  names: readonly string[],
  known: ReadonlySet<string>,
): string[] {
  const unknown = names.filter((name) =>
    name.startsWith(prefix) && !known.has(name) && !clientVariables.has(name)
  );
  return unknown.map((name) => {
    const bare = name.slice(prefix.length);
    if (known.has(bare)) return `${name} is set and has no effect; did you mean ${bare}?`;
    const near = [...known].filter((other) => other.startsWith(prefix))
      .map((other) => ({ other, edits: editsBetween(name, other) }))
      .sort((one, two) => one.edits - two.edits)[0];
    const advice = near !== undefined && near.edits <= maxEdits
      ? `did you mean ${near.other}?`
      : "docs/configuration.md lists all variables";
    return `${name} is set and has no effect; ${advice}`;
  });
}
