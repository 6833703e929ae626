/**
 * Reads an answer by the declared shape of its style (`answer_shapes.ts`) before a decoder sees it: what plainly is the
 * content is put into the form of the style, what is no content of the style is named, and content of a wrong type makes
 * the answer a failure. Text is only ever text: it is not guessed from a number, an object or a flag.
 */
import { GatewayError } from "../../lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";

/** What a value of an answer may be. `null` is always absence. */
export type Shape =
  /** Nothing that the model says: any value. */
  | "any"
  /** A text. */
  | "text"
  /** A word of the format: a text, or its number. */
  | "enum"
  /** Arguments of a call: a text, or JSON. */
  | "input"
  /** An object of any members. */
  | "object"
  | ListShape
  | ObjectShape
  | TypedShape
  | TextOrShape;

interface ListShape {
  readonly list: Shape;
}

/** Members with content, and the names of all others that the style or a vendor has. */
interface ObjectShape {
  readonly members: Readonly<Record<string, Shape>>;
  /** Names that hold no content. Absent: any unlisted name may be there, as in an envelope. */
  readonly besides?: ReadonlySet<string>;
  /** Whether the names say what the object is: one without a known name is another kind of part. */
  readonly isKeyed?: true;
  /** It is a call: without a name its decoder passes it over, since no tool can answer it. */
  readonly isCall?: true;
}

/** Objects that differ by their `type`. Other types pass: the decoder names them. */
interface TypedShape {
  readonly types: Readonly<Record<string, ObjectShape>>;
  /** The type of an object without one that has this member. */
  readonly untyped: Readonly<Record<string, string>>;
  /** Other types are named here, since the decoder passes them over. */
  readonly isClosed?: true;
}

/** A text, or else a list of parts. */
interface TextOrShape {
  readonly text: true;
  readonly list: Shape;
}

/** Names of members that are named to the client; a provider may write anything. */
const plainName = /^[\w.-]{1,40}$/;

/** Most names of one answer that are kept: they go into a header. */
const maxNames = 16;

/** What a reading found that no other style has a place for. */
export class UnknownNames {
  /** Absent where nothing was found, as in nearly all answers. */
  #names: Set<string> | undefined;

  add(name: string): void {
    const names = this.#names ??= new Set();
    if (names.size < maxNames) names.add(plainName.test(name) ? name : "content");
  }

  /** Returns the names that were found since the last time. */
  take(): readonly string[] {
    const names = this.#names;
    if (names === undefined) return nothing;
    this.#names = undefined;
    return [...names];
  }
}

const nothing: readonly string[] = [];

/** Returns the error for an answer whose content at `at` cannot be read. */
export function unreadable(at: string): GatewayError {
  return new GatewayError(
    "upstream_unreachable",
    `The provider of this model sent an answer that cannot be read (${at})`,
  );
}

/**
 * Returns the value in the form of its shape: the same object where it has that form already.
 *
 * @throws {GatewayError} `upstream_unreachable` where content has a wrong type
 *
 * @example
 * ```ts
 * import { type Shape, shaped, UnknownNames } from "./answer_shape.ts";
 * const shape: Shape = { members: { text: "text", parts: { list: "text" } }, besides: new Set(["id"]) };
 * const names = new UnknownNames();
 * const value = shaped(shape, { id: 1, parts: "Hi", sound: { data: "AA" } }, "message", names);
 * if (JSON.stringify(value) !== '{"id":1,"parts":["Hi"],"sound":{"data":"AA"}}') throw new Error("not repaired");
 * if (names.take().join() !== "sound") throw new Error("not named");
 * try {
 *   shaped(shape, { text: 7 }, "message", names);
 *   throw new Error("a number is no text");
 * } catch (error) {
 *   if (!String(error).includes("(text)")) throw error;
 * }
 * ```
 */
export function shaped(shape: Shape, value: Json, at: string, names: UnknownNames): Json {
  if (value === null || shape === "any" || isNothing(value)) return value;
  if (typeof shape === "string") {
    if (!isOfKind[shape](value)) throw unreadable(at);
    return value;
  }
  if ("list" in shape) return shapedList(shape, value, at, names);
  if (!isJsonObject(value)) throw unreadable(at);
  return "types" in shape ? shapedTyped(shape, value, names) : shapedObject(shape, value, names);
}

const isOfKind: Readonly<
  Record<Exclude<Extract<Shape, string>, "any">, (value: Json) => boolean>
> = {
  text: (value) => typeof value === "string",
  enum: (value) => typeof value === "string" || typeof value === "number",
  input: (value) => typeof value === "string" || typeof value === "object",
  object: isJsonObject,
};

/** Whether a value plainly has the form of a shape, so that {@linkcode shaped} returns it and names nothing. */
export type Fit = (value: Json) => boolean;

/**
 * Returns the check of a shape for values that have its form, which nearly all have: it takes a fraction of the time of
 * {@linkcode shaped}. Of others it says no more than that they are to be read by that.
 *
 * @example
 * ```ts
 * import { fitOf } from "./answer_shape.ts";
 * const fits = fitOf({ members: { text: "text" }, besides: new Set(["id"]) });
 * if (!fits({ id: 1, text: "Hi", extra: null }) || fits({ text: 7 }) || fits({ extra: "Hi" })) throw new Error("wrong");
 * ```
 */
export function fitOf(shape: Shape): Fit {
  if (typeof shape === "string") return shape === "any" ? fitsAny : isOfKind[shape];
  if ("list" in shape) return fitOfList(fitOf(shape.list), "text" in shape);
  return "types" in shape ? fitOfTyped(shape) : fitOfObject(shape);
}

