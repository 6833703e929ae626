/**
 * Kept parts that later calls of the Responses style may refer to: items by their id, turns by `previous_response_id`.
 * Both are in memory only, of this thread or of another one of the process. GET and DELETE /v1/responses/{id} read and
 * remove a turn, free of charge; the id of another account is a 404.
 */
import {
  continuedBody,
  continuedBytes,
  inputItems,
  type KeptResponse,
  previousId,
  previousNotFound,
  type TurnInput,
} from "../../../core/calls/request/kept_responses.ts";
import { withRecentItems } from "../../../core/calls/request/recent_items.ts";
import type { JsonBody } from "../../../core/calls/body/json_body.ts";
import { uncountedBodyBytes } from "../../../core/net/transport/read_whole.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { fieldsJson } from "../../../core/lib/json/fields.ts";
import { always, constant, type DescribedField, text } from "../../../core/lib/json/schemas.ts";
import { admitRequest, type Incoming } from "../call/incoming.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { Context } from "hono";

/** Most items of one request that are fetched: far above the turns of a tool loop. */
const maxItems = 1_000;

/** A Responses request with everything that it refers to. */
export interface WholeRequest {
  readonly body: JsonBody;
  /** Turn that is kept of it. */
  readonly turn: TurnInput;
}

/**
 * Puts what a request refers to into its body, as if the client had sent it.
 *
 * @throws {GatewayError} `previous_response_not_found`, `request_too_large`, or `busy` where memory is short
 */
export async function withKeptTurns(
  gateway: Gateway,
  incoming: Incoming,
  account: AccountId,
  sent: JsonBody,
): Promise<WholeRequest> {
  const { recentItems, keptResponses } = gateway;
  await fetchPeersItems(gateway, account, sent);
  const body = withRecentItems(recentItems, account, sent);
  const id = previousId(body);
  if (id === undefined) return { body, turn: { items: inputItems(body) } };
  const own = keptResponses.find(account, id);
  const { items } = own ?? await fetchPeersTurn(gateway, account, id);
  const bytes = continuedBytes(body, items);
  if (bytes > uncountedBodyBytes) {
    incoming.bufferedBody ??= gateway.bodies.body(account);
    await incoming.bufferedBody.grow(bytes - body.bytes.length);
  }
  const whole = continuedBody(body, items);
  return own === undefined
    ? { body: whole, turn: { items: inputItems(whole) } }
    : { body: whole, turn: { former: id, items: inputItems(body) } };
}

/** Keeps the items here that the request refers to and that another serving thread has. */
async function fetchPeersItems(
  { peers, recentItems }: Gateway,
  account: AccountId,
  { outline }: JsonBody,
): Promise<void> {
  if (peers === undefined) return;
  const missing = recentItems.missing(account, outline).slice(0, maxItems);
  if (missing.length === 0) return;
  for (const item of await peers.items(account, missing)) recentItems.keep(account, item);
}

async function fetchPeersTurn(
  { peers }: Gateway,
  account: AccountId,
  id: string,
): Promise<KeptResponse> {
  const kept = await peers?.response({ account, id });
  if (kept === undefined) throw previousNotFound(id);
  return kept;
}

/** Fields of the answer to a removal. */
export const removedFields: readonly DescribedField<string>[] = [
  always("id", text, (id) => id),
  constant("object", "response"),
  constant("deleted", true),
];

function notFound(id: string): GatewayError {
  return new GatewayError(
    "not_found",
    `Response with id '${
      id.slice(0, maxRepeatedIdChars)
    }' not found. This gateway keeps a response in memory for up ` +
      "to an hour, for the account that made it, unless store was false",
  );
}

/** Characters of an unknown id that an error repeats. */
const maxRepeatedIdChars = 80;

/** The id at the end of the path. */
function idIn(context: Context): string {
  return context.req.path.slice(context.req.path.lastIndexOf("/") + 1);
}

/** Serves GET /v1/responses/{id}. */
export async function serveKeptResponse(
  gateway: Gateway,
  incoming: Incoming,
  context: Context,
): Promise<Response> {
  const { principal: { accountId: account } } = await admitRequest(gateway, incoming);
  const id = idIn(context);
  if (context.req.query("stream") === "true") {
    throw new GatewayError("invalid_request", "stream: a kept response is given as a whole", {
      param: "stream",
    });
  }
  const kept = gateway.keptResponses.find(account, id) ??
    await gateway.peers?.response({ account, id });
  if (kept === undefined) throw notFound(id);
  return new Response(kept.response.slice(), { headers: { "content-type": "application/json" } });
}

/** Serves DELETE /v1/responses/{id}. */
export async function serveKeptResponseRemoval(
  gateway: Gateway,
  incoming: Incoming,
  context: Context,
): Promise<Response> {
  const { principal: { accountId: account } } = await admitRequest(gateway, incoming);
  const id = idIn(context);
  const wasHere = gateway.keptResponses.remove(account, id);
  const wasThere = await gateway.peers?.removeResponse({ account, id });
  if (!wasHere && wasThere !== true) throw notFound(id);
  return Response.json(fieldsJson(removedFields, id));
}
