/**
 * Reads `POST /v1/completions` for a model that completes texts. Fields that are not checked here are forwarded
 * unchanged. See docs/endpoints.md#completions.
 *
 * - Folder `core/media/completion/`: completions of texts: native calls, and the ones that become chat calls.
 * - In: a JSON body, and one route or the answer of a chat call.
 * - Out: completions as the provider sent them, or made of chat answers, and what was read of them.
 * - Never: drops a field of the request without an error.
 */
import { maxOutputTokensOfCall } from "../../billing/tokens/limits.ts";
import type { ChatRequest } from "../../calls/request/chat_request.ts";
import { refuseMergedFields } from "../../calls/body/decisive_fields.ts";
import { type JsonBody, parseJsonBody } from "../../calls/body/json_body.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { isJsonObject, type Json } from "../../lib/json/json.ts";
import { maxChoices } from "../../wire/contract/limits.ts";
import {
  booleanField,
  fieldsOfJson,
  type MediaFields,
  modelField,
  wholeNumberField,
} from "../../calls/body/fields.ts";

/** Prompts of one call; each gets answers of its own. */
export const maxPrompts = 128;

/** A request that was read and checked. */
export interface CompletionRequest {
  readonly body: JsonBody;
  /** What bounds the call, in the terms of chat calls. */
  readonly bounds: ChatRequest;
}

/** Refuses a field, naming it. @throws {GatewayError} `invalid_request` */
export function refuseField(field: string, why: string): never {
  throw new GatewayError("invalid_request", `${field}: ${why}`, { param: field });
}

const isToken = (value: Json | undefined) =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0;

function isPrompt(value: Json | undefined): boolean {
  return typeof value === "string" || (Array.isArray(value) && value.every(isToken));
}

function countPrompts(prompt: Json | undefined): number {
  if (prompt === undefined || prompt === null) refuseField("prompt", "is required");
  if (isPrompt(prompt)) return 1;
  if (!Array.isArray(prompt) || !prompt.every(isPrompt)) {
    refuseField(
      "prompt",
      "must be a string, a list of strings, a list of tokens, or a list of such lists",
    );
  }
  if (prompt.length > maxPrompts) {
    refuseField("prompt", `at most ${maxPrompts} prompts, ${prompt.length} were sent`);
  }
  return prompt.length;
}

function wholeNumber(fields: MediaFields, field: string, max: number): number | undefined {
  const value = wholeNumberField(fields, field);
  if (value === "invalid" || (value ?? 1) > max) {
    refuseField(field, `must be a whole number from 1 to ${max}`);
  }
  return value;
}

/**
 * Reads a request. `echo` is refused: the prompt would count as output.
 *
 * @throws {GatewayError} `invalid_request` or `invalid_json`, naming the field at fault
 */
export function readCompletionRequest(bytes: Uint8Array): CompletionRequest {
  const body = parseJsonBody(bytes);
  refuseMergedFields(body.value);
  const fields = fieldsOfJson(body.value);
  const model = modelField(fields);
  const prompts = countPrompts(body.value["prompt"]);
  const answers = Math.max(
    wholeNumber(fields, "n", maxChoices) ?? 1,
    wholeNumber(fields, "best_of", maxChoices) ?? 1,
  );
  if (booleanField(fields, "echo") === true) {
    refuseField("echo", "is not supported; put the prompt before the answer yourself");
  }
  const options = body.value["stream_options"];
  return {
    body,
    bounds: {
      style: "chat",
      model,
      stream: booleanField(fields, "stream") ?? false,
      maxTokens: wholeNumber(fields, "max_tokens", maxOutputTokensOfCall),
      choices: prompts * answers,
      wantsUsage: isJsonObject(options) && options["include_usage"] === true,
    },
  };
}
