/**
 * The Gemini style (`generateContent`), as an entry for the table of wire styles.
 *
 * A Gemini request has the model and the choice of streaming in its path. Everywhere in this project they are the members
 * `model` and `stream` of the body, so that a request is one value in every style; {@linkcode withoutPathMembers} takes
 * them out again.
 *
 * - Folder `core/wire/gemini/`: the style of `generateContent`: decoders, encoders and native pipe.
 * - In: requests, answers and streams in this style, or conversations for it.
 * - Out: conversations, or requests, answers and streams in this style.
 * - Never: imports the folder of another style.
 */
import type { Dialect } from "../stream/dialect.ts";
import { decodeGeminiAnswer } from "./answer/decode_answer.ts";
import { decodeGeminiRequest } from "./request/decode_request.ts";
import { encodeGeminiAnswer } from "./answer/encode_answer.ts";
import { encodeGeminiRequest } from "./request/encode_request.ts";
import { GeminiStreamDecoder } from "./stream/stream_decoder.ts";
import { GeminiStreamEncoder } from "./stream/stream_encoder.ts";

/** The implementation of Gemini. */
export const geminiDialect: Dialect = {
  style: "gemini",
  decodeRequest: decodeGeminiRequest,
  encodeRequest: encodeGeminiRequest,
  decodeAnswer: decodeGeminiAnswer,
  encodeAnswer: encodeGeminiAnswer,
  createStreamDecoder: (memory) => new GeminiStreamDecoder(memory),
  createStreamEncoder: (context) => new GeminiStreamEncoder(context),
};
