/** Members of a request that some styles have in the path: the model and the choice of streaming. */
import type { JsonObject } from "../../lib/json/json.ts";
import type { ProviderStyle } from "./style.ts";

/** Whether the model and the choice of streaming are in the path of a request of the style. */
export function hasPathMembers(style: ProviderStyle): boolean {
  return style === "gemini" || style === "converse";
}

/**
 * Returns the body of such a request as it goes over the wire.
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
