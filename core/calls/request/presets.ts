/**
 * Presets: a model, a system prompt and parameters that an organisation stored under a name, called as `@preset/name`.
 *
 * A preset fills what a request leaves open: each field that the request has itself wins, and its own system prompt
 * follows that of the preset. The two are merged in the caller's style, before anything else reads the request, so that
 * whatever bounds a call bounds it with its preset, too. A parameter for which a style has no field is named as lost, as
 * in every conversion.
 */
import { presetMark } from "../../catalog/catalog.ts";
import { joined } from "../../lib/bytes/byte_parts.ts";
import {
  isJsonObject,
  type Json,
  type JsonObject,
  type OutlineObject,
} from "../../lib/json/json.ts";
import { JsonCursor } from "../../lib/json/json_cursor.ts";
import { wholeOf } from "../../lib/json/outline.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import type { Style } from "../../wire/contract/contract.ts";
import { samplingPath, stopPath } from "../../wire/fields/field_table.ts";
import type { PresetCalls } from "./route_preferences.ts";
import { type JsonBody, parseJsonBody, withFieldBytes, withFields } from "../body/json_body.ts";

/** Efforts of reasoning that a preset may ask for: those that every style has a word for. */
export const presetEfforts = ["low", "medium", "high"] as const;

/** Parameters of a preset. */
export interface PresetParameters {
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly maxTokens?: number;
  readonly stop?: readonly string[];
  readonly seed?: number;
  readonly frequencyPenalty?: number;
  readonly presencePenalty?: number;
  readonly effort?: typeof presetEfforts[number];
}

/** A stored preset. */
export interface Preset {
  /** The id or alias of a model, or `auto`. */
  readonly model: string;
  /** Put before the system prompt of the request; absent: none. */
  readonly system?: string;
  readonly parameters?: PresetParameters;
  /** Preferences of the route. They bind no request that says something else. */
  readonly calls?: PresetCalls;
}

/** The form of a name. */
export const presetNameForm = /^[a-z0-9][a-z0-9_-]{0,62}$/;

const calledForm = /^(.*)@preset\/([a-z0-9][a-z0-9_-]{0,62})(?:@([1-9]\d{0,5}))?$/;

/** Reads the number of a version, as an address has it; `undefined`: it is none. */
export function presetVersion(text: string): number | undefined {
  return /^[1-9]\d{0,5}$/.test(text) ? Number(text) : undefined;
}

/** A preset as a request names it. */
export interface CalledPreset {
  readonly name: string;
  /** Absent: the newest. */
  readonly version: number | undefined;
  /** The model to call it with; absent: its own. */
  readonly model: string | undefined;
}

/**
 * Reads the name of a preset, with a version or without, and with a model before it or without. `undefined`: it is none.
 *
 * @example
 * ```ts
 * import { calledPreset } from "./presets.ts";
 * const called = calledPreset("general-01@preset/support@3");
 * if (called?.name !== "support" || called.version !== 3 || called.model !== "general-01") throw new Error();
 * if (calledPreset("@preset/Support") !== undefined) throw new Error("has a capital");
 * ```
 */
export function calledPreset(model: string): CalledPreset | undefined {
  const [, before, name, version] = calledForm.exec(model) ?? [];
  if (name === undefined) return undefined;
  return {
    name,
    version: version === undefined ? undefined : Number(version),
    model: before === "" ? undefined : before,
  };
}

/** Writes the name of a version of a preset, as requests, headers and receipts have it. */
export function presetCall(name: string, version: number): string {
  return `${presetMark}${name}@${version}`;
}

type Parameter = keyof PresetParameters;

/** The place of a parameter in a style, and the other fields by which a request says the same. */
interface Place {
  readonly at: string;
  readonly unless?: readonly string[];
}

const sampling = (from: Style) => ({
  temperature: { at: samplingPath({ from }, "temperature") },
  topP: { at: samplingPath({ from }, "top_p") },
});
const topK = (from: Style): Place => ({ at: samplingPath({ from }, "top_k") });
const stop = (from: Style): Place => ({ at: stopPath({ from }) });

