/**
 * Writes the client's name of the model into answers that otherwise pass unchanged. Agent clients compare it with the
 * name that they asked for, and the provider's name is internal to the operator.
 */
import { joined } from "../../lib/bytes/byte_parts.ts";
import type { GatewayError } from "../../lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import type { FrameEdits, SseFrame } from "../../lib/sse/frame.ts";
import { JsonCursor, type JsonKey, jsonKey } from "../../lib/json/json_cursor.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";

const encoder = new TextEncoder();

/** `""` */
const emptyLiteralBytes = 2;

/** The member `model`, prepared for scanning. */
export const modelKey = jsonKey("model");

/** Rest of a member after its name, if its value is a string. */
const memberValue = /[ \t\r\n]*:[ \t\r\n]*("(?:[^"\\]|\\.)*")/y;

/** Names that are kept encoded: those of the catalogue, and what clients call them. */
const namesKept = 256;

const known = new Map<string, ClientModel>();

/** Replaces the provider's name of the model in the bytes of an answer by the client's. One for each name. */
export class ClientModel {
  /** The name as JSON, its quotes included. */
  readonly #literal: Uint8Array;

  /** Returns the one of a name: encoding it for each call would cost as much as parsing an answer of 1 KB. */
  static of(name: string): ClientModel {
    const found = known.get(name);
    if (found !== undefined) return found;
    const made = new ClientModel(name);
    if (known.size >= namesKept) known.clear();
    known.set(name, made);
    return made;
  }

  private constructor(name: string) {
    this.#literal = encoder.encode(stringifyExactly(name));
  }

  /**
   * Skips the value of a `model` member of `frame`, and adds the edit that replaces it by the client's model. An empty
   * string or another type of value stays.
   */
  rename(cursor: JsonCursor, frame: SseFrame, edits: FrameEdits): void {
    const start = cursor.at;
    const isString = cursor.isString;
    cursor.skip();
    if (isString && this.#differs(frame.payload, start, cursor.at)) {
      edits.replace(frame, start, cursor.at, this.#literal);
    }
  }

  /**
   * Returns a whole answer with the client's name in its top-level `model`, and all other bytes unchanged.
   *
   * @param member the member of the style that names the model
   *
   * @throws {JsonScanError} if the bytes are not JSON
   *
   * @example
   * ```ts
   * import { ClientModel } from "./client_model.ts";
   * const answer = '{ "choices": [{"model":"x"}], "model" : "vendor-1" }';
   * const named = ClientModel.of("premium-1").inAnswer(new TextEncoder().encode(answer));
   * const text = new TextDecoder().decode(named);
   * if (text !== '{ "choices": [{"model":"x"}], "model" : "premium-1" }') throw new Error(text);
   * ```
   */
  inAnswer(bytes: Uint8Array, member: JsonKey = modelKey): Uint8Array {
    const cursor = new JsonCursor();
    cursor.reset(bytes, startsWithMark(bytes) ? 3 : 0, bytes.length);
    if (!cursor.enterObject()) return bytes;
    const pieces: Uint8Array[] = [];
    let readAt = 0;
    while (cursor.nextMember()) {
      const start = cursor.at;
      const isName = cursor.isString && cursor.keyIs(member);
      cursor.skip();
      if (!isName || !this.#differs(bytes, start, cursor.at)) continue;
      pieces.push(bytes.subarray(readAt, start), this.#literal);
      readAt = cursor.at;
    }
    if (readAt === 0) return bytes;
    pieces.push(bytes.subarray(readAt));
    return joined(pieces);
  }

  /**
   * The same for an answer of which it is known that its top-level member `name` is a string, if the text leaves no
   * doubt where that member is: `name` occurs in it once and is not spelled with escapes. It takes a tenth of the time of
   * a scan.
   *
   * @param answer the bytes, and the text that they are
   * @returns `undefined` in doubt
   *
   * @example
   * ```ts
   * import { ClientModel } from "./client_model.ts";
   * const text = '{"model" : "vendor-1","n":"\\"model\\""}';
   * const answer = { text, bytes: new TextEncoder().encode(text) };
   * const named = ClientModel.of("premium-1").inOnlyMember(answer, "model");
   * if (new TextDecoder().decode(named) !== text.replace("vendor-1", "premium-1")) throw new Error("wrong place");
   * ```
   */
  inOnlyMember(
    { bytes, text }: { readonly bytes: Uint8Array; readonly text: string },
    name: string,
  ): Uint8Array | undefined {
    // Only where each character is one byte are places in the text places in the bytes.
    if (text.length !== bytes.length || text.includes("\\u")) return undefined;
    const quoted = `"${name}"`;
    const at = text.indexOf(quoted);
    if (at === -1 || text.includes(quoted, at + 1)) return undefined;
    memberValue.lastIndex = at + quoted.length;
    const value = memberValue.exec(text)?.[1];
    if (value === undefined) return undefined;
    const end = memberValue.lastIndex;
    const start = end - value.length;
    if (!this.#differs(bytes, start, end)) return bytes;
    return joined([bytes.subarray(0, start), this.#literal, bytes.subarray(end)]);
  }

  /** Whether a string literal is a name other than the client's. */
  #differs(bytes: Uint8Array, start: number, end: number): boolean {
    const literal = this.#literal;
    const length = end - start;
    if (length !== literal.length) return length > emptyLiteralBytes;
    for (let i = 0; i < length; i++) {
      if (bytes[start + i] !== literal[i]) return true;
    }
    return false;
  }
}

/** Both names of a call's model. */
export interface ModelNames {
  /** The name the client sent. */
  readonly clientModel: string;
  /** The provider's name, if a provider was called. */
  readonly upstreamModel?: string;
}

/**
 * Replaces the provider's name of the model in an error by the client's. Longer names that begin with it and a separator
 * are its dated versions, and are replaced as a whole.
 *
 * @example
 * ```ts
 * import { GatewayError } from "../../lib/errors/errors.ts";
 * import { inClientTerms } from "./client_model.ts";
 * const error = new GatewayError("invalid_request", "vendor-1-2026-08-06 takes no images; vendor-12 does");
 * const names = { clientModel: "premium-1", upstreamModel: "vendor-1" };
 * const { message } = inClientTerms(error, names);
 * if (message !== "premium-1 takes no images; vendor-12 does") throw new Error(message);
 * ```
 */
export function inClientTerms(
  error: GatewayError,
  { clientModel, upstreamModel }: ModelNames,
): GatewayError {
  if (upstreamModel === undefined || upstreamModel === clientModel) return error;
  const { message, vendorMembers } = error;
  if (vendorMembers === undefined && !message.includes(upstreamModel)) return error;
  const pattern = nameInText(upstreamModel);
  const inTerms = (value: Json): Json => {
    if (typeof value === "string") return value.replace(pattern, () => clientModel);
    if (Array.isArray(value)) return value.map(inTerms);
    return isJsonObject(value) ? membersInTerms(value) : value;
  };
  const membersInTerms = (members: JsonObject): JsonObject => {
    const named: JsonObject = {};
    for (const [name, value] of Object.entries(members)) {
      if (value !== undefined) named[name] = inTerms(value);
    }
    return named;
  };
  return error.reworded(
    message.replace(pattern, () => clientModel),
    vendorMembers === undefined ? undefined : membersInTerms(vendorMembers),
  );
}

function nameInText(name: string): RegExp {
  const literal = name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
  return new RegExp(`(?<!\\w)${literal}(?!\\w)(?:[-@:.]\\w+)*`, "g");
}

/** A byte order mark, which decoders of text drop. */
function startsWithMark(bytes: Uint8Array): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
}
