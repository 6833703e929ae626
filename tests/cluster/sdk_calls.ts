/** One call in each style by the official SDKs, with its cost computed from the usage that the client saw. */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import type { SeenCall } from "./client_ledger.ts";

/** Milliseconds for a call: above the store's own deadlines, so that their answer is seen. */
const callMs = 90_000;

/** µVND per token of both models in gateway.json: their price in VND per million tokens. */
const microVndPerToken = 8_300n;

type Model = "premium-1" | "premium-1-fast";
const maxTokens = 20;

function seen(headers: Headers, tokens: number): SeenCall {
  const requestId = headers.get("x-request-id");
  if (requestId === null) throw new Error("the answer has no request id");
  return { requestId, costMicroVnd: BigInt(tokens) * microVndPerToken };
}

type Call = (sdks: Sdks, said: string, model: Model) => Promise<SeenCall>;

/** The SDKs of one client of one gateway. */
export interface Sdks {
  readonly openai: OpenAI;
  readonly anthropic: Anthropic;
}

/** SDKs that retry nothing: every failure counts. */
export function sdksFor(address: string, apiKey: string): Sdks {
  const options = { apiKey, maxRetries: 0, timeout: callMs };
  return {
    openai: new OpenAI({ ...options, baseURL: `${address}/v1` }),
    anthropic: new Anthropic({ ...options, baseURL: address }),
  };
}

const chat: Call = async ({ openai }, content, model) => {
  const { data, response } = await openai.chat.completions.create({
    model,
    max_tokens: maxTokens,
    messages: [{ role: "user", content }],
  }).withResponse();
  return seen(response.headers, data.usage?.total_tokens ?? NaN);
};

const chatStream: Call = async ({ openai }, content, model) => {
  const { data, response } = await openai.chat.completions.create({
    model,
    max_tokens: maxTokens,
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: "user", content }],
  }).withResponse();
  let tokens = NaN;
  for await (const { usage } of data) if (usage) tokens = usage.total_tokens;
  return seen(response.headers, tokens);
};

const message: Call = async ({ anthropic }, content, model) => {
  const { data, response } = await anthropic.messages.create({
    model,
    max_tokens: maxTokens,
    messages: [{ role: "user", content }],
  }).withResponse();
  return seen(response.headers, data.usage.input_tokens + data.usage.output_tokens);
};

const messageStream: Call = async ({ anthropic }, content, model) => {
  const { data, response } = await anthropic.messages.create({
    model,
    max_tokens: maxTokens,
    stream: true,
    messages: [{ role: "user", content }],
  }).withResponse();
  let input = NaN;
  let output = NaN;
  let isStopped = false;
  for await (const event of data) {
    if (event.type === "message_start") input = event.message.usage.input_tokens;
    if (event.type === "message_delta") {
      input = event.usage.input_tokens ?? input;
      output = event.usage.output_tokens;
    }
    if (event.type === "message_stop") isStopped = true;
  }
  if (!isStopped) throw new Error("the stream was cut");
  return seen(response.headers, input + output);
};

const respond: Call = async ({ openai }, input, model) => {
  const { data, response } = await openai.responses.create({
    model,
    input,
    max_output_tokens: maxTokens,
  }).withResponse();
  return seen(response.headers, data.usage?.total_tokens ?? NaN);
};

const styles = [chat, messageStream, respond, chatStream, message];

/** The call with this number, the styles in turn. */
export function sdkCall(
  sdks: Sdks,
  number: number,
  model: Model = "premium-1",
): Promise<SeenCall> {
  const paceMs = 1 + number % 3;
  return styles[number % styles.length]!(sdks, `[[sandbox:pace ${paceMs}]] call ${number}`, model);
}