/** The places of parameters in each style; a style without one has no such field. */
const places: Readonly<Record<Style, Readonly<Partial<Record<Parameter, Place>>>>> = {
  chat: {
    ...sampling("chat"),
    maxTokens: { at: "max_completion_tokens", unless: ["max_tokens"] },
    stop: stop("chat"),
    seed: { at: "seed" },
    frequencyPenalty: { at: "frequency_penalty" },
    presencePenalty: { at: "presence_penalty" },
    effort: { at: "reasoning_effort", unless: ["reasoning"] },
  },
  messages: {
    ...sampling("messages"),
    topK: topK("messages"),
    maxTokens: { at: "max_tokens" },
    stop: stop("messages"),
    effort: { at: "output_config.effort", unless: ["thinking"] },
  },
  responses: {
    ...sampling("responses"),
    maxTokens: { at: "max_output_tokens" },
    effort: { at: "reasoning.effort" },
  },
  gemini: {
    ...sampling("gemini"),
    topK: topK("gemini"),
    maxTokens: { at: "generationConfig.maxOutputTokens" },
    stop: stop("gemini"),
    seed: { at: "generationConfig.seed" },
    frequencyPenalty: { at: "generationConfig.frequencyPenalty" },
    presencePenalty: { at: "generationConfig.presencePenalty" },
    effort: {
      at: "generationConfig.thinkingConfig.thinkingLevel",
      unless: ["generationConfig.thinkingConfig.thinkingBudget"],
    },
  },
};

