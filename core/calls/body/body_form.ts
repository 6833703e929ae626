/** What a JSON body is after it was read, whole or in outline. */
import type { JsonObject, OutlineObject } from "../../lib/json/json.ts";

/** Byte range of a value, end excluded. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A JSON object as received: its bytes, its value and the places of its top-level fields. */
export interface JsonBody {
  readonly bytes: Uint8Array;
  /**
   * The parsed value; numbers are as exact as in the bytes. That of a large body is parsed when it is first read, which
   * costs more than the rest of a call: what needs no long texts reads the outline.
   */
  readonly value: JsonObject;
  /** The value, in which long strings of prompts may not be decoded. */
  readonly outline: OutlineObject;
  /** Top-level fields by their decoded name. */
  readonly fields: ReadonlyMap<string, Span>;
  /** The body contains the word `base64`: it may hold pictures or files, which are not billed by their length. */
  readonly mentionsBase64: boolean;
  /** Whether a string may begin with a short text of ASCII, or a short string contain it. */
  mayHold(text: string): boolean;
}

/** A body with another value, for what reads it; its bytes stay as they are. */
export function withValue(body: JsonBody, value: JsonObject): JsonBody {
  const { bytes, fields, mentionsBase64 } = body;
  return {
    bytes,
    value,
    outline: value,
    fields,
    mentionsBase64,
    mayHold: (text) => body.mayHold(text),
  };
}
