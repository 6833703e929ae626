/**
 * A store that several processes share: a KV Connect server in memory, whose answers a test can withhold or lose, or a
 * real one.
 */
import { startDenokv } from "../denokv_server.ts";
import {
  ProtocolError,
  readAtomicWrite,
  readSnapshotRead,
  writeAtomicOutput,
  writeSnapshot,
} from "./messages.ts";
import { SharedRows } from "./rows.ts";

export type StoreCall = "snapshot_read" | "atomic_write";

/** What happens to a call: `lost` takes effect, but the client learns of a failure, and sends it again. */
export type CallFate = "answered" | "silent" | "lost";

export interface SharedStore extends AsyncDisposable {
  /** For a gateway's environment. */
  readonly env:
    & Readonly<Record<"GATEWAY_KV" | "GATEWAY_MASTER_KEYS", string>>
    & { readonly DENO_KV_ACCESS_TOKEN?: string };
}

export interface FaultyStore extends SharedStore {
  /** Asked at every call. */
  fateOf: (call: StoreCall) => CallFate;
}

const token = "shared-store-of-tests";

function envOf(port: number): SharedStore["env"] {
  return {
    GATEWAY_KV: `http://127.0.0.1:${port}`,
    DENO_KV_ACCESS_TOKEN: token,
    GATEWAY_MASTER_KEYS: new Uint8Array(32).fill(7).toBase64({
      alphabet: "base64url",
      omitPadding: true,
    }),
  };
}

/** Starts a server whose calls can fail. */
export function startFaultyStore(): FaultyStore {
  const rows = new SharedRows();
  const silence = Promise.withResolvers<Response>();
  let isClosed = false;

  async function call(name: StoreCall, request: Request): Promise<Response> {
    const message = await request.bytes();
    const fate = isClosed ? "silent" : store.fateOf(name);
    if (fate === "silent") return await silence.promise;
    const output = name === "snapshot_read"
      ? writeSnapshot(rows.read(readSnapshotRead(message)))
      : writeAtomicOutput(rows.write(readAtomicWrite(message)));
    if (fate === "lost") return new Response("lost on the way", { status: 503 });
    return new Response(new Uint8Array(output), {
      headers: { "content-type": "application/x-protobuf" },
    });
  }

  async function answer(request: Request): Promise<Response> {
    if (request.headers.get("authorization") !== `Bearer ${token}`) {
      return new Response("wrong token", { status: 401 });
    }
    const { pathname } = new URL(request.url);
    try {
      if (pathname === "/v2/snapshot_read") return await call("snapshot_read", request);
      if (pathname === "/v2/atomic_write") return await call("atomic_write", request);
    } catch (error) {
      if (error instanceof ProtocolError) return new Response(error.message, { status: 400 });
      throw error;
    }
    return Response.json({
      version: 3,
      databaseId: "00000000-0000-0000-0000-000000000000",
      endpoints: [{ url: "/v2", consistency: "strong" }],
      token,
      expiresAt: new Date(Date.now() + 86_400_000).toISOString(),
    });
  }

  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, answer);
  const store: FaultyStore = {
    env: envOf(server.addr.port),
    fateOf: () => "answered",
    async [Symbol.asyncDispose]() {
      isClosed = true;
      silence.resolve(new Response(null, { status: 503 }));
      await server.shutdown();
    },
  };
  return store;
}

/** Starts a real server as the store of several processes. */
export async function startDenokvStore(program: string): Promise<SharedStore> {
  const server = await startDenokv(program);
  return {
    env: { ...envOf(server.port), DENO_KV_ACCESS_TOKEN: server.accessToken },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
