/** Buffers for what is written to clients, shared by all connections: one is in use only while a write is under way. */
import { WriteBuffers } from "../../../core/net/http1/write_buffers.ts";

/** The buffers of all connections. */
export const writeBuffers = new WriteBuffers();

const encoder = new TextEncoder();

/** Writes a text of one-byte characters at the start of a buffer that is long enough. */
export function writeLatin1(text: string, buffer: Uint8Array): void {
  const { read, written } = encoder.encodeInto(text, buffer);
  // Characters above 0x7f became two bytes.
  if (read === text.length && written === text.length) return;
  for (let index = 0; index < text.length; index++) buffer[index] = text.charCodeAt(index);
}
