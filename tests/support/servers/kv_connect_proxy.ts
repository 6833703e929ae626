/** An HTTP proxy before a KV Connect server: answers are lost, requests are doubled or take effect late. */

/**
 * What happens to a call: `lost` takes effect, but the answer does not arrive; `doubled` reaches the server twice;
 * `late` takes effect {@linkcode lateMs} after the client was told of a failure.
 */
export type KvConnectFate = "answered" | "lost" | "doubled" | "late";

export interface KvConnectProxy extends AsyncDisposable {
  readonly port: number;
  /** Asked at every call. */
  fateOf: () => KvConnectFate;
  /** Resolves when every late call has taken effect. */
  settled(): Promise<void>;
}

const lateMs = 700;

/** Starts a proxy for a server on this machine. */
export function startKvConnectProxy(serverPort: number): KvConnectProxy {
  const late = new Set<Promise<void>>();

  async function answer(request: Request): Promise<Response> {
    const body = await request.bytes();
    const { pathname } = new URL(request.url);
    const pass = async () => {
      const response = await fetch(`http://127.0.0.1:${serverPort}${pathname}`, {
        method: request.method,
        headers: request.headers,
        body,
      });
      const { status } = response;
      const type = response.headers.get("content-type") ?? "application/octet-stream";
      return new Response(await response.bytes(), { status, headers: { "content-type": type } });
    };
    const failed = () => new Response("lost on the way", { status: 503 });
    const fate = pathname.startsWith("/v2/") ? proxy.fateOf() : "answered";
    try {
      if (fate === "late") {
        const taking = new Promise<void>((resolve) => {
          setTimeout(() => void pass().catch(() => {}).then(() => resolve()), lateMs);
        });
        late.add(taking);
        void taking.then(() => late.delete(taking));
        return failed();
      }
      const first = await pass();
      if (fate === "lost") return failed();
      if (fate === "doubled") await pass();
      return first;
    } catch {
      return failed();
    }
  }

  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
  const proxy: KvConnectProxy = {
    port: server.addr.port,
    fateOf: () => "answered",
    async settled() {
      await Promise.all(late);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(late);
      await server.shutdown();
    },
  };
  return proxy;
}
