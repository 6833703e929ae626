/** What must hold for the names of the top-level fields of a body. */
import { GatewayError } from "../../lib/errors/errors.ts";
import { otherCaseProblem } from "./decisive_fields.ts";

/**
 * Returns the error for a field whose name is there already, or differs only in case from one that decides the cost.
 */
export function fieldProblem(
  name: string,
  earlier: ReadonlyMap<string, unknown>,
): GatewayError | undefined {
  if (!earlier.has(name)) return otherCaseProblem(name);
  const problem = `The field ${JSON.stringify(name)} is there twice`;
  return new GatewayError("invalid_json", problem, { param: name });
}

/** Returns the name that a string literal is; `""` for what is no literal. */
export function nameOf(literal: string): string {
  if (!literal.includes("\\")) return literal.slice(1, -1);
  try {
    const value: unknown = JSON.parse(literal);
    return typeof value === "string" ? value : "";
  } catch {
    return ""; // not JSON: the parser reports it
  }
}
