import type { Connection } from "../../../core/upstream/connection.ts";

/**
 * Writes all bytes to a connection.
 *
 * @throws when the connection breaks
 */
export function writeAll(socket: Connection, bytes: Uint8Array): Promise<void> {
  return socket.write(bytes).then((written) =>
    written < bytes.length ? writeAll(socket, bytes.subarray(written)) : undefined
  );
}
