/**
 * Mutations of JSON and of event streams: what a provider or a client may send although no recording has it. Each
 * mutation changes one thing and says what and where, so that a property can count its cases by kind and repeat one.
 */
import { ascending } from "../../core/lib/base/ascending.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/lib/json/json.ts";

/** What a mutation does. `beside` and `instead`: something that the reader does not know. */
export type MutationKind =
  | "deleted"
  | "renamed"
  | "retyped"
  | "emptied"
  | "doubled"
  | "swapped"
  | "beside"
  | "instead"
  | "count"
  | "cut";

/** One change of a value. */
export interface Mutation<Value> {
  readonly kind: MutationKind;
  /** Where and what, as `choices.0.message.content: object`. */
  readonly at: string;
  /** Makes the changed value; the original stays as it is. */
  readonly apply: () => Value;
}

/** The number that takes the place of a text or an object: it occurs nowhere else. */
export const oddNumber = 70_717;
/** The text in unknown parts and events: it occurs nowhere else. */
export const oddText = "odd-71953";
/** The name of unknown kinds, members and events. */
export const oddName = "new_kind";

const oddPart: JsonObject = { type: oddName, [oddName]: { data: oddText } };

/** Values of one member or element, by what they are. */
interface Variant {
  readonly kind: MutationKind;
  readonly what: string;
  readonly value: Json;
}

const variant = (kind: MutationKind, what: string, value: Json): Variant => ({ kind, what, value });

/** Texts that are words of a format, such as types and reasons, rather than content. */
const word = /^[A-Za-z][\w.-]{0,40}$/;

function variantsOf(value: Json | undefined): Variant[] {
  if (typeof value === "string") {
    return [
      variant("emptied", "no text", ""),
      variant("retyped", "null", null),
      variant("retyped", "number", oddNumber),
      variant("retyped", "true", true),
      variant("retyped", "object", { value }),
      variant("retyped", "part", { type: "text", text: value }),
      variant("retyped", "list", [value]),
      variant("retyped", "parts", [{ type: "text", text: value }]),
      ...(word.test(value) ? [variant("instead", "word", oddName)] : []),
    ];
  }
  if (typeof value === "number") {
    return [
      variant("count", "negative", -1 - value),
      variant("count", "text", String(value)),
      variant("count", "fraction", value + 0.5),
      variant("count", "huge", 1e15),
      variant("count", "null", null),
      variant("emptied", "zero", 0),
      variant("retyped", "object", { value }),
    ];
  }
  if (Array.isArray(value)) {
    const [first = null] = value;
    return [
      variant("emptied", "no element", []),
      variant("retyped", "null", null),
      variant("retyped", "number", oddNumber),
      variant("retyped", "text", JSON.stringify(value)),
      variant("retyped", "bare element", first),
      variant("retyped", "object", { value }),
      variant("retyped", "list", [value]),
    ];
  }
  if (isJsonObject(value)) {
    return [
      variant("emptied", "no member", {}),
      variant("retyped", "null", null),
      variant("retyped", "number", oddNumber),
      variant("retyped", "text", JSON.stringify(value)),
      variant("retyped", "list", [value]),
      variant("retyped", "object", { value }),
      variant("beside", "member", { ...value, [oddName]: { data: oddText } }),
      variant("instead", "object", oddPart),
    ];
  }
  if (typeof value === "boolean") {
    return [
      variant("retyped", "not", !value),
      variant("retyped", "null", null),
      variant("retyped", "text", String(value)),
    ];
  }
  return [
    variant("retyped", "number", oddNumber),
    variant("retyped", "text", oddText),
    variant("retyped", "no member", {}),
    variant("retyped", "no element", []),
  ];
}

type Path = readonly (string | number)[];

/** The value with the one at `path` replaced by what `change` makes of the object or list that holds it. */
function changed(value: Json, path: Path, change: (holder: Json) => Json): Json {
  const [step, ...rest] = path;
  if (step === undefined) return change(value);
  if (Array.isArray(value)) {
    return value.map((one, i) => i === step ? changed(one, rest, change) : one);
  }
  if (!isJsonObject(value)) return value;
  return { ...value, [step]: changed(value[step] ?? null, rest, change) };
}

