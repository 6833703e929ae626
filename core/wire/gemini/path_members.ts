import type { JsonObject } from "../../lib/json/json.ts";

/**
 * Returns the body of a Gemini request as it goes over the wire: its model and the choice of streaming are in the path.
 *
 * @example
 * ```ts
 * import { withoutPathMembers } from "./path_members.ts";
 * const body = withoutPathMembers({ model: "m", stream: true, contents: [] });
 * if (JSON.stringify(body) !== '{"contents":[]}') throw new Error(JSON.stringify(body));
 * ```
 */
export function withoutPathMembers(body: JsonObject): JsonObject {
  const { model: _model, stream: _stream, ...rest } = body;
  return rest;
}
