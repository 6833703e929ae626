/**
 * The Messages style, as the table of wire styles sees it.
 *
 * - Folder `core/wire/messages/`: the style of Messages, both ways and native.
 * - In: requests, answers and streams in this style, or conversations for it.
 * - Out: conversations, or requests, answers and streams in this style.
 * - Never: imports the folder of another style.
 */
import type { Dialect } from "../stream/dialect.ts";
import { decodeMessagesAnswer } from "./decode_answer.ts";
import { decodeMessagesRequest } from "./decode_request.ts";
import { encodeMessagesAnswer } from "./encode_answer.ts";
import { encodeMessagesRequest } from "./encode_request.ts";
import { MessagesStreamDecoder } from "./stream_decoder.ts";
import { MessagesStreamEncoder } from "./stream_encoder.ts";

/** Messages. */
export const messagesDialect: Dialect = {
  style: "messages",
  decodeRequest: decodeMessagesRequest,
  encodeRequest: encodeMessagesRequest,
  decodeAnswer: decodeMessagesAnswer,
  encodeAnswer: encodeMessagesAnswer,
  createStreamDecoder: (memory) => new MessagesStreamDecoder(memory),
  createStreamEncoder: (context) => new MessagesStreamEncoder(context),
};
