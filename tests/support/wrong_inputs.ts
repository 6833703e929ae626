/** Inputs that a JSON Schema refuses, each with one member that is wrong: for tests of what the refusals say. */
import { isJsonObject, type Json, type JsonObject } from "../../core/lib/json/json.ts";

/** An input that is wrong in one member. */
export interface WrongInput {
  /** The path of the member at fault, with dots. */
  readonly field: string;
  /** What was done to it. */
  readonly what: string;
  readonly sent: Json;
  /** What the refusal has to name: values, bounds. */
  readonly accepts: readonly string[];
}

/** A value that fits a member whose schema does not say its form, by the path of the member. */
export type TextOf = (field: string) => Json | undefined;

/** No schema of the gateway has a member of this name. */
export const foreignName = "zz_foreign";

/** Longest list or text that is made to be too long. */
const maxMadeLength = 20_000;

/** Values that a refusal lists at most. */
const maxListed = 16;

function objectsIn(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

const below = (field: string, name: string) => field === "" ? name : `${field}.${name}`;

function propertiesOf(schema: JsonObject): readonly (readonly [string, JsonObject])[] {
  const { properties } = schema;
  return Object.entries(isJsonObject(properties) ? properties : {})
    .map(([name, one]) => [name, isJsonObject(one) ? one : {}]);
}

/** The forms of a value that are not `null`. */
function formsOf(schema: JsonObject): readonly JsonObject[] {
  const forms = objectsIn(schema["anyOf"] ?? schema["oneOf"]);
  return forms.length === 0 ? [schema] : forms.filter(({ type }) => type !== "null");
}

/** One value for each form that a schema has, with all members of objects. */
function samplesOf(schema: JsonObject, field: string, textOf: TextOf): readonly Json[] {
  const known = textOf(field);
  if (known !== undefined) return [known];
  return formsOf(schema).flatMap((form): readonly Json[] => {
    const { const: only, type, minimum, items, propertyNames, additionalProperties } = form;
    if (only !== undefined) return [only];
    if (Array.isArray(form["enum"])) return form["enum"].slice(0, 1);
    switch (Array.isArray(type) ? type[0] : type) {
      case "integer":
      case "number":
        return [typeof minimum === "number" && minimum > 0 ? minimum : 1];
      case "boolean":
        return [true];
      case "array":
        return samplesOf(isJsonObject(items) ? items : {}, below(field, "0"), textOf)
          .map((one) => [one]);
      case "object": {
        if (isJsonObject(additionalProperties) && isJsonObject(propertyNames)) {
          const names = propertyNames["enum"];
          const name = Array.isArray(names) ? String(names[0]) : "any";
          return samplesOf(additionalProperties, below(field, name), textOf)
            .map((one) => ({ [name]: one }));
        }
        const members = propertiesOf(form).map(([name, one]) =>
          [name, samplesOf(one, below(field, name), textOf)] as const
        );
        const count = Math.max(1, ...members.map(([, values]) => values.length));
        return Array.from({ length: count }, (_, at) =>
          Object.fromEntries(
            members.map(([name, values]) => [name, values[at % values.length] ?? null]),
          ));
      }
      default:
        return ["text"];
    }
  });
}

/** The form that a value has. */
function fittingForm(schema: JsonObject, value: Json): JsonObject {
  const forms = formsOf(schema);
  return forms.find((form) => {
    if (form["const"] !== undefined) return form["const"] === value;
    if (!isJsonObject(value)) return typeof value !== "number" || form["type"] === "integer";
    return propertiesOf(form).every(([name, one]) =>
      one["const"] === undefined || one["const"] === value[name]
    );
  }) ?? forms[0] ?? schema;
}

interface Place {
  readonly field: string;
  /** The whole input with another value at this place; `undefined`: without it. */
  readonly put: (value: Json | undefined) => Json;
}

function placeWithin(place: Place, value: JsonObject, name: string): Place {
  return {
    field: below(place.field, name),
    put: (inner) => {
      const { [name]: _, ...others } = value;
      return place.put(inner === undefined ? others : { ...others, [name]: inner });
    },
  };
}

/** The values that have to be named where one of some is asked for. */
function choicesOf(schema: JsonObject): readonly Json[] {
  const choices = formsOf(schema).flatMap((form) =>
    Array.isArray(form["enum"]) ? form["enum"] : form["const"] === undefined ? [] : [form["const"]]
  );
  return choices.slice(0, maxListed);
}

function wrongScalars(schema: JsonObject, value: Json, { field, put }: Place): WrongInput[] {
  const wrong: WrongInput[] = [];
  const add = (what: string, sent: Json, accepts: readonly Json[] = []) => {
    wrong.push({ field, what, sent: put(sent), accepts: accepts.map((one) => String(one)) });
  };
  const { type, minimum, maximum, minLength, maxLength, minItems, maxItems } = fittingForm(
    schema,
    value,
  );
  const isAny = choicesOf(schema).length === 0 && formsOf(schema).some(({ type }) => !type);
  if (!isAny) add("another type", typeof value === "object" ? 7 : { zz: 1 }, choicesOf(schema));
  if (choicesOf(schema).length > 0) add("another value", "zz-other", choicesOf(schema));
  if (typeof value === "number" && type !== "number") add("a fraction", 1.5);
  if (typeof minimum === "number" && minimum > -1e15) add("too small", minimum - 1, [minimum]);
  if (typeof maximum === "number" && maximum < 1e15) add("too large", maximum + 1, [maximum]);
  if (typeof minLength === "number" && minLength > 0) add("too short", "", [minLength]);
  if (typeof maxLength === "number" && maxLength < maxMadeLength) {
    add("too long", "x".repeat(maxLength + 1), []);
  }
  if (!Array.isArray(value)) return wrong;
  const [item = null] = value;
  if (typeof minItems === "number" && minItems > 0) add("too few", [], [minItems]);
  if (typeof maxItems === "number" && maxItems < maxMadeLength) {
    add("too many", Array.from({ length: maxItems + 1 }, () => item), [maxItems]);
  }
  return wrong;
}

function wrongWithin(schema: JsonObject, value: Json, place: Place): WrongInput[] {
  const wrong = place.field === "" ? [] : wrongScalars(schema, value, place);
  const form = fittingForm(schema, value);
  if (Array.isArray(value)) {
    const items = form["items"];
    const [item = null, ...rest] = value;
    const inner = {
      field: below(place.field, "0"),
      put: (one?: Json) => place.put([one ?? null, ...rest]),
    };
    return isJsonObject(items) ? [...wrong, ...wrongWithin(items, item, inner)] : wrong;
  }
  if (!isJsonObject(value)) return wrong;
  const { additionalProperties, propertyNames, required } = form;
  if (additionalProperties === false || isJsonObject(propertyNames) && propertyNames["enum"]) {
    const { field, put } = placeWithin(place, value, foreignName);
    wrong.push({ field, what: "a member too many", sent: put(1), accepts: [] });
  }
  const known = propertiesOf(form);
  for (const [name, one] of Object.entries(value)) {
    const inner = placeWithin(place, value, name);
    const found = known.find(([member]) => member === name)?.[1] ??
      (isJsonObject(additionalProperties) ? additionalProperties : {});
    if (Array.isArray(required) && required.includes(name)) {
      const accepts = choicesOf(found).map(String);
      wrong.push({ field: inner.field, what: "left out", sent: inner.put(undefined), accepts });
    }
    wrong.push(...wrongWithin(found, one ?? null, inner));
  }
  return wrong;
}

/** The wrong member that tells forms of a union apart has the values of all forms to name. */
function withAllForms(schema: JsonObject, inputs: readonly WrongInput[]): WrongInput[] {
  const telling = propertiesOf(schema).flatMap(([name, one]) => {
    const forms = formsOf(one);
    if (forms.length < 2) return [];
    const constants = forms.flatMap((form) =>
      propertiesOf(form).filter(([, member]) => member["const"] !== undefined)
    );
    const [member] = constants[0] ?? [];
    if (member === undefined) return [];
    return [[`${name}.${member}`, constants.map(([, { const: only }]) => String(only))] as const];
  });
  return inputs.map((input) => {
    const accepts = telling.find(([field]) => field === input.field)?.[1];
    return accepts === undefined ? input : { ...input, accepts };
  });
}

/** Lists inputs that a schema refuses, each wrong in one member, over one valid input for each form of its members. */
export function wrongInputs(schema: JsonObject, textOf: TextOf): readonly WrongInput[] {
  const samples = samplesOf(schema, "", textOf);
  const all = samples.flatMap((value) =>
    wrongWithin(schema, value, { field: "", put: (inner) => inner ?? null })
  );
  return withAllForms(schema, all);
}

/** The valid inputs that the wrong ones are made of. */
export function rightInputs(schema: JsonObject, textOf: TextOf): readonly Json[] {
  return samplesOf(schema, "", textOf);
}
