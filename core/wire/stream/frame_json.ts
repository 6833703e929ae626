/** Parses the data of a stream's event. An `error` event may also hold plain text, which some providers send. */
import { GatewayError } from "../../lib/errors/errors.ts";
import { parseExactly } from "../../lib/json/exact_json.ts";
import type { Json } from "../../lib/json/json.ts";
import type { SseFrame } from "../../lib/sse/frame.ts";
import { JsonScanError } from "../../lib/json/json_cursor.ts";

/**
 * Parses the data for decoders, with exact numbers.
 *
 * @throws {GatewayError} `upstream_unreachable` when the data is not JSON
 *
 * @example
 * ```ts
 * import { eventJson } from "./frame_json.ts";
 * if (eventJson("message", "[1]")?.toString() !== "1") throw new Error("JSON was not read");
 * if (eventJson("error", "try later") !== "try later") throw new Error("the text was lost");
 * ```
 */
export function eventJson(event: string | undefined, data: string): Json {
  try {
    return parseExactly(data);
  } catch (cause) {
    if (event === "error") return data;
    throw new GatewayError("upstream_unreachable", "The provider's stream cannot be read", {
      cause,
    });
  }
}

/**
 * Parses the data for meters, which need only counts that fit a `number`.
 *
 * @throws {JsonScanError} when the data is not JSON
 */
export function frameJson(frame: SseFrame): Json {
  try {
    const value: Json = JSON.parse(frame.data);
    return value;
  } catch (cause) {
    if (frame.event === "error") return frame.data;
    throw new JsonScanError("Not JSON", { cause });
  }
}
