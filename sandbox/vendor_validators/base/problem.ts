/**
 * Turns the problems of a failed schema into the vendor's error message. Like vendors, it reports only the first problem.
 *
 * - Folder `sandbox/vendor_validators/base/`: what the validators of several vendors share: paths of fields, rules
 *   for JSON Schemas.
 * - In: problems of a schema of zod, and JSON Schemas of a request.
 * - Out: one problem in the words of a vendor, or `undefined`.
 * - Never: changes what it checks.
 */
import type { z } from "zod";

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];

/** Form in which a vendor writes the path of a field. */
export type PathStyle = "dots" | "brackets";

/**
 * Writes the path of a field: `messages.0.content` or `messages[0].content`.
 *
 * @example
 * ```ts
 * import { fieldPath } from "./problem.ts";
 * if (fieldPath(["messages", 0, "role"], "brackets") !== "messages[0].role") throw new Error("wrong path");
 * ```
 */
export function fieldPath(path: Path, style: PathStyle): string {
  if (style === "dots") return path.map(String).join(".");
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    return text === "" ? String(part) : `${text}.${String(part)}`;
  }, "");
}

interface Problem {
  readonly path: Path;
  readonly issue: Issue;
}

/** Finds the problem of a union in the branch that matched furthest, which is the one that the caller meant. */
function furthest(issue: Issue, base: Path): Problem {
  const path = [...base, ...issue.path];
  if (issue.code !== "invalid_union") return { path, issue };
  let best: Problem = { path, issue };
  for (const branch of issue.errors) {
    const first = branch[0];
    if (first === undefined) continue;
    const found = furthest(first, path);
    if (found.path.length > best.path.length || best.issue === issue) best = found;
  }
  return best;
}

function describe({ path, issue }: Problem, style: PathStyle): string {
  if (issue.code === "unrecognized_keys") {
    const place = fieldPath([...path, issue.keys[0] ?? ""], style);
    return style === "dots"
      ? `${place}: Extra inputs are not permitted`
      : `Unknown parameter: '${place}'.`;
  }
  const place = fieldPath(path, style);
  if (style === "dots") return place === "" ? issue.message : `${place}: ${issue.message}`;
  return `Invalid '${place}': ${issue.message}.`;
}

/** Writes the first problem of a failed parse, with the field as the vendor names it. */
export function firstProblem(error: z.ZodError, style: PathStyle): string {
  const issue = error.issues[0];
  return issue === undefined ? "Invalid request" : describe(furthest(issue, []), style);
}
