/**
 * Puts together function calls whose arguments come in pieces: a part with the name, parts that each have values by the
 * path of their place, and a part that does not say that more follows.
 *
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs/multimodal/function-calling#streaming-fc
 */
import { maxJsonDepth } from "../../../lib/json/scan/limits.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { maxSseEventBytes } from "../../contract/limits.ts";
import { unreadable } from "../../stream/answer_shape.ts";

/** A step of a path: the name of a member or the place in a list. */
type Step = string | number;

/** The containers of arguments, whose members are set as their pieces come. */
type Place = Map<Step, Place | Json>;

/** The steps of a JSONPath (RFC 9535) that names one value: `.name`, `['name']`, `["name"]`, `[0]`. */
const pathStep = /\.([^.[\]'"\s]+)|\[(\d{1,6})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/uy;

function stepsOf(path: Json | undefined): readonly Step[] {
  if (typeof path !== "string" || !path.startsWith("$")) throw unreadable("jsonPath");
  const steps: Step[] = [];
  pathStep.lastIndex = 1;
  while (pathStep.lastIndex < path.length) {
    const found = pathStep.exec(path);
    if (found === null || steps.length >= maxJsonDepth) throw unreadable("jsonPath");
    const [, name, index, single, double] = found;
    const quoted = single ?? double;
    if (index !== undefined) steps.push(Number(index));
    else steps.push(name ?? (quoted ?? "").replaceAll(/\\(.)/gu, "$1"));
  }
  if (steps.length === 0) throw unreadable("jsonPath");
  return steps;
}

/** The value of a piece; `undefined` for one that has none, as the last of a text. */
function valueOf(piece: JsonObject): Json | undefined {
  const { stringValue, numberValue, boolValue } = piece;
  if ("nullValue" in piece) return null;
  return stringValue ?? numberValue ?? boolValue ?? undefined;
}

/** Sets a value at its place. A text at the place of a text continues it. */
function setAt(place: Place, [step, ...rest]: readonly Step[], value: Json): void {
  if (step === undefined) return;
  // Places of a list come in their order: one far beyond its end would be a list of nothing.
  if (typeof step === "number" && step > place.size) throw unreadable("jsonPath");
  const there = place.get(step);
  if (rest.length === 0) {
    const continues = typeof there === "string" && typeof value === "string";
    place.set(step, continues ? there + value : value);
    return;
  }
  const inner = there instanceof Map ? there : new Map<Step, Place | Json>();
  if (inner !== there) place.set(step, inner);
  const isList = typeof rest[0] === "number";
  if (inner.size > 0 && isList !== (typeof inner.keys().next().value === "number")) {
    throw unreadable("jsonPath");
  }
  setAt(inner, rest, value);
}

function jsonOf(place: Place | Json): Json {
  if (!(place instanceof Map)) return place;
  const entries = [...place].map(([step, value]) => [step, jsonOf(value)] as const);
  return typeof entries[0]?.[0] === "number"
    ? entries.map(([, value]) => value)
    : Object.fromEntries(entries);
}

/** Characters of the paths and texts of one call: as many as a call has room for that comes in one event. */
const maxPieceChars = maxSseEventBytes;

/**
 * The call of a stream whose pieces are still coming.
 *
 * @example
 * ```ts
 * import { PartialCalls } from "./partial_calls.ts";
 * const calls = new PartialCalls();
 * calls.take({ functionCall: { name: "paint", willContinue: true } });
 * const piece = (stringValue: string) => ({ jsonPath: "$.wall[0].colour", stringValue });
 * calls.take({ functionCall: { partialArgs: [piece("dark ")], willContinue: true } });
 * calls.take({ functionCall: { partialArgs: [piece("red")], willContinue: true } });
 * const [whole] = calls.take({ functionCall: {} });
 * const expected = '{"functionCall":{"name":"paint","args":{"wall":[{"colour":"dark red"}]}}}';
 * if (JSON.stringify(whole) !== expected) throw new Error(JSON.stringify(whole));
 * ```
 */
export class PartialCalls {
  #open: { readonly part: JsonObject; readonly call: JsonObject; readonly args: Place } | undefined;
  #chars = 0;

  /** Takes a part; returns what is whole now: the part itself, unless it is a piece of a call. */
  take(part: JsonObject): readonly JsonObject[] {
    const { functionCall: call } = part;
    // Other parts may stand between the pieces of a call.
    if (!isJsonObject(call)) return [part];
    const isNew = typeof call["name"] === "string" && call["name"] !== "";
    const isPiece = call["willContinue"] === true || call["partialArgs"] !== undefined;
    const before = isNew ? this.end() : [];
    if (isNew ? !isPiece : this.#open === undefined) return [...before, part];
    if (this.#open === undefined) {
      this.#open = { part, call, args: new Map() };
      this.#chars = 0;
    }
    this.#add(call);
    return call["willContinue"] === true ? before : [...before, ...this.end()];
  }

  /** Ends the open call: nothing of it follows. */
  end(): readonly JsonObject[] {
    if (this.#open === undefined) return [];
    const { part, call: { partialArgs: _pieces, willContinue: _more, ...call }, args } = this.#open;
    this.#open = undefined;
    const given = isJsonObject(call["args"]) ? call["args"] : {};
    const put = jsonOf(args);
    return [{
      ...part,
      functionCall: { ...call, args: { ...given, ...(isJsonObject(put) ? put : {}) } },
    }];
  }

  #add({ partialArgs: pieces = null }: JsonObject): void {
    if (pieces === null || this.#open === undefined) return;
    if (!Array.isArray(pieces)) throw unreadable("partialArgs");
    for (const piece of pieces) {
      if (!isJsonObject(piece)) throw unreadable("partialArgs");
      const { jsonPath: path } = piece;
      const value = valueOf(piece);
      for (const text of [path, value]) this.#chars += typeof text === "string" ? text.length : 1;
      if (this.#chars > maxPieceChars) throw unreadable("partialArgs");
      if (value !== undefined) setAt(this.#open.args, stepsOf(path), value);
    }
  }
}