/** Another spelling of a name: that of the other half of all formats. */
function respelled(name: string): string {
  const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return camel === name ? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`) : camel;
}

function renamed(holder: Json, name: string, to: string): Json {
  if (!isJsonObject(holder)) return holder;
  return Object.fromEntries(
    Object.entries(holder).map(([key, value]) => [key === name ? to : key, value ?? null]),
  );
}

function without(holder: Json, name: string): Json {
  if (!isJsonObject(holder)) return holder;
  const { [name]: _, ...rest } = holder;
  return rest;
}

/** Returns all mutations of a value, in a fixed order. */
export function jsonMutations(root: Json): Mutation<Json>[] {
  const mutations: Mutation<Json>[] = [];
  const add = (kind: MutationKind, path: Path, what: string, change: (holder: Json) => Json) => {
    mutations.push({
      kind,
      at: `${path.join(".")}: ${what}`,
      apply: () => changed(root, path, change),
    });
  };
  const visit = (value: Json, path: Path): void => {
    for (const { kind, what, value: other } of variantsOf(value)) {
      if (JSON.stringify(other) !== JSON.stringify(value)) add(kind, path, what, () => other);
    }
    if (Array.isArray(value)) {
      value.forEach((one, i) => {
        const splice = (from: number, count: number, ...put: Json[]) => (): Json =>
          value.toSpliced(from, count, ...put);
        add("deleted", path, `element ${i}`, splice(i, 1));
        add("doubled", path, `element ${i}`, splice(i, 0, one));
        add("beside", path, `before element ${i}`, splice(i, 0, oddPart));
        if (i + 1 < value.length) {
          add("swapped", path, `element ${i}`, splice(i, 2, value[i + 1] ?? null, one));
        } else add("beside", path, "after all", splice(i + 1, 0, oddPart));
        visit(one, [...path, i]);
      });
      return;
    }
    if (!isJsonObject(value)) return;
    for (const [name, member] of Object.entries(value)) {
      add("deleted", path, name, (holder) => without(holder, name));
      for (const to of new Set([`${name}_x`, respelled(name)])) {
        if (to !== name) add("renamed", path, `${name} as ${to}`, (o) => renamed(o, name, to));
      }
      visit(member ?? null, [...path, name]);
    }
  };
  visit(root, []);
  return mutations;
}

/** Returns mutations of the text of a JSON value that are none of the value: it is cut, doubled or followed by more. */
export function textMutations(text: string): Mutation<string>[] {
  const cuts = [0, 1, Math.floor(text.length / 2), text.length - 1];
  return [
    ...cuts.map((at): Mutation<string> => ({
      kind: "cut",
      at: `${at} of ${text.length} characters`,
      apply: () => text.slice(0, at),
    })),
    { kind: "doubled", at: "the whole text", apply: () => text + text },
    { kind: "beside", at: "a byte order mark", apply: () => `\ufeff${text}` },
    { kind: "beside", at: "text after the end", apply: () => `${text} ${oddText}` },
    { kind: "instead", at: "a list", apply: () => `[${text}]` },
    { kind: "instead", at: "a page", apply: () => `<html>${oddText}</html>` },
  ];
}

/** One event of a stream: the value of its `event:` line, and its data. */
export interface Frame {
  readonly event: string | undefined;
  readonly data: string;
}

/** Reads the events of a stream; comments are left out. */
export function framesOf(text: string): Frame[] {
  return text.replaceAll("\r\n", "\n").split("\n\n").flatMap((block): Frame[] => {
    const lines = block.split("\n");
    const data = lines.filter((line) => line.startsWith("data:"))
      .map((line) => line.slice(5).replace(/^ /, ""));
    if (data.length === 0) return [];
    const event = lines.find((line) => line.startsWith("event:"))?.slice(6).trim();
    return [{ event, data: data.join("\n") }];
  });
}

function frameText({ event, data }: Frame): string {
  return `${event === undefined ? "" : `event: ${event}\n`}data: ${data}\n\n`;
}

/** Writes events as a stream. */
export function streamText(frames: readonly Frame[]): string {
  return frames.map(frameText).join("");
}

function parsed(data: string): Json | undefined {
  try {
    const value: Json = JSON.parse(data);
    return value;
  } catch {
    return undefined;
  }
}

/** Returns all mutations of a stream: of its order, of its bytes, and of the JSON of each event. */
export function streamMutations(frames: readonly Frame[]): Mutation<string>[] {
  const mutations: Mutation<string>[] = [];
  const spliced = (at: number, count: number, ...put: Frame[]) => () =>
    streamText(frames.toSpliced(at, count, ...put));
  frames.forEach((frame, i) => {
    const name = `${i} ${frame.event ?? ""}`.trim();
    const add = (kind: MutationKind, what: string, apply: () => string) => {
      mutations.push({ kind, at: `event ${name}: ${what}`, apply });
    };
    const odd = { event: frame.event && oddName, data: JSON.stringify(oddPart) };
    add("deleted", "whole", spliced(i, 1));
    add("doubled", "whole", spliced(i, 0, frame));
    add("beside", "event", spliced(i, 0, odd));
    add("instead", "event", spliced(i, 1, odd));
    const next = frames[i + 1];
    if (next !== undefined) add("swapped", "with the next", spliced(i, 2, next, frame));
    if (frame.event !== undefined) {
      add("deleted", "name", spliced(i, 1, { ...frame, event: undefined }));
      add("renamed", "name", spliced(i, 1, { ...frame, event: oddName }));
    }
    const before = streamText(frames.slice(0, i));
    const own = frameText(frame);
    for (const at of cutPlaces(own.length)) {
      add("cut", `at ${at} of ${own.length}`, () => before + own.slice(0, at));
    }
    const value = parsed(frame.data);
    if (value === undefined) return;
    for (const { kind, at, apply } of jsonMutations(value)) {
      add(kind, at, () => spliced(i, 1, { ...frame, data: JSON.stringify(apply()) })());
    }
  });
  return mutations;
}

/** Where an event of so many bytes is cut: at its edges, and some places between. */
function cutPlaces(length: number): number[] {
  const places = [0, 1, 7, length >> 1, length - 3, length - 2, length - 1];
  return [...new Set(places)].filter((at) => at >= 0 && at < length);
}

/** Chooses at most `count` of the cases, without order, by `random` numbers from 0 to 1. */
export function chosen<Case>(
  cases: readonly Case[],
  count: number,
  random: () => number,
): readonly Case[] {
  if (cases.length <= count) return cases;
  const left = [...cases];
  for (let i = 0; i < count; i++) {
    const at = i + Math.floor(random() * (left.length - i));
    [left[i], left[at]] = [left[at] as Case, left[i] as Case];
  }
  return left.slice(0, count);
}

/** Counts the cases of a property by the kind of mutation and by what came of them. */
export class MutationTally {
  readonly #counts = new Map<string, Map<string, number>>();

  add(kind: string, fate: string): void {
    const fates = this.#counts.get(kind) ?? new Map<string, number>();
    this.#counts.set(kind, fates);
    fates.set(fate, (fates.get(fate) ?? 0) + 1);
  }

  get total(): number {
    let total = 0;
    for (const fates of this.#counts.values()) for (const count of fates.values()) total += count;
    return total;
  }

  /** One line for each kind, with the counts of its fates. */
  lines(): string[] {
    return [...this.#counts].sort(([a], [b]) => ascending(a, b)).map(([kind, fates]) => {
      const counts = [...fates].sort(([a], [b]) => ascending(a, b));
      return `${kind}: ${counts.map(([fate, count]) => `${count} ${fate}`).join(", ")}`;
    });
  }
}
