/**
 * The transport that answers requests by the built-in provider.
 *
 * - Folder `sandbox/provider/`: a provider inside the process, for first steps and tests, behind
 *   the interface of transports.
 * - In: an `UpstreamRequest`, a clock, and triggers in the text of the prompt.
 * - Out: answers, streams and errors shaped as vendors shape them.
 * - Never: opens a socket or reads the store.
 */
import { type ByteParts, joined } from "../../core/lib/bytes/byte_parts.ts";
import type { Clock } from "../../core/lib/time/clock.ts";
import type { ProviderStyle } from "../../core/wire/contract/contract.ts";
import { withReferenceNames } from "../../core/wire/mod.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/lib/json/json.ts";
import type { Transport, UpstreamRequest } from "../../core/net/transport/transport.ts";
import { answerChat } from "./chat/endpoint.ts";
import { answerConverse } from "./converse/endpoint.ts";
import { type Delay, type Reply, SandboxExchange } from "./base/reply.ts";
import { answerCompletions } from "./small/completions.ts";
import { answerEmbeddings, answerModerations, answerRerank } from "./small/embeddings.ts";
import { answerGemini, answerGeminiCount } from "./gemini/endpoint.ts";
import { createMediaSandbox, type MediaSandbox } from "./media/media.ts";
import { answerCountTokens, answerMessages } from "./messages/endpoint.ts";
import { SandboxRefusal } from "./base/request.ts";
import { answerCompact, answerResponses } from "./responses/endpoint.ts";
import { vendorError, type VendorStyle } from "./base/vendor_error.ts";

export interface SandboxOptions {
  readonly clock: Clock;
  readonly delay: Delay;
  /**
   * Returns the refusal of the real vendor, or `undefined` for a valid request. Without this the sandbox refuses only
   * what it cannot interpret.
   */
  readonly validate?: (
    style: ProviderStyle,
    body: JsonObject,
    betas: readonly string[],
  ) => string | undefined;
}

/** One endpoint: the style of its errors, the style that its requests are validated against (if any), and its answer. */
interface Endpoint {
  readonly vendor: VendorStyle;
  readonly style?: ProviderStyle;
  answer(body: JsonObject, nowSeconds: number): Reply;
}

/** The endpoints by the end of their path, so that any base URL works. */
const endpoints: readonly (readonly [path: string, endpoint: Endpoint])[] = [
  ["/messages/count_tokens", { vendor: "messages", answer: answerCountTokens }],
  ["/messages", { vendor: "messages", style: "messages", answer: answerMessages }],
  ["/chat/completions", { vendor: "chat", style: "chat", answer: answerChat }],
  ["/responses/compact", { vendor: "chat", answer: answerCompact }],
  ["/responses", { vendor: "chat", style: "responses", answer: answerResponses }],
  ["/completions", { vendor: "chat", answer: answerCompletions }],
  ["/embeddings", { vendor: "chat", answer: answerEmbeddings }],
  ["/rerank", { vendor: "chat", answer: answerRerank }],
  ["/moderations", { vendor: "chat", answer: answerModerations }],
];

/**
 * Creates a provider inside this process, which answers every style natively and deterministically, without a network.
 * A new installation works with it at once, and customers integrate against it without spending. docs/sandbox.md
 * describes what it can do.
 *
 * @example
 * ```ts
 * import { systemClock } from "../../core/lib/time/clock.ts";
 * import { timerDelay } from "./base/reply.ts";
 * import { createSandboxTransport } from "./transport.ts";
 * const sandbox = createSandboxTransport({ clock: systemClock, delay: timerDelay() });
 * const exchange = sandbox.open({
 *   method: "POST",
 *   url: "https://sandbox.invalid/v1/messages",
 *   headers: [],
 *   body: new TextEncoder().encode(
 *     JSON.stringify({ model: "m", max_tokens: 50, messages: [{ role: "user", content: "Hi" }] }),
 *   ),
 * });
 * const response = await exchange.response;
 * const body = new TextDecoder().decode((await response.body.read()) ?? undefined);
 * if (JSON.parse(body).content[0].text !== "You said: Hi") throw new Error(body);
 * ```
 */
export function createSandboxTransport(options: SandboxOptions): Transport {
  const media = createMediaSandbox();
  return {
    open: (request) => new SandboxExchange(replyTo(request, options, media), options.delay),
  };
}

function replyTo(request: UpstreamRequest, options: SandboxOptions, media: MediaSandbox): Reply {
  const mediaReply = media(request, options.clock.nowMs());
  if (mediaReply !== undefined) return mediaReply;
  const path = new URL(request.url).pathname;
  const found = endpointOf(path);
  if (found === undefined) return vendorError("chat", 404, "There is nothing at this address.");
  const { endpoint, members } = found;
  if (request.method !== "POST") {
    return vendorError(endpoint.vendor, 400, "The method must be POST.");
  }
  const sent = parse(request.body);
  if (sent === undefined) {
    return vendorError(endpoint.vendor, 400, "The body must be a JSON object.");
  }
  // The vendor takes both forms of a field's name, and its library for Python sends a mixture.
  const body = endpoint.vendor === "gemini"
    ? { ...members, ...withReferenceNames(sent) }
    : { ...members, ...sent };
  const refusal = endpoint.style && options.validate?.(endpoint.style, body, betasOf(request));
  if (refusal !== undefined) return vendorError(endpoint.vendor, 400, refusal);
  try {
    return endpoint.answer(body, Math.floor(options.clock.nowMs() / 1_000));
  } catch (error) {
    if (error instanceof SandboxRefusal) return vendorError(endpoint.vendor, 400, error.message);
    throw error;
  }
}

interface FoundEndpoint {
  readonly endpoint: Endpoint;
  /** Members of the request that are in the path. */
  readonly members: JsonObject;
}

const geminiPath = /\/models\/(.+):(generateContent|streamGenerateContent|countTokens)$/;

const conversePath = /\/model\/([^/]+)\/converse(-stream)?$/;

function endpointOf(path: string): FoundEndpoint | undefined {
  const [, converseModel, streamed] = conversePath.exec(path) ?? [];
  if (converseModel !== undefined) {
    const model = decodeURIComponent(converseModel);
    return {
      // The gateway reads the vendor's errors into this form before anything else does.
      endpoint: { vendor: "messages", style: "converse", answer: answerConverse },
      members: streamed === undefined ? { model } : { model, stream: true },
    };
  }
  const [, name, operation] = geminiPath.exec(path) ?? [];
  if (name === undefined) {
    const found = endpoints.find(([end]) => path.endsWith(end));
    return found === undefined ? undefined : { endpoint: found[1], members: {} };
  }
  const model = decodeURIComponent(name);
  if (operation === "countTokens") {
    return { endpoint: { vendor: "gemini", answer: answerGeminiCount }, members: { model } };
  }
  const members = operation === "generateContent" ? { model } : { model, stream: true };
  return { endpoint: { vendor: "gemini", style: "gemini", answer: answerGemini }, members };
}

/** Returns the values of `anthropic-beta`. */
function betasOf({ headers }: UpstreamRequest): string[] {
  return headers.filter(([name]) => name === "anthropic-beta")
    .flatMap(([, value]) => value.split(",").map((beta) => beta.trim()));
}

function parse(body: ByteParts | null): JsonObject | undefined {
  try {
    const value: Json = JSON.parse(
      new TextDecoder("utf-8", { fatal: true }).decode(joined(body ?? [])),
    );
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
