/** A TCP proxy before a server: it delays both directions and cuts connections when a test wants it. */

export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
  /** Milliseconds that a round trip takes longer; half of it each way. */
  delayMs: number;
  /**
   * Asked for each piece that the server sends. With `true` the connection is cut in its place: what the server did
   * has taken effect, but its client does not learn of it.
   */
  cutsAnswer: () => boolean;
  /**
   * Asked likewise. With `true` the connection stays open but passes nothing any more in either direction, as when a
   * firewall has forgotten it.
   */
  mutesAnswer: () => boolean;
  /**
   * While it is set, nothing passes in either direction, as between two parts of a network that was cut. Connections
   * stay open; those that sent anything meanwhile pass nothing later, too.
   */
  passesNothing: boolean;
  /** Pieces that clients have sent so far. */
  readonly sent: number;
}

/** Bytes read from a connection at once. */
const pieceBytes = 64 * 1024;

/** Starts a proxy for a server on this machine. */
export function startTcpProxy(serverPort: number): TcpProxy {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const open = new Set<Deno.TcpConn>();
  const muted = new WeakSet<Deno.TcpConn>();
  let sent = 0;

  function close(...connections: readonly Deno.TcpConn[]): void {
    for (const connection of connections) {
      if (open.delete(connection)) connection.close();
    }
  }

  /** Passes pieces on in order, each after the delay. */
  async function pump(from: Deno.TcpConn, to: Deno.TcpConn, passes: () => boolean): Promise<void> {
    let last: Promise<void> = Promise.resolve();
    const pass = async (piece: Uint8Array, delay: Promise<void> | undefined) => {
      await delay;
      for (let at = 0; at < piece.length;) at += await to.write(piece.subarray(at));
    };
    try {
      while (true) {
        const buffer = new Uint8Array(pieceBytes);
        const count = await from.read(buffer);
        if (count === null || !passes()) break;
        if (proxy.passesNothing) muted.add(from);
        if (muted.has(from) || muted.has(to)) continue;
        const delay = proxy.delayMs === 0 ? undefined : wait(proxy.delayMs / 2);
        const before = last;
        last = before.then(() => pass(buffer.subarray(0, count), delay));
        last.catch(() => close(from, to));
      }
      await last;
    } catch {
      // One side has closed the connection; the other one follows.
    } finally {
      close(from, to);
    }
  }

  const proxy = {
    port: listener.addr.port,
    delayMs: 0,
    cutsAnswer: () => false,
    mutesAnswer: () => false,
    passesNothing: false,
    get sent() {
      return sent;
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      close(...open);
      await accepting;
    },
  };

  const accepting = (async () => {
    for await (const client of listener) {
      open.add(client);
      void (async () => {
        try {
          const server = await Deno.connect({ hostname: "127.0.0.1", port: serverPort });
          open.add(server);
          client.setNoDelay(true);
          server.setNoDelay(true);
          void pump(client, server, () => {
            sent++;
            return true;
          });
          void pump(server, client, () => {
            if (!muted.has(server) && proxy.mutesAnswer()) muted.add(server);
            return !proxy.cutsAnswer();
          });
        } catch {
          close(client);
        }
      })();
    }
  })();
  return proxy;
}

function wait(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
