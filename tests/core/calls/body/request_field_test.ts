/** Fields of request bodies: what the schema allows is what the reader accepts. */
import { fieldsOfForm, fieldsOfJson } from "../../../../core/calls/body/fields.ts";
import {
  eventsFlag,
  mediaPrompt,
  modelName,
  type RequestField,
  requiredText,
  wholeNumber,
} from "../../../../core/calls/body/request_field.ts";
import { completionFields } from "../../../../core/media/completion/request.ts";
import { embeddingFields } from "../../../../core/media/embeddings/request.ts";
import { imageEditFields, imageFields } from "../../../../core/media/images/request.ts";
import { moderationFields } from "../../../../core/media/moderation/request.ts";
import { rerankFields } from "../../../../core/media/rerank/request.ts";
import { speechFields } from "../../../../core/media/speech/attempt.ts";
import { transcriptionFields } from "../../../../core/media/transcription/attempt.ts";
import { videoFields } from "../../../../core/media/video/request.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import type { Json } from "../../../../core/lib/json/json.ts";
import { objectSchema } from "../../../../core/lib/json/schemas.ts";
import { assertEquals } from "../../../support/assert.ts";

const bounded = wholeNumber("n", { min: 0, max: 3 });
const open = wholeNumber("dimensions", { min: 1 });
const text = requiredText("input", 5);

/** A field, a value, and what is read of it or what the refusal says. */
const cases: readonly (readonly [RequestField<unknown>, Json | undefined, unknown])[] = [
  [bounded, undefined, undefined],
  [bounded, 0, 0],
  [bounded, 3, 3],
  [bounded, "3", 3],
  [bounded, 4, "n: must be a whole number from 0 to 3"],
  [bounded, -1, "n: must be a whole number from 0 to 3"],
  [bounded, 1.5, "n: must be a whole number from 0 to 3"],
  [open, 1, 1],
  [open, 0, "dimensions: must be a whole number of 1 or more"],
  [open, true, "dimensions: must be a whole number of 1 or more"],
  [text, "hello", "hello"],
  [text, "hello!", "input: must be at most 5 characters"],
  [text, " ", "input: is required"],
  [text, undefined, "input: is required"],
  [text, 7, "input: must be a string"],
  [eventsFlag, undefined, false],
  [eventsFlag, true, true],
  [eventsFlag, "false", false],
  [eventsFlag, 1, "stream: must be true or false"],
  [modelName, "m", "m"],
  [modelName, "", "model: is required"],
  [mediaPrompt, "a cat", "a cat"],
];

Deno.test("a field is read within its bounds, and refused by its name beyond them", () => {
  for (const [field, value, expected] of cases) {
    const body = value === undefined ? {} : { [field.name]: value };
    let read: unknown;
    try {
      read = field.read(fieldsOfJson(body));
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      assertEquals(error.param, field.name);
      read = error.message;
    }
    assertEquals(read, expected, `${field.name} ${JSON.stringify(value)}`);
  }
});

Deno.test("the schema of a body names its bounds and what it needs", () => {
  assertEquals(objectSchema("A body.", [text, bounded, open]), {
    type: "object",
    description: "A body.",
    required: ["input"],
    properties: {
      input: { type: "string", minLength: 1, maxLength: 5 },
      n: { type: "integer", minimum: 0, maximum: 3 },
      dimensions: { type: "integer", minimum: 1 },
    },
  });
});

Deno.test("no endpoint describes a field twice", () => {
  const lists = {
    completionFields,
    embeddingFields,
    imageEditFields,
    imageFields,
    moderationFields,
    rerankFields,
    speechFields,
    transcriptionFields,
    videoFields,
  };
  for (const [name, list] of Object.entries(lists)) {
    const names = list.map((field) => field.name);
    assertEquals(names, [...new Set(names)], name);
  }
});

Deno.test("a file is no number, no text and no flag", () => {
  const body = new TextEncoder().encode("3");
  for (const field of [bounded, text, eventsFlag]) {
    const file = fieldsOfForm([{ name: field.name, fileName: "x", body, contentType: undefined }]);
    let refused = false;
    try {
      field.read(file);
    } catch (error) {
      refused = error instanceof GatewayError && error.param === field.name;
    }
    assertEquals(refused, true, field.name);
  }
});
