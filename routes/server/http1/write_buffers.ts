/** Buffers for what is written to clients, shared by all connections: one is in use only while a write is under way. */

/** Bytes of a buffer: a whole answer of usual size with its head, or any event of a stream. */
const bufferBytes = 16 * 1024;

/** Buffers that are kept for later writes; more are in use only while many clients read slowly. */
const keptBuffers = 64;

const kept: Uint8Array[] = [];

/** Returns a buffer of at least `bytes`. Give it back when the write is over. */
export function takeBuffer(bytes: number): Uint8Array {
  return bytes > bufferBytes ? new Uint8Array(bytes) : kept.pop() ?? new Uint8Array(bufferBytes);
}

/** Takes a buffer back that nobody uses any more. */
export function giveBuffer(buffer: Uint8Array): void {
  if (buffer.length === bufferBytes && kept.length < keptBuffers) kept.push(buffer);
}

const encoder = new TextEncoder();

/** Writes a text of one-byte characters at the start of a buffer that is long enough. */
export function writeLatin1(text: string, buffer: Uint8Array): void {
  const { read, written } = encoder.encodeInto(text, buffer);
  // Characters above 0x7f became two bytes.
  if (read === text.length && written === text.length) return;
  for (let index = 0; index < text.length; index++) buffer[index] = text.charCodeAt(index);
}
