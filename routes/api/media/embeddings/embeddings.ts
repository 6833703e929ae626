/**
 * `POST /v1/embeddings`. Charged by the tokens of the input.
 *
 * - Folder `routes/api/media/embeddings/`: embedding calls.
 * - In: an admitted request for an embedding model.
 * - Out: the provider's vectors as they came, settled, with its receipt.
 * - Never: charges for more tokens than the input can have.
 */
import type { Reply } from "../../../../core/net/http1/server/reply.ts";
import {
  embeddingWork,
  readEmbeddingRequest,
  reportedInputTokens,
} from "../../../../core/media/embeddings/request.ts";
import { chargeForInput, maxInputCost } from "../../../../core/media/base/input_charge.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { Incoming } from "../../call/incoming.ts";
import { serveJsonEndpoint } from "../base/json_endpoint.ts";

/**
 * Serves one embedding call.
 *
 * @throws {GatewayError} the client's error; nothing is charged then
 */
export function serveEmbeddings(gateway: Gateway, incoming: Incoming): Promise<Reply | Response> {
  return serveJsonEndpoint(gateway, incoming, {
    kind: "embedding",
    style: "embeddings",
    operation: "embedding",
    read: readEmbeddingRequest,
    work: embeddingWork,
    maxMicroVnd: (price, { input }) => maxInputCost(price, input),
    charge: (price, { input }, answer) => chargeForInput(price, input, reportedInputTokens(answer)),
  });
}
