/**
 * Changes a few fields of a JSON body in its bytes. Calls of the same style must reach the provider otherwise
 * unchanged, so the body is not parsed and written again, which would also be slow for long prompts.
 */
import { type ByteParts, joined, withFewPieces } from "../../lib/bytes/byte_parts.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { stringifyExactly } from "../../lib/runtime/mod.ts";
import { singleWriteBytes } from "../../net/http1/limits.ts";
import type { JsonBody } from "./json_body.ts";

/**
 * Bytes of the largest body that is copied to change a field in it: copying that much costs less than one more write.
 */
const maxCopiedBodyBytes = 32 * 1024;

const encoder = new TextEncoder();

/** A text that replaces a range of bytes. */
interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: Uint8Array;
}

function editsOf(body: JsonBody, changes: JsonObject): Edit[] {
  const edits: Edit[] = [];
  let added = "";
  let isEmpty = body.fields.size === 0;
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) continue;
    const span = body.fields.get(name);
    const text = stringifyExactly(value);
    if (span !== undefined) edits.push({ ...span, text: encoder.encode(text) });
    else {
      added += `${isEmpty ? "" : ","}${stringifyExactly(name)}:${text}`;
      isEmpty = false;
    }
  }
  if (added !== "") {
    const closing = body.bytes.lastIndexOf(0x7d);
    edits.push({ start: closing, end: closing, text: encoder.encode(added) });
  }
  return edits.sort((a, b) => a.start - b.start);
}

/**
 * Replaces or adds some top-level fields and leaves others out; the values of the rest stay as they were.
 *
 * @example
 * ```ts
 * import { joined } from "../../lib/bytes/byte_parts.ts";
 * import { parseJsonBody } from "./json_body.ts";
 * import { withoutFields } from "./changed_body.ts";
 * const body = parseJsonBody(new TextEncoder().encode('{ "model": "a", "x" : 1.0 }'));
 * const text = new TextDecoder().decode(joined(withoutFields(body, ["model"], { version: "1" })));
 * if (text !== '{"x":1.0,"version":"1"}') throw new Error(text);
 * ```
 */
export function withoutFields(
  body: JsonBody,
  removed: readonly string[],
  changes: JsonObject,
): ByteParts {
  const pieces: Uint8Array[] = [];
  const add = (name: string, value: Uint8Array) => {
    const comma = pieces.length === 0 ? "{" : ",";
    pieces.push(encoder.encode(`${comma}${stringifyExactly(name)}:`), value);
  };
  for (const [name, { start, end }] of body.fields) {
    if (removed.includes(name) || changes[name] !== undefined) continue;
    add(name, body.bytes.subarray(start, end));
  }
  for (const [name, value] of Object.entries(changes)) {
    if (value !== undefined && !removed.includes(name)) {
      add(name, encoder.encode(stringifyExactly(value)));
    }
  }
  pieces.push(encoder.encode(pieces.length === 0 ? "{}" : "}"));
  return body.bytes.length <= maxCopiedBodyBytes
    ? joined(pieces)
    : withFewPieces(pieces, singleWriteBytes);
}

/**
 * Replaces or adds some top-level fields; every other byte stays as it was. A large body is not copied, so the result
 * comes in pieces.
 *
 * @example
 * ```ts
 * import { joined } from "../../lib/bytes/byte_parts.ts";
 * import { parseJsonBody } from "./json_body.ts";
 * import { withFields } from "./changed_body.ts";
 * const body = parseJsonBody(new TextEncoder().encode('{ "model": "a", "x" : 1.0 }'));
 * const changed = withFields(body, { model: "b", stream: true });
 * const text = new TextDecoder().decode(joined(changed));
 * if (text !== '{ "model": "b", "x" : 1.0 ,"stream":true}') throw new Error(text);
 * ```
 */
export function withFields(body: JsonBody, changes: JsonObject): ByteParts {
  const { bytes } = body;
  const edits = editsOf(body, changes);
  if (edits.length === 0) return bytes;
  const pieces: Uint8Array[] = [];
  let readAt = 0;
  for (const { start, end, text } of edits) {
    pieces.push(bytes.subarray(readAt, start), text);
    readAt = end;
  }
  pieces.push(bytes.subarray(readAt));
  return bytes.length <= maxCopiedBodyBytes
    ? joined(pieces)
    : withFewPieces(pieces, singleWriteBytes);
}
