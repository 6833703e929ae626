/**
 * The table of a style's request fields: which of them its decoder reads, and what becomes of the others. Each style has
 * one table; the decoder, the warnings and the vendor validators are derived from it.
 */
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { defined } from "../../lib/base/defined.ts";
import type { Style } from "../contract/contract.ts";
import type { Extra } from "../conversation/mod.ts";
import type { Warnings } from "../contract/warnings.ts";
import type { FieldCheck } from "./known_fields.ts";

/** A field without a place of its own in the conversation; it goes by name to routes that take it. */
export interface ExtraField {
  /** What becomes of it at a route that does not take it. */
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
 * `extra_fields`.
 *
 * @example
 * ```ts
 * import { resolveCapabilities } from "../contract/capabilities.ts";
 * import { Warnings } from "../contract/warnings.ts";
 * import { carryExtras } from "./extras.ts";
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
  for (const [name, field] of Object.entries(table)) {
    const value = body[name];
    if (typeof field !== "function" || value === undefined || value === null) continue;
    field(value, name, warnings);
  }
}

/**
 * Keeps the fields that the decoder does not read. Fields without a value are left out. A Chat or Responses field has
 * the same name wherever it goes; a Messages or Gemini field goes nowhere unless its table says under which name.
 *
 * @example
 * ```ts
 * import { extra, extrasOf } from "./field_table.ts";
 * import { read } from "./known_fields.ts";
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
