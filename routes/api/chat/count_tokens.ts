/**
 * POST /v1/messages/count_tokens and /v1/responses/input_tokens, free of charge: the count of the provider if it has a
 * counter, else an estimate marked as such.
 */
import { fieldsJson } from "../../../core/lib/json/fields.ts";
import { always, constant, count, type DescribedField } from "../../../core/lib/json/schemas.ts";
import { answerHeaders } from "../../http/own_headers.ts";
import { type JsonBody, parseJsonBody } from "../../../core/calls/body/json_body.ts";
import {
  readChatRequest,
  readCountTokensRequest,
} from "../../../core/calls/request/chat_request.ts";
import { withoutPreferences } from "../../../core/calls/request/route_preferences.ts";
import { estimateInputTokens } from "../../../core/billing/tokens/estimate_input.ts";
import { convertRequest } from "../../../core/wire/convert/convert.ts";
import { countedModel } from "./preferred_models.ts";
import type { Gateway } from "../gateway/gateway.ts";
import { admitRequest, checkVersion, type Incoming, requireJson } from "../call/incoming.ts";
import { withKeptTurns } from "./kept_responses.ts";
import { withPresetOf } from "./preset_request.ts";
import { countAtProvider, type CountCall } from "./provider_count.ts";

/** The fields of a count, in each style that has one. */
export const countFields = {
  messages: [always("input_tokens", count, (tokens) => tokens)],
  responses: [
    constant("object", "response.input_tokens"),
    always("input_tokens", count, (tokens) => tokens),
  ],
  gemini: [always("totalTokens", count, (tokens) => tokens)],
} as const satisfies Readonly<Record<string, readonly DescribedField<number>[]>>;

/** A style that has counts. */
type CountedStyle = keyof typeof countFields;

/** Answers with the count of a provider. */
export function countAnswer(style: CountedStyle, tokens: number): Response {
  return Response.json(fieldsJson<number>(countFields[style], tokens));
}

/** Answers with a count of the gateway. */
export function estimateAnswer(style: CountedStyle, tokens: number): Response {
  const response = countAnswer(style, tokens);
  response.headers.set(answerHeaders.estimate, "true");
  return response;
}

/** Counts the tokens of a Messages request. */
export async function serveCountTokens(gateway: Gateway, incoming: Incoming): Promise<Response> {
  const { body: bytes, principal } = await admitRequest(gateway, incoming, { charging: "free" });
  const { headers } = incoming.request;
  requireJson(incoming.request);
  checkVersion(headers);
  const sent = await withPresetOf(gateway, principal, "messages", parseJsonBody(bytes));
  const body = withoutPreferences("messages", sent);
  const request = readCountTokensRequest(body.value);
  const { model: clientModel } = request;
  const { model } = incoming.chosen = countedModel(gateway, { request, sent, principal, headers });
  const call: CountCall = { style: "messages", model, body, headers, clientModel };
  const counted = await countAtProvider(gateway, call);
  return counted === undefined
    ? estimateAnswer("messages", await estimateInputTokens(body.value))
    : countAnswer("messages", counted);
}

/** Counts the tokens of a Responses request. */
export async function serveInputTokens(gateway: Gateway, incoming: Incoming): Promise<Response> {
  const { body: bytes, principal } = await admitRequest(gateway, incoming, { charging: "free" });
  const { headers } = incoming.request;
  requireJson(incoming.request);
  const { accountId } = principal;
  const own = await withPresetOf(gateway, principal, "responses", parseJsonBody(bytes));
  const { body: sent } = await withKeptTurns(gateway, incoming, accountId, own);
  const body = withoutPreferences("responses", sent);
  const request = readChatRequest("responses", body.value);
  const { model: clientModel } = request;
  const { model } = incoming.chosen = countedModel(gateway, { request, sent, principal, headers });
  const call: CountCall = { style: "responses", model, body, headers, clientModel };
  const counted = await countAtProvider(gateway, call);
  return counted === undefined
    ? estimateAnswer("responses", await estimateConverted("responses", body))
    : countAnswer("responses", counted);
}

/** Output tokens that a converted request asks for; they are not counted. */
const uncountedOutputTokens = 64_000;

/**
 * Estimates the tokens of a prompt of another style than Messages: the tokenizer's rules for pictures, pages and tools are
 * those of one form.
 *
 * @throws {GatewayError} for a prompt that cannot be converted
 */
export async function estimateConverted(
  style: "responses" | "gemini",
  { value }: JsonBody,
): Promise<number> {
  const converted = convertRequest(style, "messages", value, {
    capabilities: { images: "url" },
    upstreamModel: "",
    maxOutputTokens: uncountedOutputTokens,
  });
  if (!converted.ok) throw converted.error;
  return await estimateInputTokens(converted.request.body);
}
