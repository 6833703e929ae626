/**
 * The fields that decide what a call costs. A provider must not read another value in them than we do: not under another
 * spelling of the name, and not out of an object that it merges into the request.
 */
import {
  billableFieldNames,
  judgedFieldNames,
  mergedField,
} from "../../wire/billable_features/asked_for.ts";
import { GatewayError } from "../../errors.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";

/** Nearly every name: its own folding. */
const plainName = /^[a-z0-9_]*$/;

/** As those providers do it: some letters have a third case (`ſ` is an `s`, U+212A a `k`). */
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
  ...billableFieldNames,
].map((name) => [foldCase(name), name]));

/** What is judged inside the merged object too, by the rules of its own. */
const judgedInside: ReadonlySet<string> = new Set(judgedFieldNames);

function misnamed(name: string, known: string): string {
  return `The field ${JSON.stringify(name)} is named ${known}`;
}

/**
 * What is wrong with a top-level field whose name differs only in case from one that decides the cost. Some providers
 * match names without regard to case, and the last one wins there: a `Model` behind our `model` would be another model
 * at the price of this one.
 */
export function otherCaseProblem(name: string): GatewayError | undefined {
  const known = decisive.get(foldCase(name));
  if (known === undefined || known === name) return undefined;
  return new GatewayError("invalid_json", misnamed(name, known), { param: name });
}

/**
 * The same for the name of a form's part, where other spellings mean the same field to some servers as well: blanks
 * around it, and `n[]` or `n[0]` for `n`. Fields that do not decide the cost keep their brackets (`image[]`).
 *
 * @throws {GatewayError} `invalid_request` naming the field
 */
export function refuseOtherSpelling(name: string): void {
  const known = decisive.get(foldCase(name.replace(/\[.*$/s, "").trim()));
  if (known === undefined || known === name) return;
  throw new GatewayError("invalid_request", misnamed(name, known), { param: known });
}

/**
 * Refuses fields that decide the cost inside `extra_body`, which some servers merge into the request: what we reserve
 * and bill for stands at the top. What may cost more than tokens is judged there like everywhere, route by route.
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
export function refuseMergedFields(body: JsonObject): void {
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