/** The second form of a name that Gemini takes. */
function snakeName(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The name by which an object has a member, in either form; the first form if it has none. */
function nameIn(object: JsonObject, name: string): string {
  const other = snakeName(name);
  return object[name] === undefined && object[other] !== undefined ? other : name;
}

/** Whether a request says something: `null` is what clients send for what they leave open. */
function says(object: JsonObject, path: readonly string[]): boolean {
  let value: Json = object;
  for (const name of path) {
    if (!isJsonObject(value)) return true; // of another form: refused where it is read
    value = value[nameIn(value, name)] ?? null;
    if (value === null) return false;
  }
  return true;
}

function withValueAt(
  object: JsonObject,
  [name = "", ...rest]: readonly string[],
  value: Json,
): JsonObject {
  const own = nameIn(object, name);
  const inner = object[own];
  const put: Json = rest.length === 0
    ? value
    : withValueAt(isJsonObject(inner) ? inner : {}, rest, value);
  return { ...object, [own]: put };
}

/** The top-level members of a body that parameters may be in. */
function openMembers(style: Style, outline: OutlineObject): JsonObject {
  const known = Object.values(places[style]).flatMap(({ at, unless = [] }) => [at, ...unless])
    .map((path) => path.split(".")[0] ?? "");
  const names = known.flatMap((name) => [name, snakeName(name)]);
  return Object.fromEntries(
    Object.entries(outline).flatMap(([name, value]) =>
      value === undefined || !names.includes(name) ? [] : [[name, wholeOf(value)]]
    ),
  );
}

function isParameter(name: string): name is Parameter {
  return Object.values(places).some((of) => Object.hasOwn(of, name));
}

/** Returns the top-level members that parameters change, and the parameters that the style has no field for. */
function withParameters(style: Style, outline: OutlineObject, parameters: PresetParameters) {
  const before = openMembers(style, outline);
  const dropped: string[] = [];
  let after = before;
  for (const [name, value] of Object.entries(parameters)) {
    const place = isParameter(name) ? places[style][name] : undefined;
    if (place === undefined) dropped.push(snakeName(name));
    else if (![place.at, ...place.unless ?? []].some((at) => says(before, at.split(".")))) {
      after = withValueAt(after, place.at.split("."), Array.isArray(value) ? [...value] : value);
    }
  }
  const changes = Object.entries(after).filter(([name, value]) => before[name] !== value);
  return { changes: Object.fromEntries(changes), dropped };
}

/** Separates two system prompts that become one text. */
const gap = "\n\n";

/** Puts a system prompt before another one: a text, or a list of parts. One of another form stays as it is. */
function before(system: string, own: Json, part: JsonObject): Json {
  if (own === null || own === "") return system;
  if (typeof own === "string") return `${system}${gap}${own}`;
  return Array.isArray(own) ? [part, ...own] : own;
}

function member(outline: OutlineObject, name: string): Json {
  const value = outline[name];
  return value === undefined ? null : wholeOf(value);
}

/** The members of a body by which it gets a system prompt; in the Chat style that is a message. */
function withSystem(
  style: Exclude<Style, "chat">,
  outline: OutlineObject,
  system: string,
): JsonObject {
  switch (style) {
    case "messages":
      return { system: before(system, member(outline, "system"), { type: "text", text: system }) };
    case "responses":
      return { instructions: before(system, member(outline, "instructions"), {}) };
    case "gemini": {
      const name = outline["system_instruction"] == null
        ? "systemInstruction"
        : "system_instruction";
      const own = member(outline, name);
      if (typeof own === "string") return { [name]: before(system, own, {}) };
      const { parts = null, ...rest } = isJsonObject(own) ? own : {};
      const part = { text: system };
      return { [name]: { ...rest, parts: Array.isArray(parts) ? [part, ...parts] : [part] } };
    }
  }
}

const encoder = new TextEncoder();

/**
 * Puts a system prompt before the messages of a Chat body: into the first of them if it is one, since templates of many
 * models take no second one. All other bytes of the list stay as they are.
 */
function withSystemMessage(body: JsonBody, system: string): JsonBody {
  const list = body.outline["messages"];
  const span = body.fields.get("messages");
  if (!Array.isArray(list) || span === undefined) return body;
  const cursor = new JsonCursor();
  cursor.reset(body.bytes, span.start, span.end);
  cursor.enterArray();
  const isFilled = cursor.nextElement();
  const [first] = list;
  const own = isJsonObject(first) && (first["role"] === "system" || first["role"] === "developer")
    ? wholeOf(first)
    : undefined;
  let rest = cursor.at;
  if (own !== undefined) {
    cursor.skip();
    rest = cursor.at;
  }
  const message = isJsonObject(own)
    ? { ...own, content: before(system, own["content"] ?? null, { type: "text", text: system }) }
    : { role: "system", content: system };
  const value = joined([
    encoder.encode(`[${stringifyExactly(message)}`),
    encoder.encode(isFilled && own === undefined ? "," : ""),
    isFilled ? body.bytes.subarray(rest, span.end) : encoder.encode("]"),
  ]);
  return parseJsonBody(withFieldBytes(body, "messages", { name: "messages", value }));
}

/**
 * Merges a preset into a request of a style.
 *
 * @param model the model to call; `undefined` where the path names it
 *
 * @example
 * ```ts
 * import { parseJsonBody } from "../body/json_body.ts";
 * import { withPreset } from "./presets.ts";
 * const sent = parseJsonBody(new TextEncoder().encode('{"model":"@preset/a","input":"Hi","top_p":0.5}'));
 * const preset = { model: "m", system: "Be brief.", parameters: { topP: 1, temperature: 0, seed: 7 } };
 * const { body, dropped } = withPreset("responses", sent, preset, "m");
 * const { value } = body;
 * if (value["instructions"] !== "Be brief." || value["top_p"] !== 0.5 || value["temperature"] !== 0) throw new Error();
 * if (value["model"] !== "m" || dropped.join() !== "seed") throw new Error(dropped.join());
 * ```
 */
export function withPreset(
  style: Style,
  body: JsonBody,
  { system, parameters = {} }: Preset,
  model: string | undefined,
): { readonly body: JsonBody; readonly dropped: readonly string[] } {
  const { changes, dropped } = withParameters(style, body.outline, parameters);
  const changed = parseJsonBody(joined(withFields(body, {
    ...changes,
    ...(system !== undefined && style !== "chat" && withSystem(style, body.outline, system)),
    ...(model !== undefined && { model }),
  })));
  const merged = system !== undefined && style === "chat"
    ? withSystemMessage(changed, system)
    : changed;
  return { body: merged, dropped };
}
