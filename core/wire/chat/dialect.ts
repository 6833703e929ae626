/**
 * The Chat Completions style, as an entry for the table of wire styles.
 *
 * - Folder `core/wire/chat/`: the style of Chat Completions: decoders, encoders and native pipe.
 * - In: requests, answers and streams in this style, or conversations for it.
 * - Out: conversations, or requests, answers and streams in this style.
 * - Never: imports the folder of another style.
 */
import type { Dialect } from "../stream/dialect.ts";
import { decodeChatAnswer } from "./answer/decode_answer.ts";
import { decodeChatRequest } from "./request/decode_request.ts";
import { encodeChatAnswer } from "./answer/encode_answer.ts";
import { encodeChatRequest } from "./request/encode_request.ts";
import { ChatStreamDecoder } from "./stream/stream_decoder.ts";
import { ChatStreamEncoder } from "./stream/stream_encoder.ts";

/** The implementation of Chat Completions. */
export const chatDialect: Dialect = {
  style: "chat",
  decodeRequest: decodeChatRequest,
  encodeRequest: encodeChatRequest,
  decodeAnswer: decodeChatAnswer,
  encodeAnswer: encodeChatAnswer,
  createStreamDecoder: (memory) => new ChatStreamDecoder(memory),
  createStreamEncoder: (context, memory) => new ChatStreamEncoder(context, memory),
};
