/**
 * The Converse style of AWS Bedrock, as providers speak it: one form of requests for the models of many vendors.
 *
 * A Converse request has the model and the choice of streaming in its path; everywhere in this project they are the
 * members `model` and `stream` of the body. Events of a stream arrive as server-sent events, which
 * `core/clouds/cloud_transport.ts` makes of the vendor's frames.
 *
 * - Folder `core/wire/converse/`: the provider's side of Converse: requests, answers and streams.
 * - In: conversations for it, or answers and streams in this style.
 * - Out: requests in this style, or answers and events of the typed form.
 * - Never: imports the folder of another style, or reads requests: no client sends them.
 */
import type { ProviderDialect } from "../stream/dialect.ts";
import { decodeConverseAnswer } from "./decode_answer.ts";
import { encodeConverseRequest } from "./encode_request.ts";
import { ConverseStreamDecoder } from "./stream_decoder.ts";

/** The provider's side of Converse. */
export const converseDialect: ProviderDialect = {
  style: "converse",
  encodeRequest: encodeConverseRequest,
  decodeAnswer: decodeConverseAnswer,
  createStreamDecoder: (memory) => new ConverseStreamDecoder(memory),
};
