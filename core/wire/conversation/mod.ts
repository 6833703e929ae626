/**
 * The typed form between wire styles: the meaning of a chat call and of its answer, independent of any style.
 *
 * A decoder turns a request of one style into a {@linkcode Conversation}, and an encoder turns that into another style.
 * Each style depends only on itself and on this form. Nothing here is stored: it lives as long as one call.
 *
 * Every part keeps its `path` in the client's request (`messages.3.content.0`), so that an encoder that cannot carry
 * it can name it as the client wrote it.
 *
 * - Folder `core/wire/conversation/`: types of the form in the middle; it has no code of its own.
 * - In: what the decoder of a style read.
 * - Out: what the encoder of another style writes.
 * - Never: holds the wire form of one style as a whole, or is stored or logged.
 */
export type * from "./answer.ts";
export type * from "./blocks.ts";
export type * from "./request.ts";
