/**
 * Items of a history that only their maker can read: encrypted reasoning, signatures of thinking, and thought
 * signatures.
 *
 * Those that an account of a provider made are left out for another account, and a provider's refusal of items that
 * another account made is recognised. Reasoning and sources that the gateway itself converted for a client are removed
 * from requests to vendors that did not sign them.
 */
import type { RouteCapabilities, Style } from "../../wire/contract/contract.ts";
import { unsealedMark } from "../../wire/fields/reasoning_seal.ts";
import { skippedSignature } from "../../wire/gemini/answer/thought_signatures.ts";
import { joined } from "../../lib/bytes/byte_parts.ts";
import { hashHex } from "../../lib/hash/short_hash.ts";
import {
  isJsonObject,
  type Json,
  type JsonObject,
  type Outline,
  type OutlineObject,
} from "../../lib/json/json.ts";
import { LongText } from "../../lib/json/scan/long_text.ts";
import { type JsonBody, parseJsonBody, withFields, withValue } from "../body/json_body.ts";
import { resolveCapabilities } from "../../wire/contract/capabilities.ts";
import {
  mixesStylesInLoop,
  sealPrefix,
  thinkingOffInMixedLoop,
  unsignedCall,
  withoutForeignBlocks,
  withoutForeignSignatures,
  withoutOwnReasoning,
  withoutSealedReasoning,
  wrappedPrefix,
} from "../../wire/mod.ts";

/** Places in which a style has its sealed items. */
interface SealPlaces {
  /** The field that holds the turns. */
  readonly turns: string;
  /** Lists within a turn whose members may be sealed; none: the turn itself. */
  readonly lists: readonly string[];
  readonly sealOf: (part: OutlineObject) => Outline | undefined;
  /** The part without its seal, in a form that each route leaves out or replaces; `undefined`: without the part. */
  readonly opened: (part: JsonObject) => JsonObject | undefined;
  /** Name of what is left out, in `x-gateway-conversion`. */
  readonly name: string;
}

function googleOf(part: OutlineObject): Outline | undefined {
  const extra = part["extra_content"];
  return isJsonObject(extra) ? extra["google"] : undefined;
}

const places: Readonly<Record<Style, SealPlaces>> = {
  messages: {
    turns: "messages",
    lists: ["content"],
    sealOf: (part) =>
      part["type"] === "thinking"
        ? part["signature"]
        : part["type"] === "redacted_thinking"
        ? part["data"]
        : undefined,
    opened: ({ thinking = "" }) => ({ type: "thinking", thinking, signature: unsealedMark }),
    name: "messages.signature",
  },
  responses: {
    turns: "input",
    lists: [],
    sealOf: (part) => part["type"] === "reasoning" ? part["encrypted_content"] : undefined,
    opened: (part) => ({ ...part, encrypted_content: unsealedMark }),
    name: "input.encrypted_content",
  },
  gemini: {
    turns: "contents",
    lists: ["parts"],
    sealOf: (part) => part["thoughtSignature"] ?? part["thought_signature"],
    opened: ({ thought_signature: _, ...part }) => ({ ...part, thoughtSignature: unsignedCall }),
    name: "contents.thoughtSignature",
  },
  chat: {
    turns: "messages",
    lists: ["reasoning_details", "tool_calls"],
    sealOf: (part) => {
      const google = googleOf(part);
      return isJsonObject(google) ? google["thought_signature"] : part["signature"] ?? part["data"];
    },
    opened: ({ extra_content, ...part }) => {
      if (extra_content !== undefined) {
        return { ...part, extra_content: { google: { thought_signature: skippedSignature } } };
      }
      return part["data"] === undefined ? { ...part, signature: unsealedMark } : undefined;
    },
    name: "messages.reasoning_details",
  },
};

/** Values that no account made. */
const unsealed: ReadonlySet<string> = new Set(["", unsealedMark, skippedSignature, unsignedCall]);

