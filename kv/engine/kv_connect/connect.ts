/** Opens connections to the store without the delays of Nagle's algorithm. */
import type { Connect } from "../../../core/net/transport/connection.ts";

/**
 * Connects by TCP or TLS with TCP_NODELAY. With Nagle's algorithm, which `fetch` of the runtime leaves on, a commit of
 * more than one segment waits 40 ms for the delayed acknowledgement of the other side.
 */
export const connectAtOnce: Connect = async ({ hostname, port, tls }, signal) => {
  const tcp = await Deno.connect({ hostname, port, signal });
  tcp.setNoDelay(true);
  if (!tls) return tcp;
  const secured = await Deno.startTls(tcp, { hostname, alpnProtocols: ["http/1.1"] });
  try {
    await secured.handshake();
    return secured;
  } catch (error) {
    secured.close();
    throw error;
  }
};
