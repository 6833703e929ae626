/**
 * Reads `POST /v1/completions` for a model that completes texts. Fields that are not checked here are forwarded
 * unchanged. See docs/endpoints.md#completions.
 *
 * - Folder `core/media/completion/`: completions of texts: native calls, and the ones that become chat calls.
 * - In: a JSON body, and one route or the answer of a chat call.
 * - Out: completions as the provider sent them, or made of chat answers, and what was read of them.
 * - Never: drops a field of the request without an error.
 */
import { type DescribedMember, text } from "../../lib/json/schemas.ts";
import { maxOutputTokensOfCall } from "../../billing/tokens/limits.ts";
import type { ChatRequest } from "../../calls/request/chat_request.ts";
import { type JsonBody, parseJsonBody, refuseMergedFields } from "../../calls/body/json_body.ts";
import { isJsonObject, type Json } from "../../lib/json/json.ts";
import { textBytes } from "../../wire/stream/reading.ts";
import { addCounts, type CountedInput, countOne } from "../base/input_charge.ts";
import { maxChoices } from "../../wire/contract/limits.ts";
import { booleanField, fieldsOfJson, jsonField, refuseField } from "../../calls/body/fields.ts";
import {
  eventsFlag,
  listSchema,
  modelName,
  type RequestField,
  tokensSchema,
  wholeNumber,
} from "../../calls/body/request_field.ts";

/** Prompts of one call; each gets answers of its own. */
const maxPrompts = 128;

/** A request that was read and checked. */
export interface CompletionRequest {
  readonly body: JsonBody;
  /** Text that the model reads: the prompts, and the text after the gap. */
  readonly input: CountedInput;
  /** Bounds of the call, in the terms of chat calls. */
  readonly bounds: ChatRequest;
}

function countPrompts(prompt: Json | undefined): CountedInput {
  if (prompt === undefined || prompt === null) refuseField("prompt", "is required");
  const single = countPrompt(prompt);
  if (single !== undefined) return single;
  const counts = Array.isArray(prompt) ? prompt.map(countPrompt) : [undefined];
  if (counts.length > maxPrompts) {
    refuseField("prompt", `at most ${maxPrompts} prompts, ${counts.length} were sent`);
  }
  return counts.reduce<CountedInput>((sum, one) => {
    if (one !== undefined) return addCounts(sum, one);
    refuseField(
      "prompt",
      "must be a string, a list of strings, a list of tokens, or a list of such lists",
    );
  }, nothing);
}

const nothing: CountedInput = { inputs: 0, textBytes: 0, tokens: 0 };

/** Counts one prompt; an empty list of tokens is one, too. */
function countPrompt(value: Json | undefined): CountedInput | undefined {
  return Array.isArray(value) && value.length === 0 ? { ...nothing, inputs: 1 } : countOne(value);
}

const prompt: RequestField<CountedInput> = {
  name: "prompt",
  isRequired: true,
  schema: {
    description: "One text for a chat model; texts or lists of tokens for a completion model.",
    anyOf: [
      text,
      listSchema({ anyOf: [text, tokensSchema] }, maxPrompts, "Several prompts."),
      tokensSchema,
    ],
  },
  read: (fields) => countPrompts(jsonField(fields, "prompt")),
};

const maxTokens = wholeNumber("max_tokens", { min: 1, max: maxOutputTokensOfCall });
const choices = wholeNumber("n", { min: 1, max: maxChoices });
const bestOf = wholeNumber("best_of", { min: 1, max: maxChoices });

/** The fields that the document names. */
export const completionFields: readonly DescribedMember[] = [
  modelName,
  prompt,
  {
    name: "suffix",
    schema: { type: "string", description: "Completion models: what follows the text." },
  },
  maxTokens,
  choices,
  bestOf,
  eventsFlag,
  { name: "stop", schema: { anyOf: [text, { type: "array", items: text }, { type: "null" }] } },
  { name: "temperature", schema: { type: ["number", "null"] } },
  { name: "top_p", schema: { type: ["number", "null"] } },
];

/**
 * Reads a request. `echo` is refused: the prompt would count as output.
 *
 * @throws {GatewayError} `invalid_request` or `invalid_json`, naming the field at fault
 */
export function readCompletionRequest(bytes: Uint8Array): CompletionRequest {
  const body = parseJsonBody(bytes);
  refuseMergedFields(body.value);
  const fields = fieldsOfJson(body.value);
  const model = modelName.read(fields);
  const prompts = prompt.read(fields);
  const { suffix } = body.value;
  const answers = Math.max(choices.read(fields) ?? 1, bestOf.read(fields) ?? 1);
  if (booleanField(fields, "echo") === true) {
    refuseField("echo", "is not supported; put the prompt before the answer yourself");
  }
  const options = body.value["stream_options"];
  return {
    body,
    input: { ...prompts, textBytes: prompts.textBytes + textBytes(suffix) },
    bounds: {
      style: "chat",
      model,
      stream: eventsFlag.read(fields),
      maxTokens: maxTokens.read(fields),
      choices: prompts.inputs * answers,
      wantsUsage: isJsonObject(options) && options["include_usage"] === true,
    },
  };
}
