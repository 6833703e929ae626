/** `POST /v1/audio/speech` (spec section 4): audio passes as it comes; one price per call. */
import { applyPrice, costOfUnits } from "../../core/money/price.ts";
import { formatVnd } from "../../core/money/micro_vnd.ts";
import { speechWork } from "../../core/speech/attempt.ts";
import { readSpeechRequest } from "../../core/speech/request.ts";
import { chooseModel } from "./admission.ts";
import type { Gateway } from "./gateway.ts";
import { admitRequest, type Incoming, requireJson } from "./incoming.ts";
import { beginMediaCall, failedCall, tryRoutes } from "./media_call.ts";
import { startCall } from "./media_settlement.ts";
import { relayedBody } from "./relayed_body.ts";

/**
 * Serves one speech call. Audio that breaks off upstream is free, since half a file is no speech; a client that leaves
 * pays, since the provider made it all.
 *
 * @throws {GatewayError} for everything the client should be told; nothing is charged then
 */
export async function serveSpeech(gateway: Gateway, incoming: Incoming): Promise<Response> {
  const start = startCall(gateway);
  const { body, principal } = await admitRequest(gateway, incoming);
  requireJson(incoming.request);
  const request = readSpeechRequest(body);
  const chosen = chooseModel(gateway.config.catalog, request.model, "speech", principal);
  const price = applyPrice(chosen.model.price);
  const priceMicroVnd = costOfUnits(price, 1);
  const call = await beginMediaCall(gateway, {
    incoming,
    principal,
    chosen,
    style: "speech",
    operation: "speech",
    stream: request.events,
    price,
    worstCaseMicroVnd: priceMicroVnd,
    dropped: [],
    start,
  });
  try {
    const found = await tryRoutes(call, speechWork(request));
    if (!found.ok) throw await failedCall(call, found);
    call.settlement.firstOutput();
    const { route, attempts, result: started } = found;
    const stream = relayedBody({
      ...started,
      control: call.control,
      onEnd: async (outcome) => {
        const charged = outcome === "broken"
          ? { units: 0, priceMicroVnd: 0n }
          : { units: 1, priceMicroVnd };
        await call.settlement.settle({ outcome, status: 200, ...charged, route, attempts });
      },
    });
    const cost: [string, string][] = request.events
      ? []
      : [["x-gateway-cost-vnd", formatVnd(priceMicroVnd)]];
    return new Response(stream, {
      headers: [["content-type", started.contentType], ...call.headers, ...cost],
    });
  } catch (error) {
    call.settlement.abandon();
    throw error;
  }
}
