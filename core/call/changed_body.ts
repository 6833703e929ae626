/**
 * A JSON body with a few fields changed. Same-style calls must reach the provider unchanged, so a field is replaced in
 * the bytes instead of parsing and writing the whole body again: faithful, and cheap for long prompts.
 */
import type { JsonObject } from "../json.ts";
import type { JsonBody } from "./json_body.ts";

const encoder = new TextEncoder();

/**
 * The body with some top-level fields replaced or added, every other byte as it was.
 *
 * @example
 * ```ts
 * import { parseJsonBody } from "./json_body.ts";
 * import { withFields } from "./changed_body.ts";
 * const body = parseJsonBody(new TextEncoder().encode('{ "model": "a", "x" : 1.0 }'));
 * const changed = withFields(body, { model: "b", stream: true });
 * const text = new TextDecoder().decode(changed);
 * if (text !== '{ "model": "b", "x" : 1.0 ,"stream":true}') throw new Error(text);
 * ```
 */
export function withFields(body: JsonBody, changes: JsonObject): Uint8Array {
  const edits: { start: number; end: number; text: Uint8Array }[] = [];
  const closing = body.bytes.lastIndexOf(0x7d);
  let added = "";
  let isEmpty = body.fields.size === 0;
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) continue;
    const span = body.fields.get(name);
    const text = JSON.stringify(value);
    if (span !== undefined) edits.push({ ...span, text: encoder.encode(text) });
    else {
      added += `${isEmpty ? "" : ","}${JSON.stringify(name)}:${text}`;
      isEmpty = false;
    }
  }
  if (added !== "") edits.push({ start: closing, end: closing, text: encoder.encode(added) });
  if (edits.length === 0) return body.bytes;
  edits.sort((a, b) => a.start - b.start);

  let length = body.bytes.length;
  for (const { start, end, text } of edits) length += text.length - (end - start);
  const result = new Uint8Array(length);
  let readAt = 0;
  let writeAt = 0;
  for (const { start, end, text } of edits) {
    result.set(body.bytes.subarray(readAt, start), writeAt);
    writeAt += start - readAt;
    result.set(text, writeAt);
    writeAt += text.length;
    readAt = end;
  }
  result.set(body.bytes.subarray(readAt), writeAt);
  return result;
}
