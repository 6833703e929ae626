/**
 * `POST /v1/embeddings`, and `embedContent` and `batchEmbedContents` of the Gemini style. Charged by the tokens of the
 * input.
 *
 * - Folder `routes/api/media/embeddings/`: embedding calls.
 * - In: an admitted request for an embedding model.
 * - Out: the provider's vectors as they came, settled, with its receipt.
 * - Never: charges for more tokens than the input can have.
 */
import type { Reply } from "../../../../core/net/http1/server/reply.ts";
import type { AppliedPrice } from "../../../../core/billing/usage/receipt.ts";
import type { JsonAnswer } from "../../../../core/media/base/json_call.ts";
import {
  type GeminiEmbeddingOperation,
  geminiEmbeddingWork,
  readGeminiEmbeddings,
} from "../../../../core/media/embeddings/gemini_form.ts";
import {
  type EmbeddingRequest,
  embeddingWork,
  readEmbeddingRequest,
  reportedInputTokens,
} from "../../../../core/media/embeddings/request.ts";
import { chargeForInput, maxInputCost } from "../../../../core/media/base/input_charge.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { Incoming } from "../../call/incoming.ts";
import { serveJsonEndpoint } from "../base/json_endpoint.ts";

/** Parts that all forms of the call share. */
const embeddings = {
  kind: "embedding",
  style: "embeddings",
  operation: "embedding",
  maxMicroVnd: (price: AppliedPrice, { input }: EmbeddingRequest) => maxInputCost(price, input),
  charge: (price: AppliedPrice, { input }: EmbeddingRequest, answer: JsonAnswer) =>
    chargeForInput(price, input, reportedInputTokens(answer)),
} as const;

/**
 * Serves one embedding call.
 *
 * @throws {GatewayError} the client's error; nothing is charged then
 */
export function serveEmbeddings(gateway: Gateway, incoming: Incoming): Promise<Reply | Response> {
  return serveJsonEndpoint(gateway, incoming, {
    ...embeddings,
    read: readEmbeddingRequest,
    work: embeddingWork,
  });
}

/**
 * Serves one embedding call of a Gemini client.
 *
 * @param model the name in the path
 * @throws {GatewayError} the client's error; nothing is charged then
 */
export function serveGeminiEmbeddings(
  gateway: Gateway,
  incoming: Incoming,
  model: string,
  operation: GeminiEmbeddingOperation,
): Promise<Reply | Response> {
  return serveJsonEndpoint(gateway, incoming, {
    ...embeddings,
    read: (body) => readGeminiEmbeddings(body, operation, model),
    work: (request) => geminiEmbeddingWork(request, operation),
    dropped: ({ dropped }) => dropped,
  });
}
