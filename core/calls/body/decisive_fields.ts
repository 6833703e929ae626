/**
 * Protects the fields that decide what a call costs. A provider must not read another value for them than we do,
 * neither under another spelling of the name nor from an object that it merges into the request.
 */
import {
  billableFieldNames,
  judgedFieldNames,
  mergedField,
} from "../../wire/billable_features/asked_for.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { isJsonObject, type OutlineObject } from "../../lib/json/json.ts";

/** Names that case folding does not change: nearly all. */
const plainName = /^[a-z0-9_]*$/;

/** Folds case as such providers do: some letters have a third form (`ſ` folds to `s`, U+212A to `k`). */
function foldCase(name: string): string {
  return plainName.test(name) ? name : name.toUpperCase().toLowerCase();
}

const decisive: ReadonlyMap<string, string> = new Map([
  "model",
  "stream",
  "stream_options",
  "n",
  "best_of",
  "max_tokens",
  "max_completion_tokens",
  "max_output_tokens",
  "partial_images",
  "background",
  "previous_response_id",
  "conversation",
  "prompt",
  "thread",
  "generationConfig",
  "generation_config",
  "cachedContent",
  "cached_content",
  "serviceTier",
  ...billableFieldNames,
].map((name) => [foldCase(name), name]));

/** Fields that have rules of their own inside the merged object too. */
const judgedInside: ReadonlySet<string> = new Set(judgedFieldNames);

function misnamed(name: string, known: string): string {
  return `The field ${JSON.stringify(name)} is named ${known}`;
}

/**
 * Refuses a top-level field whose name differs only in case from one that decides the cost. Some providers ignore
 * case and take the last field: a `Model` after our `model` would select another model at the price of this one.
 */
export function otherCaseProblem(name: string): GatewayError | undefined {
  const known = decisive.get(foldCase(name));
  if (known === undefined || known === name) return undefined;
  return new GatewayError("invalid_json", misnamed(name, known), { param: name });
}

/**
 * Refuses such names for parts of a form, where some servers also ignore blanks around the name, and read `n[]` or
 * `n[0]` as `n`. Fields that do not decide the cost keep their brackets (`image[]`).
 *
 * @throws {GatewayError} `invalid_request` naming the field
 */
export function refuseOtherSpelling(name: string): void {
  const known = decisive.get(foldCase(name.replace(/\[.*$/s, "").trim()));
  if (known === undefined || known === name) return;
  throw new GatewayError("invalid_request", misnamed(name, known), { param: known });
}

/**
 * Refuses fields that decide the cost inside `extra_body`, which some servers merge into the request: reservation and
 * charge follow the top-level fields. Billable features inside it are checked for each route, as everywhere.
 *
 * @example
 * ```ts
 * import { refuseMergedFields } from "./decisive_fields.ts";
 * refuseMergedFields({ model: "m", extra_body: { top_k: 4 } });
 * let refused = false;
 * try {
 *   refuseMergedFields({ model: "m", extra_body: { n: 9 } });
 * } catch {
 *   refused = true;
 * }
 * if (!refused) throw new Error("nine answers for one");
 * ```
 *
 * @throws {GatewayError} `invalid_request` naming the field
 */
export function refuseMergedFields(body: OutlineObject): void {
  const merged = body[mergedField];
  if (!isJsonObject(merged)) return;
  for (const name in merged) {
    const known = decisive.get(foldCase(name));
    if (known === undefined || (known === name && judgedInside.has(name))) continue;
    const param = `${mergedField}.${known}`;
    const problem = known === name
      ? `${param}: belongs beside ${mergedField}, since it decides what the call costs`
      : misnamed(`${mergedField}.${name}`, known);
    throw new GatewayError("invalid_request", problem, { param });
  }
}
