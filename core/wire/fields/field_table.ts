/**
 * The table of a style's request fields: which of them its decoder reads, and what becomes of the others. Each style has
 * one table; the decoder, the warnings and the vendor validators are derived from it.
 */
import { isExactNumber, isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { defined } from "../../lib/base/defined.ts";
import type { Style } from "../contract/contract.ts";
import type { Conversation, Extra, ForeignBlock } from "../conversation/mod.ts";
import type { Warnings } from "../contract/warnings.ts";
import type { ResolvedCapabilities } from "../contract/capabilities.ts";
import { invalid, refuse } from "./fields.ts";

// Carries what only some styles have: fields without a place in the conversation, and foreign blocks.

const isText = (value: Json) => typeof value === "string";
const oneOfWords = (...words: readonly Json[]) => (value: Json) => words.includes(value);
const isPenalty = (value: Json) => typeof value === "number" && Math.abs(value) <= 2;
const isMap = (fits: (value: Json) => boolean) => (value: Json) =>
  isJsonObject(value) && Object.values(value).every((one) => one !== undefined && fits(one));

/** The values of the fields that Chat and Responses, and servers of their forms, share. */
const sharedForms: ReadonlyMap<string, (value: Json) => boolean> = new Map([
  ["verbosity", oneOfWords("low", "medium", "high")],
  ["prompt_cache_key", isText],
  ["prompt_cache_retention", oneOfWords("in_memory", "in-memory", "24h")],
  ["prompt_cache_options", isCacheOptions],
  ["safety_identifier", isText],
  ["user", isText],
  ["metadata", isMap(isText)],
  ["moderation", isJsonObject],
  ["logit_bias", isMap((bias) => typeof bias === "number" && Math.abs(bias) <= 100)],
  ["seed", (value) => isExactNumber(value) || Number.isInteger(value)],
  ["presence_penalty", isPenalty],
  ["frequency_penalty", isPenalty],
]);

function isCacheOptions(value: Json): boolean {
  const words: Readonly<Record<string, readonly Json[]>> = {
    mode: ["implicit", "explicit"],
    ttl: ["30m"],
  };
  return isJsonObject(value) &&
    Object.entries(value).every(([name, one]) => words[name]?.includes(one ?? null) === true);
}

/**
 * Carries the fields that the route takes by name; ignores, names or refuses the others as they are marked.
 *
 * @throws {GatewayError} `conversion_refused` naming a field that must not be lost
 */
export function carryExtras(
  conversation: Pick<Conversation, "extras">,
  capabilities: ResolvedCapabilities,
  body: JsonObject,
  warnings: Warnings,
): void {
  const known: readonly string[] = [...capabilities.shared_fields, ...capabilities.extra_fields];
  for (const extra of conversation.extras) {
    if (extra.name !== undefined && known.includes(extra.name)) {
      const isWrong = sharedForms.get(extra.name)?.(extra.value) === false;
      if (isWrong) invalid(extra.path, "has a value that no vendor of the field takes");
      body[extra.name] = extra.value;
    } else if (extra.otherwise === "refuse") {
      refuse(extra.path, "cannot be carried to this model");
    } else if (extra.otherwise === "warn") {
      warnings.add(extra.path);
    }
  }
}

/**
 * Renders a block that only its own style can express: as plain text, or as nothing.
 *
 * @throws {GatewayError} `conversion_refused` naming a block that must not be lost
 */
export function renderForeign(block: ForeignBlock, warnings: Warnings): string | undefined {
  if (block.text !== undefined) {
    warnings.add(block.path);
    return block.text;
  }
  if (block.otherwise === "refuse") {
    refuse(block.path, `${block.kind} cannot be carried to this model`);
  }
  if (block.otherwise === "warn") warnings.add(block.path);
  return undefined;
}

/** The client's name for its list of stop sequences. */
export function stopPath(conversation: Pick<Conversation, "from">): string {
  if (conversation.from === "gemini") return "generationConfig.stopSequences";
  return conversation.from === "messages" ? "stop_sequences" : "stop";
}

const geminiSampling = { temperature: "temperature", top_p: "topP", top_k: "topK" } as const;

/** The client's path of a sampling parameter. */
export function samplingPath(
  { from }: Pick<Conversation, "from">,
  field: keyof typeof geminiSampling,
): string {
  return from === "gemini" ? `generationConfig.${geminiSampling[field]}` : field;
}

// Names what a decoder does not read. The table of a style lists which members of its objects the decoder reads; what a
// request has beyond that list goes into the warnings by its path, so that nothing is lost silently.

/** Warns of the parts of a value that the decoder does not read. */
export type FieldCheck = (value: Json, path: string, warnings: Warnings) => void;

/** Accepts any value: the decoder reads all of it, or it is the client's own JSON. */
export const read: FieldCheck = () => {};

/** Ignores a value that the decoder does not read and that changes no answer. */
export const silent: FieldCheck = () => {};

/** Warns of a value that the decoder does not read, unless it asks for nothing. */
export function unread(asksForNothing: (value: Json) => boolean = () => false): FieldCheck {
  return (value, path, warnings) => {
    if (!asksForNothing(value)) warnings.add(path);
  };
}

/** Checks the members of an object; warns of all others, and of a value that is not an object. */
export function object(members: Readonly<Record<string, FieldCheck>>): FieldCheck {
  const checks = new Map(Object.entries(members));
  return (value, path, warnings) => {
    if (!isJsonObject(value)) return warnings.add(path);
    for (const [name, member] of Object.entries(value)) {
      if (member === undefined || member === null) continue;
      const check = checks.get(name);
      if (check === undefined) warnings.add(`${path}.${name}`);
      else check(member, `${path}.${name}`, warnings);
    }
  };
}

/** Accepts a string; checks any other value. */
export function textOr(check: FieldCheck): FieldCheck {
  return (value, path, warnings) => {
    if (typeof value !== "string") check(value, path, warnings);
  };
}

/** Checks each entry of a list. The decoder deals with any other value: content may be a string. */
export function each(item: FieldCheck): FieldCheck {
  return (value, path, warnings) => {
    if (Array.isArray(value)) value.forEach((one, i) => item(one, `${path}.${i}`, warnings));
  };
}

/**
 * Checks an object by its kind, which is the member `key`. The decoder deals with kinds that are not listed: it refuses
 * them, or names them as a whole.
 */
export function byKind(
  key: string,
  kinds: Readonly<Record<string, FieldCheck>>,
  usual?: string,
): FieldCheck {
  const checks = new Map(Object.entries(kinds));
  return (value, path, warnings) => {
    if (!isJsonObject(value)) return;
    const kind = value[key] ?? usual;
    if (typeof kind === "string") checks.get(kind)?.(value, path, warnings);
  };
}

/** A field without a place of its own in the conversation; it goes by name to routes that take it. */
export interface ExtraField {
  /** Fate of the field at a route that does not take it. */
  readonly otherwise: "warn" | "refuse" | "ignore";
  /** Whether leaving a value out changes no answer. */
  readonly asksForNothing: (value: Json) => boolean;
  /** Messages only: the name under which Chat and Responses servers have the same field. */
  readonly sharedAs?: string;
}

/** A field that the decoder reads, with the check of its members, or one that it keeps as an extra. */
export type KnownField = FieldCheck | ExtraField;

/** The request fields of a style, by name. A field that is not in the table is an extra, and named if it is lost. */
export type FieldTable = Readonly<Record<string, KnownField>>;

/**
 * A field that is kept as an extra.
 *
 * @param asksForNothing absent: every value asks for something
 * @param otherwise what becomes of it at a route that does not take it
 */
export function extra(
  asksForNothing: (value: Json) => boolean = () => false,
  otherwise: ExtraField["otherwise"] = "warn",
): ExtraField {
  return { otherwise, asksForNothing };
}

/**
 * A Messages field that Chat or Responses servers have too: it goes under `name` to the routes that list it in
 * `extra_fields` or `shared_fields`.
 *
 * @example
 * ```ts
 * import { resolveCapabilities } from "../contract/capabilities.ts";
 * import { Warnings } from "../contract/warnings.ts";
 * import { carryExtras } from "./field_table.ts";
 * import { extra, extrasOf, shared } from "./field_table.ts";
 * const table = { cache_scope: shared("cacheScope"), seed: extra() };
 * const extras = extrasOf({ cache_scope: "account", seed: 1 }, table, "messages");
 * const capabilities = resolveCapabilities("chat", { extra_fields: ["cacheScope", "seed"] });
 * const body = {};
 * const warnings = new Warnings();
 * carryExtras({ extras }, capabilities, body, warnings);
 * if (JSON.stringify(body) !== '{"cacheScope":"account"}') throw new Error(JSON.stringify(body));
 * if (warnings.list().join() !== "seed") throw new Error(warnings.list().join());
 * ```
 */
export function shared(name: string, field: ExtraField = extra()): ExtraField {
  return { ...field, sharedAs: name };
}

const unlisted = extra();

function entryOf(table: FieldTable, name: string): KnownField | undefined {
  // A client may send a field with the name of a member of `Object.prototype`.
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

/** Warns of members that the decoder does not read, in the fields that it reads. */
export function warnUnread(body: JsonObject, table: FieldTable, warnings: Warnings): void {
  // In the order of the table, and without a list of its entries for each request.
  for (const name in table) {
    const value = body[name];
    if (value === undefined || value === null) continue;
    const field = table[name];
    if (typeof field === "function") field(value, name, warnings);
  }
}

/**
 * Keeps the fields that the decoder does not read. Fields without a value are left out. A Chat or Responses field has
 * the same name wherever it goes; a Messages or Gemini field goes nowhere unless its table says under which name.
 *
 * @example
 * ```ts
 * import { extra, extrasOf } from "./field_table.ts";
 * import { read } from "./field_table.ts";
 * const table = { model: read, store: extra((value) => value === false) };
 * const extras = extrasOf({ model: "m", store: false, seed: 1 }, table, "chat");
 * const fates = extras.map(({ name, otherwise }) => `${name}: ${otherwise}`);
 * if (fates.join() !== "store: ignore,seed: warn") throw new Error(fates.join());
 * ```
 */
export function extrasOf(body: JsonObject, table: FieldTable, from: Style): Extra[] {
  return Object.entries(body).flatMap(([name, value]): Extra[] => {
    const field = entryOf(table, name) ?? unlisted;
    if (typeof field === "function" || value === undefined || value === null) return [];
    const isOwn = from === "messages" || from === "gemini";
    return [extraOf(isOwn ? field.sharedAs : name, name, value, field)];
  });
}

/** Builds an extra whose path in the request may differ from its name. */
export function extraOf(
  name: string | undefined,
  path: string,
  value: Json,
  field: ExtraField,
): Extra {
  const otherwise = field.asksForNothing(value) ? "ignore" : field.otherwise;
  return { ...defined({ name }), path, value, otherwise };
}
