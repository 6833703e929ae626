/**
 * The elements of random requests of all styles: everything that a client may send and the other styles can carry,
 * including the unusual forms of known clients.
 */
import * as fc from "../support/property.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";

const word = fc.constantFrom("alpha", "be ta", "tiếng Việt", "名前", 'quo"te', "li\nne", "😀");
export const text = fc.array(word, { minLength: 1, maxLength: 4 }).map((words) => words.join(" "));
export const image = "iVBORw0KGgo=";
export const pdf = "JVBERi0xLjQK";

/** Generates an object from the members that were drawn. */
export function some(members: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<JsonObject> {
  return fc.record(members, { requiredKeys: [], noNullPrototype: true }).map((drawn) =>
    JSON.parse(JSON.stringify(drawn))
  );
}

export const closedSchema: JsonObject = {
  type: "object",
  properties: { a: { type: "string" }, b: { type: "array", items: { type: "integer" } } },
  required: ["a", "b"],
  additionalProperties: false,
};

export const schema = fc.constantFrom<JsonObject>(
  { type: "object" },
  { type: "object", properties: {} },
  { type: "object", properties: { a: { type: "string", minLength: 1 } }, required: ["a"] },
  { type: "object", properties: { a: { type: "array" } } },
  { type: "object", properties: { a: { type: ["string", "null"] } }, additionalProperties: false },
  closedSchema,
);

export const toolNames = ["get_weather", "Bash", "a".repeat(64), "mcp__server__tool"] as const;
const toolInput = fc.constantFrom<JsonObject>({}, { a: 1 }, { path: "C:\\x", list: [1, null, {}] });

export interface Loop {
  /** Calls of one assistant turn: tool and arguments. */
  readonly calls: readonly { readonly tool: number; readonly input: JsonObject }[];
  readonly says: string | undefined;
  /** What each call returned. */
  readonly results: readonly number[];
  /** Order in which the results come back. */
  readonly reversed: boolean;
  /** What the user adds. */
  readonly adds: string | undefined;
}

const loop: fc.Arbitrary<Loop> = fc.record({
  calls: fc.array(
    fc.record({ tool: fc.nat(toolNames.length - 1), input: toolInput }),
    { minLength: 1, maxLength: 3 },
  ),
  says: fc.option(text, { nil: undefined }),
  results: fc.array(fc.nat(6), { minLength: 3, maxLength: 3 }),
  reversed: fc.boolean(),
  adds: fc.option(text, { nil: undefined }),
});

export type Step =
  | { readonly kind: "user"; readonly text: string; readonly form: number }
  | { readonly kind: "assistant"; readonly text: string; readonly form: number }
  | { readonly kind: "system"; readonly text: string }
  | { readonly kind: "loop"; readonly loop: Loop };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant("user" as const), text, form: fc.nat(5) }),
  fc.record({ kind: fc.constant("assistant" as const), text, form: fc.nat(4) }),
  fc.record({ kind: fc.constant("system" as const), text }),
  loop.map((drawn): Step => ({ kind: "loop", loop: drawn })),
);

export const steps = fc.array(step, { maxLength: 6 });

/** Makes ids of calls in one of the known forms. */
export function idMaker(form: number): (n: number) => string {
  switch (form) {
    case 0:
      return (n) => `toolu_${n}`;
    case 1:
      return (n) => `call_${"x".repeat(50)}${n}`;
    default:
      return (n) => `functions.get_x:${n}`;
  }
}

/** The vendor accepts `json_object` only if a message contains the word JSON. */
export const closing = "Go on, in JSON if that was asked for.";
