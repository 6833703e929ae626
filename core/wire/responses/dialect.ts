/**
 * The Responses style, as an entry for the table of wire styles.
 *
 * - Folder `core/wire/responses/`: the style of Responses: decoders, encoders and native pipe.
 * - In: requests, answers and streams in this style, or conversations for it.
 * - Out: conversations, or requests, answers and streams in this style.
 * - Never: imports the folder of another style.
 */
import type { Dialect } from "../stream/dialect.ts";
import { decodeResponsesAnswer } from "./answer/decode_answer.ts";
import { decodeResponsesRequest } from "./request/decode_request.ts";
import { encodeResponsesAnswer } from "./answer/encode_answer.ts";
import { encodeResponsesRequest } from "./request/encode_request.ts";
import { ResponsesStreamDecoder } from "./stream/stream_decoder.ts";
import { ResponsesStreamEncoder } from "./stream/stream_encoder.ts";

/** The implementation of Responses. */
export const responsesDialect: Dialect = {
  style: "responses",
  decodeRequest: decodeResponsesRequest,
  encodeRequest: encodeResponsesRequest,
  decodeAnswer: decodeResponsesAnswer,
  encodeAnswer: encodeResponsesAnswer,
  createStreamDecoder: (memory) => new ResponsesStreamDecoder(memory),
  createStreamEncoder: (context, memory) => new ResponsesStreamEncoder(context, memory),
};
