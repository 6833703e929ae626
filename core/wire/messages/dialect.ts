/**
 * The Messages style, as an entry for the table of wire styles.
 *
 * - Folder `core/wire/messages/`: the style of Messages: decoders, encoders and native pipe.
 * - In: requests, answers and streams in this style, or conversations for it.
 * - Out: conversations, or requests, answers and streams in this style.
 * - Never: imports the folder of another style.
 */
import type { Dialect } from "../stream/dialect.ts";
import { decodeMessagesAnswer } from "./answer/decode_answer.ts";
import { decodeMessagesRequest } from "./request/decode_request.ts";
import { encodeMessagesAnswer } from "./answer/encode_answer.ts";
import { encodeMessagesRequest } from "./request/encode_request.ts";
import { MessagesStreamDecoder } from "./stream/stream_decoder.ts";
import { MessagesStreamEncoder } from "./stream/stream_encoder.ts";

/** The implementation of Messages. */
export const messagesDialect: Dialect = {
  style: "messages",
  decodeRequest: decodeMessagesRequest,
  encodeRequest: encodeMessagesRequest,
  decodeAnswer: decodeMessagesAnswer,
  encodeAnswer: encodeMessagesAnswer,
  createStreamDecoder: (memory) => new MessagesStreamDecoder(memory),
  createStreamEncoder: (context) => new MessagesStreamEncoder(context),
};
