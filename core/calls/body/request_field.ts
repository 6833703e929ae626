/**
 * Fields of request bodies, each with the JSON Schema of what its reader accepts: the OpenAPI document is made of the lists
 * by which the endpoints read, so it cannot name another bound.
 */
import { maxModelNameChars } from "../../lib/base/limits.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";
import { count, type DescribedMember } from "../../lib/json/schemas.ts";
import { maxMediaPromptChars } from "../../net/remote/address.ts";
import {
  booleanField,
  type MediaFields,
  modelField,
  refuseField,
  textField,
  wholeNumberField,
} from "./fields.ts";

/** A field with its reader. Fields that are only described are forwarded unread, or read with others. */
export interface RequestField<Value> extends DescribedMember {
  /** @throws {GatewayError} `invalid_request` that names the field */
  readonly read: (fields: MediaFields) => Value;
}

/** The schema of a list that is not empty. */
export function listSchema(items: JsonObject, maxItems: number, description: string): JsonObject {
  return { type: "array", minItems: 1, maxItems, items, description };
}

/** The schema of a text as a list of tokens. */
export const tokensSchema: JsonObject = {
  type: "array",
  minItems: 1,
  items: count,
};

/** Whether a value is one token. */
export function isToken(value: Json | undefined): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** The schema of a picture, as `referenceField` reads it. */
export const pictureSchema: JsonObject = {
  type: "string",
  description: "An http(s) URL, a data URL, plain base64, or a file of a form.",
};

/** The name of the model. */
export const modelName: RequestField<string> = {
  name: "model",
  schema: {
    type: "string",
    minLength: 1,
    maxLength: maxModelNameChars,
    description: "Id or alias of a model of this kind.",
  },
  isRequired: true,
  read: modelField,
};

/** The field by which a client asks for a stream. */
export const eventsFlag: RequestField<boolean> = {
  name: "stream",
  schema: { type: "boolean", description: "Events instead of one answer." },
  read: (fields) => booleanField(fields, "stream") ?? false,
};

/**
 * A text that must not be blank.
 *
 * @example
 * ```ts
 * import { fieldsOfJson } from "./fields.ts";
 * import { requiredText } from "./request_field.ts";
 * const input = requiredText("input", 5);
 * if (input.read(fieldsOfJson({ input: "hello" })) !== "hello") throw new Error("refused");
 * if (input.schema["maxLength"] !== 5) throw new Error("the document has another bound");
 * ```
 */
export function requiredText(name: string, maxChars: number): RequestField<string> {
  return {
    name,
    schema: { type: "string", minLength: 1, maxLength: maxChars },
    isRequired: true,
    read: (fields) => {
      const text = textField(fields, name);
      if (text === undefined || text.trim() === "") refuseField(name, "is required");
      if (text.length > maxChars) refuseField(name, `must be at most ${maxChars} characters`);
      return text;
    },
  };
}

/** Prompt of a picture or a video. */
export const mediaPrompt = requiredText("prompt", maxMediaPromptChars);

/** The bounds of a whole number, both included. */
interface WholeNumberBounds {
  readonly min: 0 | 1;
  /** Absent: the provider has its own. */
  readonly max?: number;
  /** Members of the schema beside the bounds. */
  readonly about?: JsonObject;
}

/** A whole number; `undefined` if it is absent. */
export function wholeNumber(
  name: string,
  { min, max, about }: WholeNumberBounds,
): RequestField<number | undefined> {
  const bounds = max === undefined ? `of ${min} or more` : `from ${min} to ${max}`;
  return {
    name,
    schema: {
      type: "integer",
      minimum: min,
      ...(max !== undefined && { maximum: max }),
      ...about,
    },
    read: (fields) => {
      const number = wholeNumberField(fields, name, min);
      if (number === "invalid" || (max !== undefined && number !== undefined && number > max)) {
        refuseField(name, `must be a whole number ${bounds}`);
      }
      return number;
    },
  };
}
