/**
 * Ports for processes that need their port before they listen, or listen on the same one again.
 *
 * They lie below those that the kernel gives to outgoing connections and to port 0 (from 32,768 on Linux, from 49,152
 * elsewhere): a port from there can be a client's own by the time the process starts.
 */

const firstPort = 10_240;
const portsPerProcess = 90;
const shares = Math.floor((32_768 - firstPort) / portsPerProcess);

// Test processes that run side by side have neighbouring numbers, so that each takes from a share of its own.
const ownShare = firstPort + (Deno.pid % shares) * portsPerProcess;
let taken = 0;

/** A port that nobody listens on and that no other caller, in this process or beside it, has been given. */
export function freePort(): number {
  for (let tries = 0; tries < portsPerProcess; tries++) {
    const port = ownShare + taken++ % portsPerProcess;
    try {
      Deno.listen({ hostname: "127.0.0.1", port }).close();
      return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) throw error;
    }
  }
  throw new Error(`No port is free from ${ownShare} to ${ownShare + portsPerProcess - 1}`);
}
