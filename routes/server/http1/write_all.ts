import type { Connection } from "../../../core/net/transport/connection.ts";

/**
 * Writes all bytes to a connection.
 *
 * @param onWrite called before each write: the peer has taken all bytes of the one before
 * @throws when the connection breaks
 */
export function writeAll(
  socket: Connection,
  bytes: Uint8Array,
  onWrite: () => void = () => {},
): Promise<void> {
  onWrite();
  return socket.write(bytes).then((written) =>
    written < bytes.length ? writeAll(socket, bytes.subarray(written), onWrite) : undefined
  );
}
