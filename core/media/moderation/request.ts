/**
 * Reads `POST /v1/moderations`. Fields that are not checked here are forwarded unchanged. See
 * docs/endpoints.md#moderation.
 *
 * - Folder `core/media/moderation/`: calls that classify texts and pictures.
 * - In: a JSON body.
 * - Out: a checked request, the addresses in it, and its work on a route.
 * - Never: keeps what is classified, or its result.
 */
import { type DescribedMember, listOf, text, writtenSchema } from "../../lib/json/schemas.ts";
import { parseJsonBody, refuseMergedFields } from "../../calls/body/json_body.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { jsonKey } from "../../lib/json/json_cursor.ts";
import type { MediaWork } from "../base/exchange.ts";
import { fieldsOfJson, refuseField } from "../../calls/body/fields.ts";
import { listSchema, modelName } from "../../calls/body/request_field.ts";
import {
  type JsonAnswer,
  type JsonRequest,
  jsonWork,
  readWhere,
  type ResultShape,
} from "../base/json_call.ts";

/** Inputs of one call. Vendors take fewer; a call has one price. */
const maxModerationInputs = 1_024;

/** Bytes of a whole answer: each input has some 30 categories with three values. */
const maxModerationAnswerBytes = 8 * 1024 * 1024;

function isInput(value: Json | undefined): boolean {
  if (typeof value === "string") return true;
  return isJsonObject(value) && (value["type"] === "text" || value["type"] === "image_url");
}

/** The results that an answer may have: one for each text; parts may be classified together. */
interface ResultBounds {
  readonly min: number;
  readonly max: number;
}

function readInput(input: Json | undefined): ResultBounds {
  if (input === undefined || input === null) refuseField("input", "is required");
  if (typeof input === "string") return { min: 1, max: 1 };
  if (!Array.isArray(input)) {
    refuseField("input", "must be a string, or a list of texts and pictures");
  }
  if (input.length === 0) refuseField("input", "must not be empty");
  if (input.length > maxModerationInputs) {
    refuseField("input", `at most ${maxModerationInputs} inputs, ${input.length} were sent`);
  }
  const strange = input.findIndex((value) => !isInput(value));
  if (strange >= 0) {
    refuseField(`input.${strange}`, "must be a string, or a part of type text or image_url");
  }
  const hasParts = input.some((value) => typeof value !== "string");
  return { min: hasParts ? 1 : input.length, max: input.length };
}

/** A request that was read and checked. */
export interface ModerationRequest extends JsonRequest {
  readonly results: ResultBounds;
}

const part: JsonObject = {
  type: "object",
  required: ["type"],
  properties: { type: { type: "string", enum: ["text", "image_url"] } },
};

/** The fields that the document names. */
export const moderationFields: readonly DescribedMember[] = [
  { ...modelName, isRequired: false },
  {
    name: "input",
    isRequired: true,
    schema: {
      anyOf: [
        text,
        listSchema(
          { anyOf: [text, part] },
          maxModerationInputs,
          "Texts, or parts of type `text` and `image_url`.",
        ),
      ],
    },
  },
];

/**
 * Reads a request.
 *
 * @param defaultModel the model of a request that names none, as vendors have one
 * @example
 * ```ts
 * import { readModerationRequest } from "./request.ts";
 * const body = new TextEncoder().encode('{"input":["one","two"]}');
 * if (readModerationRequest(body, "moderation-1").model !== "moderation-1") throw new Error("no model");
 * ```
 *
 * @throws {GatewayError} `invalid_request` or `invalid_json`, naming the field at fault
 */
export function readModerationRequest(
  bytes: Uint8Array,
  defaultModel: string | undefined,
): ModerationRequest {
  const body = parseJsonBody(bytes);
  refuseMergedFields(body.value);
  const named = body.value["model"];
  const model = (named === undefined || named === null ? defaultModel : undefined) ??
    modelName.read(fieldsOfJson(body.value));
  return { model, body, results: readInput(body.value["input"]) };
}

const lists = [jsonKey("results")];

/** The first letters of `true` and `false`. */
const readFlag = readWhere(({ first }) => first === 0x74 || first === 0x66);
/** An object begins with a brace. */
const readObject = readWhere(({ first }) => first === 0x7b);

/** A verdict. Without `flagged` a client would take everything for harmless. */
const verdictShape: ResultShape = [
  { keys: [jsonKey("flagged")], isRequired: true, read: readFlag },
  {
    keys: [jsonKey("categories"), jsonKey("category_scores")],
    isRequired: false,
    read: readObject,
  },
];

const resultMembers = {
  flagged: { type: "boolean" },
  categories: { type: "object" },
  category_scores: { type: "object" },
  category_applied_input_types: { type: "object" },
};

/** The schema of an answer, which is the provider's. */
export const moderationAnswerSchema: JsonObject = writtenSchema("A result for each input.", {
  id: text,
  model: text,
  results: listOf(writtenSchema("A result.", resultMembers, ["flagged"])),
}, ["results"]);

/** Describes a call for its routes. */
export function moderationWork(request: ModerationRequest): MediaWork<JsonAnswer> {
  return jsonWork({
    request,
    style: "moderations",
    list: lists,
    maxAnswerBytes: maxModerationAnswerBytes,
    shape: () => verdictShape,
    accepts: (items) => items >= request.results.min && items <= request.results.max,
  });
}
