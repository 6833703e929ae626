/**
 * Kept parts that later calls of the Responses style may refer to: items by their id, turns by `previous_response_id`.
 * Both are in memory only, of this thread or of another one of the process, turns also of another instance. GET and
 * DELETE /v1/responses/{id} read and remove a turn, GET /v1/responses/{id}/input_items lists the items that led to it,
 * all free of charge; the id of another account is a 404.
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
import { decodeUtf8, joined } from "../../../core/lib/bytes/byte_parts.ts";
import type { AccountId } from "../../../core/lib/ids/ids.ts";
import { parseExactly } from "../../../core/lib/json/exact_json.ts";
import { fieldsJson } from "../../../core/lib/json/fields.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { JsonCursor, jsonKey } from "../../../core/lib/json/json_cursor.ts";
import { isText } from "../../../core/lib/json/outline.ts";
import {
  always,
  constant,
  type DescribedField,
  type ListPage,
  pageFields,
  text,
} from "../../../core/lib/json/schemas.ts";
import { stringifyExactly } from "../../../core/lib/runtime/built_ins.ts";
import { type RowBounds, rowLimit, wrongParameter } from "../../http/query.ts";
import { admitRequest, type Incoming } from "../call/incoming.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { NamedResponse } from "../gateway/keyed_calls.ts";
import type { Context } from "hono";

/** Most items of one request that are fetched: far above the turns of a tool loop. */
const maxItems = 1_000;

/** A Responses request with everything that it refers to. */
export interface WholeRequest {
  readonly body: JsonBody;
  /** Turn that is kept of it. */
  readonly turn: TurnInput;
  /** The turn that it continues; absent: none. */
  readonly continues?: string;
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
  const kept = own ?? await keptElsewhere(gateway, incoming, { account, id });
  if (kept === undefined) throw previousNotFound(id);
  const { items } = kept;
  const bytes = continuedBytes(body, items);
  if (bytes > uncountedBodyBytes) {
    incoming.bufferedBody ??= gateway.bodies.body(account);
    await incoming.bufferedBody.grow(bytes - body.bytes.length);
  }
  const whole = continuedBody(body, items);
  return own === undefined
    ? { body: whole, turn: { items: inputItems(whole) }, continues: id }
    : { body: whole, turn: { former: id, items: inputItems(body) }, continues: id };
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

/** Finds a turn in another thread, or at another instance. */
async function keptElsewhere(
  { peers, instances, bodies }: Gateway,
  incoming: Incoming,
  of: NamedResponse,
): Promise<KeptResponse | undefined> {
  return await peers?.response(of) ?? await instances?.response(of, {
    grow: (bytes) => (incoming.bufferedBody ??= bodies.body(of.account)).grow(bytes),
  });
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

/** The id in the path. */
function idIn(context: Context): string {
  return context.req.path.split("/")[3] ?? "";
}

/** Finds the turn that a path names. */
async function turnIn(
  gateway: Gateway,
  incoming: Incoming,
  context: Context,
): Promise<{ readonly id: string; readonly kept: KeptResponse }> {
  const { principal: { accountId: account } } = await admitRequest(gateway, incoming);
  const id = idIn(context);
  const kept = gateway.keptResponses.find(account, id) ??
    await keptElsewhere(gateway, incoming, { account, id });
  if (kept === undefined) throw notFound(id);
  return { id, kept };
}

/** Serves GET /v1/responses/{id}. */
export async function serveKeptResponse(
  gateway: Gateway,
  incoming: Incoming,
  context: Context,
): Promise<Response> {
  const { kept } = await turnIn(gateway, incoming, context);
  if (context.req.query("stream") === "true") {
    throw new GatewayError("invalid_request", "stream: a kept response is given as a whole", {
      param: "stream",
    });
  }
  return new Response(kept.response.slice(), { headers: { "content-type": "application/json" } });
}

/** Items of one page of the input of a response, as the vendor has it. */
export const inputItemRows: RowBounds = { most: 100, otherwise: 20 };

/** The fields of such a page. */
export const inputItemFields: readonly DescribedField<ListPage>[] = pageFields("ResponseInputItem");

/** An item that led to a response. */
interface InputItem {
  readonly id: string;
  readonly bytes: Uint8Array;
}

const idKey = jsonKey("id");
const bracket = (code: number) => Uint8Array.of(code);

/** Lists the items that led to a turn, the first of the conversation first. One without an id gets one by its place. */
function inputItemsOf(id: string, { items }: KeptResponse): InputItem[] {
  const found: InputItem[] = [];
  const cursor = new JsonCursor();
  // The last piece is the answer itself.
  for (const piece of items.slice(0, -1)) {
    const bytes = joined([bracket(0x5b), piece, bracket(0x5d)]);
    cursor.reset(bytes, 0, bytes.length);
    cursor.enterArray();
    while (cursor.nextElement()) {
      const { at: start } = cursor;
      let own: Json = null;
      if (!cursor.enterObject()) cursor.skip();
      else {
        while (cursor.nextMember()) {
          if (cursor.keyIs(idKey)) own = cursor.takeValue();
          else cursor.skip();
        }
      }
      found.push({
        id: typeof own === "string" ? own : `item_${found.length}_${id}`,
        bytes: bytes.subarray(start, cursor.at),
      });
    }
  }
  return found;
}

/** Writes an item as the vendor lists it: a message that was sent in short is one with all its members. */
function listedItem({ id, bytes }: InputItem): JsonObject {
  const item = parseExactly(decodeUtf8(bytes));
  if (!isJsonObject(item)) return { id };
  const { role, content, type = "message" } = item;
  if (type !== "message") return { id, ...item };
  const kind = role === "assistant"
    ? { type: "output_text", annotations: [] }
    : { type: "input_text" };
  return {
    id,
    type,
    status: "completed",
    ...item,
    content: isText(content) ? [{ ...kind, text: content }] : content ?? [],
  };
}

/** Serves GET /v1/responses/{id}/input_items, by the vendor's parameters: `limit`, `after`, and `order`. */
export async function serveInputItems(
  gateway: Gateway,
  incoming: Incoming,
  context: Context,
): Promise<Response> {
  const { id, kept } = await turnIn(gateway, incoming, context);
  const query = new URL(incoming.request.url).searchParams;
  const limit = rowLimit(query, inputItemRows);
  const order = query.get("order") ?? "desc";
  if (order !== "asc" && order !== "desc") throw wrongParameter("order", "must be asc or desc");
  const items = inputItemsOf(id, kept);
  if (order === "desc") items.reverse();
  const after = query.get("after");
  const start = after === null ? 0 : items.findIndex((item) => item.id === after) + 1;
  if (after !== null && start === 0) throw wrongParameter("after", "there is no such item");
  const page = items.slice(start, start + limit);
  const list = fieldsJson(inputItemFields, {
    data: page.map(listedItem),
    firstId: page[0]?.id,
    lastId: page.at(-1)?.id,
    hasMore: start + limit < items.length,
  });
  return new Response(stringifyExactly(list), { headers: { "content-type": "application/json" } });
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
  const wasThere = await gateway.peers?.removeResponse({ account, id }) === true;
  const isGone = wasHere || wasThere || await gateway.instances?.removeResponse({ account, id });
  if (isGone !== true) throw notFound(id);
  return Response.json(fieldsJson(removedFields, id));
}
