/**
 * `POST /v1/moderations`. One price per call, which may be 0.
 *
 * - Folder `routes/api/media/moderations/`: calls that classify texts and pictures.
 * - In: an admitted request for a model of that kind.
 * - Out: the provider's results as they came, settled, with its receipt.
 * - Never: logs or keeps what was classified.
 */
import { costOfUnits } from "../../../../core/billing/price.ts";
import type { Reply } from "../../../../core/net/http1/server/reply.ts";
import type { Catalog } from "../../../../core/catalog/catalog.ts";
import {
  moderationWork,
  readModerationRequest,
} from "../../../../core/media/moderation/request.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { Incoming } from "../../call/incoming.ts";
import { serveJsonEndpoint } from "../base/json_endpoint.ts";

/** The family of the shipped sandbox models, which give way to every model that an operator adds. */
const exampleFamily = "example";

/** Returns the model of a request that names none. */
function firstModel({ models }: Catalog): string | undefined {
  const all = models.filter(({ kind }) => kind === "moderation");
  return (all.find(({ family }) => family !== exampleFamily) ?? all[0])?.id;
}

/**
 * Serves one call. A request without a model goes to the first one of the catalogue.
 *
 * @throws {GatewayError} the client's error; nothing is charged then
 */
export function serveModerations(gateway: Gateway, incoming: Incoming): Promise<Reply | Response> {
  const first = firstModel(gateway.catalog.current);
  return serveJsonEndpoint(gateway, incoming, {
    kind: "moderation",
    style: "moderations",
    operation: "moderation",
    read: (body) => readModerationRequest(body, first),
    work: moderationWork,
    maxMicroVnd: (price) => costOfUnits(price, 1),
    charge: (price) => ({ units: 1, priceMicroVnd: costOfUnits(price, 1) }),
  });
}
