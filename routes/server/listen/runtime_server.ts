/** The runtime's own server, for platforms that bring their own sockets, and by setting. */
import { responseOf } from "../../../core/net/http1/server/reply.ts";
import { keepServing } from "../../process/keep_serving.ts";
import type { Answer, Listening, ListeningAddress, ListenOptions } from "./listening.ts";

/**
 * Listens with `Deno.serve`.
 *
 * @throws when the address cannot be used
 */
export function listenRuntime(
  { hostname, port, isShared, failed, onTrouble }: ListenOptions,
  answer: Answer,
): Listening {
  const listenAt = (port: number) =>
    Deno.serve({
      port,
      hostname,
      // The platform's runtime takes no option that is unstable, even if it is off.
      ...(isShared ? { reusePort: true } : {}),
      onListen() {},
      // Handlers answer every error themselves; only broken bodies and bugs arrive here.
      onError: (error) => failed(500, error).toResponse(),
    }, (request, { remoteAddr }) => {
      const answered = answer(request, remoteAddr);
      return answered instanceof Promise ? answered.then(responseOf) : responseOf(answered);
    });
  const first = listenAt(port);
  const address = addressOf(first.addr, { hostname, port });
  const { shutdown } = keepServing(first, {
    // With port 0: the port that the system chose.
    listenAgain: () => listenAt(address.port),
    onTrouble,
  });
  return { address, shutdown };
}

/**
 * A platform may have the runtime listen at a socket of its own in place of the one that was asked
 * for (`DENO_SERVE_ADDRESS`), even one without a host; then the address that was asked for is shown.
 */
function addressOf(address: Deno.Addr, asked: ListeningAddress): ListeningAddress {
  return "hostname" in address ? address : asked;
}