const fitsAny: Fit = () => true;

function fitOfList(fits: Fit, isText: boolean): Fit {
  return (value) => {
    if (!Array.isArray(value)) return isText && typeof value === "string";
    for (const one of value) {
      // A text may stand for a part.
      if (typeof one !== "object" || one === null || !fits(one)) return false;
    }
    return true;
  };
}

function fitOfTyped({ types, isClosed }: TypedShape): Fit {
  const fits = new Map(Object.entries(types).map(([type, shape]) => [type, fitOfObject(shape)]));
  return (value) => {
    if (!isObject(value)) return false;
    const { type } = value;
    if (typeof type !== "string" || type === "") return false;
    const fitsType = fits.get(type);
    return fitsType === undefined ? isClosed !== true : fitsType(value);
  };
}

function fitOfObject({ members, besides, isCall }: ObjectShape): Fit {
  const fits = new Map(Object.entries(members).map(([name, shape]) => [name, fitOf(shape)]));
  if (besides === undefined) return fitOfEnvelope([...fits.keys()], [...fits.values()]);
  for (const name of besides) fits.set(name, fits.get(name) ?? fitsAny);
  return (value) => {
    if (!isObject(value) || (isCall === true && !value["name"])) return false;
    for (const name in value) {
      const member = value[name];
      if (member === undefined || member === null || member === "") continue;
      const fitsMember = fits.get(name);
      if (
        fitsMember === undefined
          ? typeof member === "string" || typeof member === "object"
          : !fitsMember(member)
      ) return false;
    }
    return true;
  };
}

/** Of an object of which only some members matter. */
function fitOfEnvelope(names: readonly string[], fits: readonly Fit[]): Fit {
  return (value) => {
    if (!isObject(value)) return false;
    let isSeen = false;
    for (let i = 0; i < names.length; i++) {
      const member = value[names[i]!];
      if (member === undefined || member === null) continue;
      if (!fits[i]!(member)) return false;
      isSeen = true;
    }
    // A number has no members.
    return isSeen || isJsonObject(value);
  };
}

/** Whether a value is an object, or a number beyond double precision, whose one member no shape knows. */
function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a value is an empty one of any type, as servers write for what they leave out. */
function isNothing(value: Json): boolean {
  if (value === "") return true;
  if (Array.isArray(value)) return value.length === 0;
  return isJsonObject(value) && Object.keys(value).length === 0;
}

function shapedList(
  shape: ListShape | TextOrShape,
  value: Json,
  at: string,
  names: UnknownNames,
): Json {
  if ("text" in shape && typeof value === "string") return value;
  // One part without a list around it, or a bare text in place of a part, is plainly the content.
  const list = Array.isArray(value) ? value : [value];
  let changed: Json[] | undefined = list === value ? undefined : [...list];
  for (let i = 0; i < list.length; i++) {
    const one = list[i] ?? null;
    const read = shaped(shape.list, asPart(shape.list, one), at, names);
    if (read !== one) (changed ??= [...list])[i] = read;
  }
  return changed ?? list;
}

/** A text in place of a part. */
function asPart(shape: Shape, value: Json): Json {
  if (typeof value !== "string" || typeof shape === "string" || "list" in shape) return value;
  if ("types" in shape) {
    const type = shape.untyped["text"];
    return type === undefined ? value : { type, text: value };
  }
  return shape.isKeyed === true ? { text: value } : value;
}

function shapedObject(
  { members, besides, isKeyed, isCall }: ObjectShape,
  value: JsonObject,
  names: UnknownNames,
): JsonObject {
  let changed: JsonObject | undefined;
  let unknown: string[] | undefined;
  let isKnown = isKeyed !== true;
  for (const name of Object.keys(value)) {
    const member = value[name] ?? null;
    const shape = Object.hasOwn(members, name) ? members[name] : undefined;
    if (shape !== undefined) {
      isKnown = true;
      const read = shaped(shape, member, name, names);
      if (read !== member) (changed ??= { ...value })[name] = read;
    } else if (besides !== undefined && !besides.has(name) && holds(member)) {
      (unknown ??= []).push(name);
    }
  }
  if (
    isCall === true && !value["name"] && Object.keys(members).some((m) => holds(value[m] ?? null))
  ) {
    names.add("tool_call");
  }
  // A part of which no member is known is one of another kind, which its decoder names.
  if (unknown !== undefined && isKnown) { for (const name of unknown) names.add(name); }
  return changed ?? value;
}

/** Whether a member of an unknown name holds something that may have been said. */
function holds(value: Json): boolean {
  return (typeof value === "string" || (typeof value === "object" && value !== null)) &&
    !isNothing(value);
}

function shapedTyped(
  shape: TypedShape,
  value: JsonObject,
  names: UnknownNames,
): JsonObject {
  const { types, untyped, isClosed } = shape;
  const { type } = value;
  if (typeof type === "string" && type !== "") {
    const known = Object.hasOwn(types, type) ? types[type] : undefined;
    if (known === undefined && isClosed === true) names.add(type);
    return known === undefined ? value : shapedObject(known, value, names);
  }
  const member = Object.keys(untyped).find((name) => holds(value[name] ?? null));
  const inferred = member === undefined ? undefined : untyped[member];
  if (inferred === undefined) {
    if (!isNothing(value)) names.add("part");
    return value;
  }
  return shapedTyped(shape, { ...value, type: inferred }, names);
}
