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