/**
 * UTF-16 units at both ends of a sealed text that are hashed: what is encrypted or signed differs in each of its parts,
 * and texts of megabytes may be sealed.
 */
const hashedEnd = 128;

const decoder = new TextDecoder("latin1");

/** A short hash of a sealed text, the same whether it is decoded or not: such texts have no escapes. */
function markOf(seal: Outline | undefined): string | undefined {
  if (typeof seal === "string") {
    if (unsealed.has(seal)) return undefined;
    return hashHex(`${seal.length} ${seal.slice(0, hashedEnd)} ${seal.slice(-hashedEnd)}`);
  }
  if (!(seal instanceof LongText)) return undefined;
  const { literal } = seal;
  const first = decoder.decode(literal.subarray(0, hashedEnd));
  return hashHex(`${literal.length} ${first} ${decoder.decode(literal.subarray(-hashedEnd))}`);
}

/**
 * Lists the sealed items of a request by short hashes of their contents, oldest first.
 *
 * @example
 * ```ts
 * import { parseJsonBody } from "../body/json_body.ts";
 * import { sealsOf, withoutSeals } from "./sealed_items.ts";
 * const input = [{ type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAAAB" }];
 * const body = parseJsonBody(new TextEncoder().encode(JSON.stringify({ input })));
 * const [seal] = sealsOf("responses", body);
 * const other = withoutSeals("responses", body, (mark) => mark === seal);
 * if (sealsOf("responses", other.body).length !== 0) throw new Error("still sealed");
 * ```
 */
export function sealsOf(style: Style, body: JsonBody): readonly string[] {
  const { turns, lists, sealOf } = places[style];
  const marks: string[] = [];
  const look = (part: Outline) => {
    const mark = isJsonObject(part) ? markOf(sealOf(part)) : undefined;
    if (mark !== undefined) marks.push(mark);
  };
  const list = body.outline[turns];
  for (const turn of Array.isArray(list) ? list : []) {
    if (lists.length === 0) look(turn);
    for (const name of lists) {
      const parts = isJsonObject(turn) ? turn[name] : undefined;
      if (Array.isArray(parts)) parts.forEach(look);
    }
  }
  return marks;
}

/**
 * Takes the seals out of a body that an account cannot read: what a route then does with the item is what it does with
 * reasoning that no vendor has signed.
 */
export function withoutSeals(
  style: Style,
  body: JsonBody,
  isForeign: (mark: string) => boolean,
): { readonly body: JsonBody; readonly name: string } {
  const { turns, lists, sealOf, opened, name } = places[style];
  const list = body.value[turns];
  const open = (part: Json): Json[] => {
    const mark = isJsonObject(part) ? markOf(sealOf(part)) : undefined;
    if (!isJsonObject(part) || mark === undefined || !isForeign(mark)) return [part];
    const left = opened(part);
    return left === undefined ? [] : [left];
  };
  const changed = (Array.isArray(list) ? list : []).flatMap((turn): Json[] => {
    if (lists.length === 0) return open(turn);
    if (!isJsonObject(turn)) return [turn];
    const own: JsonObject = {};
    for (const of of lists) {
      const parts = turn[of];
      if (Array.isArray(parts)) own[of] = parts.flatMap(open);
    }
    return [{ ...turn, ...own }];
  });
  const changes = { [turns]: changed };
  const parsed = parseJsonBody(joined(withFields(body, changes)));
  // Bodies may have members that are not in their bytes, such as the model that a path names.
  const { mentionsBase64 } = body;
  return { body: { ...withValue(parsed, { ...body.value, ...changes }), mentionsBase64 }, name };
}

/** The common prefix of our seals and ids: the seal without its dot. */
const seal = sealPrefix.slice(0, -1);

