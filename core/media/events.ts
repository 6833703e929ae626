/** Events of media streams: what pictures and speech have in common. */
import { readProviderError } from "../dialects/provider_error.ts";
import { errorBody, type GatewayError } from "../errors.ts";
import type { SseFrame } from "../sse/frame.ts";
import { JsonCursor, jsonKey } from "../sse/json_cursor.ts";
import { encodeSseEvent } from "../sse/writer.ts";

const typeKey = jsonKey("type");
const errorKey = jsonKey("error");

/** How a stream of media tells an error. */
export function mediaErrorEvent(error: GatewayError, requestId: string): Uint8Array {
  return encodeSseEvent(JSON.stringify(errorBody(error, "chat", requestId)), "error");
}

/** Reads the few members of an event that say what it is; what it holds may be a whole picture, and is stepped over. */
export class MediaEventReader {
  readonly #cursor = new JsonCursor();

  /** @throws {JsonScanError} when the data is no JSON */
  typeOf(frame: SseFrame): string {
    if (frame.event !== "") return frame.event;
    const type = this.#member(frame, typeKey);
    return typeof type === "string" ? type : "";
  }

  /**
   * The error that an event tells, if it tells one.
   *
   * @throws {JsonScanError | SyntaxError} when the data is no JSON
   */
  errorOf(frame: SseFrame, type: string): GatewayError | undefined {
    const error = this.#member(frame, errorKey);
    const isError = type === "error" || (error !== undefined && error !== null);
    return isError ? readProviderError(JSON.parse(frame.data)) : undefined;
  }

  #member(frame: SseFrame, key: Uint8Array): unknown {
    const cursor = this.#cursor;
    cursor.reset(frame.payload, frame.payloadStart, frame.payloadEnd);
    if (!cursor.enterObject()) return undefined;
    while (cursor.nextMember()) {
      if (cursor.keyIs(key)) return cursor.takeValue();
      cursor.skip();
    }
    return undefined;
  }
}
