/**
 * The typed middle form between wire styles: what a chat call and its answer mean, whatever the wire says.
 *
 * A request of one style is decoded into a {@linkcode Conversation} and encoded from it into another. Each style
 * knows only itself and this form. Nothing here is ever stored: it lives as long as one call.
 *
 * Every part remembers its `path` in the client's own request (`messages.3.content.0`), so that whoever cannot
 * carry it names it in the client's words.
 *
 * - Folder `core/wire/conversation/`: types of the form in the middle; it has no code of its own.
 * - In: what the decoder of a style read.
 * - Out: what the encoder of another style writes.
 * - Never: holds the wire form of one style as a whole, or is stored or logged.
 */
export type * from "./answer.ts";
export type * from "./blocks.ts";
export type * from "./hosted.ts";
export type * from "./request.ts";
export type * from "./stream_event.ts";
export type * from "./tools.ts";
