import { invariant } from "../base/assert.ts";

const encoder = new TextEncoder();

/**
 * Encodes one event. JSON text has no raw line break, so one `data` line is enough.
 *
 * @example
 * ```ts
 * import { encodeSseEvent } from "./writer.ts";
 * const bytes = encodeSseEvent('{"type":"ping"}', "ping");
 * if (new TextDecoder().decode(bytes) !== 'event: ping\ndata: {"type":"ping"}\n\n') throw new Error("wrong");
 * ```
 *
 * @throws {InvariantError} if `data` or `event` holds a line break: it would become another field
 */
export function encodeSseEvent(data: string, event?: string): Uint8Array {
  return encoder.encode(sseEventText(data, event));
}

/** Writes one event as text, for callers that join several events before they encode. */
export function sseEventText(data: string, event?: string): string {
  invariant(!/[\r\n]/.test(data), "the data of an event is one line");
  if (event === undefined) return `data: ${data}\n\n`;
  invariant(!/[\r\n]/.test(event), "the name of an event is one line");
  return `event: ${event}\ndata: ${data}\n\n`;
}

/** Writes a comment line, which clients ignore. */
export function sseComment(text: string): string {
  invariant(!/[\r\n]/.test(text), "a comment is one line");
  return `: ${text}\n\n`;
}

/** Encodes a comment line; it keeps a silent connection alive. */
export function encodeSseComment(text: string): Uint8Array {
  return encoder.encode(sseComment(text));
}

/** The comment sent during silence where a style has no event for that. */
export const keepAliveComment = encodeSseComment("keep-alive");