/**
 * Returns the fields to replace in a native body with reasoning or sources from a model of another
 * style.
 *
 * Such a body occurs if the client switched models in mid-conversation, or a call moved to another
 * route. The vendor would refuse a proof that it did not make, and a budget for thinking in a tool
 * loop that lacks it.
 *
 * @example
 * ```ts
 * import { withoutForeignReasoning } from "./sealed_items.ts";
 * import { parseJsonBody } from "../body/json_body.ts";
 * const body = parseJsonBody(new TextEncoder().encode('{"messages":[]}'));
 * if (Object.keys(withoutForeignReasoning("messages", body, {})).length > 0) throw new Error("changed");
 * ```
 */
export function withoutForeignReasoning(
  style: Style,
  body: JsonBody,
  capabilities: RouteCapabilities,
): JsonObject {
  if (style === "chat") {
    const messages = body.mayHold(seal)
      ? withoutOwnReasoning(body.value["messages"], capabilities)
      : undefined;
    return messages === undefined ? {} : { messages: [...messages] };
  }
  if (style === "gemini") return ownContents(body, capabilities);
  const repair = style === "messages" && mixesStylesInLoop(body.outline)
    ? thinkingOffInMixedLoop(body.value) ?? {}
    : {};
  if (!body.mayHold(seal)) return repair;
  if (style === "messages") {
    const stripped = withoutForeignBlocks({ ...body.value, ...repair });
    return stripped === undefined ? repair : { ...repair, messages: stripped["messages"] };
  }
  const stripped = withoutSealedReasoning(body.value);
  return stripped === undefined ? {} : { input: stripped["input"] };
}

function ownContents(body: JsonBody, capabilities: RouteCapabilities): JsonObject {
  // Models that think by budget check no signatures.
  const checks = resolveCapabilities("gemini", capabilities).thinking === "adaptive";
  // The beginning of our seals in the Gemini style, whose signatures are base64.
  const mayHold = body.mayHold(wrappedPrefix) || body.mayHold(unsignedCall);
  const contents = mayHold ? withoutForeignSignatures(body.value["contents"], checks) : undefined;
  return contents === undefined ? {} : { contents: [...contents] };
}

/** Fields of the request itself, not of its history, that {@linkcode withoutForeignReasoning} replaces. */
const fields = ["thinking", "context_management"] as const;

/** Lists the replaced fields that the client has to know of. */
export function droppedReasoningFields(replaced: JsonObject): string[] {
  return fields.filter((name) => replaced[name] !== undefined);
}

/**
 * Refusals of vendors: OpenAI (`invalid_encrypted_content`, and items that it does not know), Anthropic (`Invalid
 * signature in thinking block`), Google (`Thought signature is not valid`).
 */
const refusals: readonly RegExp[] = [
  /invalid_encrypted_content/,
  /encrypted content\b.{0,200}\bcould not be (?:verified|decrypted|parsed)/is,
  /invalid \W{0,2}signature\W{0,2} in \W{0,2}(?:redacted_)?thinking\W{0,2} block/i,
  /item with id \W{0,2}rs_[\w-]+\W{0,2} not found/i,
  /\bthought[_ ]?signature\b.{0,80}\b(?:not valid|invalid|corrupted)|corrupted thought[_ ]?signature/is,
];

/** Statuses of such refusals: an item that is not known is missing. */
const statuses: ReadonlySet<number> = new Set([400, 404, 422]);

/**
 * Whether a provider refused a request because it cannot read its sealed items.
 *
 * @example
 * ```ts
 * import { refusesForeignItems } from "./sealed_items.ts";
 * if (!refusesForeignItems(400, '{"error":{"code":"invalid_encrypted_content"}}')) throw new Error("not seen");
 * if (refusesForeignItems(400, '{"error":{"message":"max_tokens is too large"}}')) throw new Error("another matter");
 * ```
 */
export function refusesForeignItems(status: number, text: string): boolean {
  return statuses.has(status) && refusals.some((refusal) => refusal.test(text));
}
