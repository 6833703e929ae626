/** Runs calls that send a JSON body and get one JSON answer with a list: embeddings, ranks, moderation. */
import { withFields } from "../../calls/body/changed_body.ts";
import type { JsonBody, Span } from "../../calls/body/json_body.ts";
import { providerRequest } from "../../calls/exchange/provider_request.ts";
import { readWhole, uncountedBodyBytes } from "../../net/transport/read_whole.ts";
import type { RouteStyle } from "../../catalog/catalog.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { type ByteParts, joined, withFewPieces } from "../../lib/bytes/byte_parts.ts";
import { singleWriteBytes } from "../../net/http1/limits.ts";
import type { JsonKey } from "../../lib/json/json_cursor.ts";
import { readProviderError } from "../../wire/errors/provider_error.ts";
import type { MediaExchange, MediaWork } from "./exchange.ts";
import { type ListAnswer, readListAnswer } from "./list_answer.ts";
import { parseJson } from "./refusal.ts";

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
