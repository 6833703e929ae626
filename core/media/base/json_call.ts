/** Runs calls that send a JSON body and get one JSON answer with a list: embeddings, ranks, moderation. */
import { withFields } from "../../calls/body/changed_body.ts";
import type { JsonBody, Span } from "../../calls/body/json_body.ts";
import { providerRequest } from "../../calls/exchange/provider_request.ts";
import { readWhole, uncountedBodyBytes } from "../../net/transport/read_whole.ts";
import type { RouteStyle } from "../../catalog/catalog.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { type ByteParts, joined, withFewPieces } from "../../lib/bytes/byte_parts.ts";
import { singleWriteBytes } from "../../net/http1/limits.ts";
import { JsonCursor, type JsonKey, jsonKey, JsonScanError } from "../../lib/json/json_cursor.ts";
import { readProviderError } from "../../wire/errors/provider_error.ts";
import { type MediaExchange, type MediaWork, parseJson } from "./exchange.ts";
import type { Json, JsonObject } from "../../lib/json/json.ts";

// Reads JSON answers that hold one list of results, without building the values of the list.

/** The schema of `usage`, whose members are the provider's. */
export const reportedUsageSchema: JsonObject = {
  type: "object",
  description: "What the provider reports.",
};

const errorKey = jsonKey("error");
const usageKey = jsonKey("usage");
const metaKey = jsonKey("meta");
const modelKey = jsonKey("model");

/** The parts of an answer that decide whether it is delivered, and the charge. */
export interface ListAnswer {
  /** Objects in the list; `undefined` if there is no list, or something else than objects in it. */
  readonly items: number | undefined;
  readonly usage: Json | undefined;
  readonly meta: Json | undefined;
  /** Whether the body of a 200 is in fact an error object. */
  readonly hasError: boolean;
  /** The place of the model's name, quotes included. */
  readonly model: Span | undefined;
}

/**
 * Reads an answer; `undefined` if the bytes are no JSON object.
 *
 * @param list the names that the list may have
 * @example
 * ```ts
 * import { jsonKey } from "../../lib/json/json_cursor.ts";
 * import { readListAnswer } from "./json_call.ts";
 * const bytes = new TextEncoder().encode('{"data":[{"embedding":[1]},{"embedding":[2]}],"model":"m"}');
 * if (readListAnswer(bytes, [jsonKey("data")])?.items !== 2) throw new Error("wrong count");
 * ```
 */
export function readListAnswer(
  bytes: Uint8Array,
  list: readonly JsonKey[],
): ListAnswer | undefined {
  const cursor = new JsonCursor();
  try {
    cursor.reset(bytes, 0, bytes.length);
    if (!cursor.enterObject()) return undefined;
    let items: number | undefined;
    let usage: Json | undefined;
    let meta: Json | undefined;
    let model: Span | undefined;
    let hasError = false;
    while (cursor.nextMember()) {
      if (list.some((key) => cursor.keyIs(key))) items = countObjects(cursor);
      else if (cursor.keyIs(usageKey)) usage = cursor.takeValue();
      else if (cursor.keyIs(metaKey)) meta = cursor.takeValue();
      else {
        const isModel = cursor.keyIs(modelKey) && cursor.isString;
        hasError ||= cursor.keyIs(errorKey) && !cursor.isNull;
        const start = cursor.at;
        cursor.skip();
        if (isModel) model = { start, end: cursor.at };
      }
    }
    return { items, usage, meta, hasError, model };
  } catch (error) {
    if (error instanceof JsonScanError) return undefined;
    throw error;
  }
}

function countObjects(cursor: JsonCursor): number | undefined {
  if (!cursor.enterArray()) {
    cursor.skip();
    return undefined;
  }
  let items = 0;
  let isStrange = false;
  while (cursor.nextElement()) {
    isStrange ||= cursor.first !== 0x7b;
    cursor.skip();
    items++;
  }
  return isStrange ? undefined : items;
}

/** What all requests of these endpoints have. */
export interface JsonRequest {
  /** The model as the client named it; the answer names it so, too. */
  readonly model: string;
  readonly body: JsonBody;
}

/** How an endpoint is called at providers, and which answers it takes. */
export interface JsonCall {
  readonly request: JsonRequest;
  readonly style: RouteStyle;
  /** Names that the list of results may have. */
  readonly list: readonly JsonKey[];
  readonly maxAnswerBytes: number;
  /** Whether the list can be the answer to this request; if not, the next route is tried. */
  readonly accepts: (items: number) => boolean;
}

/** A whole answer, as it goes to the client. */
export interface JsonAnswer extends ListAnswer {
  readonly bytes: ByteParts;
}

/** Describes such a call for its routes. */
export function jsonWork(call: JsonCall): MediaWork<JsonAnswer> {
  const { request, style } = call;
  return {
    prepare(route) {
      const isNamed = request.body.value["model"] === route.upstreamModel;
      const changes = isNamed ? {} : { model: route.upstreamModel };
      const body = withFields(request.body, changes);
      return Promise.resolve(({ provider, secret }) =>
        providerRequest({
          provider,
          style,
          model: route.upstreamModel,
          secret,
          body,
          stream: false,
          clientHeader: () => undefined,
        })
      );
    },
    receive: (asked) => receive(call, asked),
  };
}

async function receive(call: JsonCall, asked: MediaExchange): Promise<JsonAnswer> {
  const response = await asked.answered();
  const bytes = await readWhole(response, call.maxAnswerBytes, asked.counter);
  const reading = readListAnswer(bytes, call.list);
  if (reading?.hasError === true) throw readProviderError(parseJson(bytes));
  if (reading?.items === undefined || !call.accepts(reading.items)) {
    throw new GatewayError(
      "upstream_unreachable",
      "The provider of this model sent no answer to this request",
    );
  }
  const { model } = call.request;
  return { ...reading, bytes: withModel(bytes, reading.model, model) };
}

/** Replaces the provider's name of the model by the client's. A large answer is not copied for that. */
function withModel(bytes: Uint8Array, place: Span | undefined, model: string): ByteParts {
  if (place === undefined) return bytes;
  const name = new TextEncoder().encode(JSON.stringify(model));
  const told = bytes.subarray(place.start, place.end);
  if (told.length === name.length && told.every((byte, i) => byte === name[i])) return bytes;
  const pieces = [bytes.subarray(0, place.start), name, bytes.subarray(place.end)];
  return bytes.length > uncountedBodyBytes
    ? withFewPieces(pieces, singleWriteBytes)
    : joined(pieces);
}
