/**
 * `POST /v1/rerank`. Charged by the search, by tokens, or by the call.
 *
 * - Folder `routes/api/media/rerank/`: calls that rank documents by a query.
 * - In: an admitted request for a model of that kind.
 * - Out: the provider's ranks as they came, settled, with its receipt.
 * - Never: charges for more than the documents can be.
 */
import type { Reply } from "../../../../core/net/http1/server/reply.ts";
import {
  chargeForRerank,
  maxRerankCost,
  readRerankRequest,
  rerankWork,
} from "../../../../core/media/rerank/request.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { Incoming } from "../../call/incoming.ts";
import { serveJsonEndpoint } from "../base/json_endpoint.ts";

/**
 * Serves one call.
 *
 * @throws {GatewayError} the client's error; nothing is charged then
 */
export function serveRerank(gateway: Gateway, incoming: Incoming): Promise<Reply | Response> {
  return serveJsonEndpoint(gateway, incoming, {
    kind: "rerank",
    style: "rerank",
    operation: "rerank",
    read: readRerankRequest,
    work: rerankWork,
    texts: new Set(["documents"]),
    maxMicroVnd: maxRerankCost,
    charge: chargeForRerank,
  });
}
