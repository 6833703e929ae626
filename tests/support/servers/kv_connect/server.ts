/**
 * A store that several processes share: a KV Connect server in memory, whose answers a test can withhold or lose, or a
 * real one.
 */
import { startDenokv } from "../denokv_server.ts";
import {
  type AtomicWrite,
  ProtocolError,
  readAtomicWrite,
  type ReadRange,
  readSnapshotRead,
  type Row,
  writeAtomicOutput,
  writeSnapshot,
} from "./messages.ts";

/** The bounds that a denokv server sets (0.14, `proto/limits.rs`). */
const most = {
  readRanges: 10,
  readRows: 1_000,
  checks: 10,
  mutations: 1_000,
  keyBytes: 2_048,
  valueBytes: 65_536,
  writeBytes: 819_200,
};

function within(is: number, bound: number, what: string): void {
  if (is > bound) throw new ProtocolError(`${is} ${what}, and ${bound} at most`);
}

/** Text that sorts as the bytes do. */
function textOf(key: Uint8Array): string {
  let text = "";
  for (const byte of key) text += String.fromCharCode(byte);
  return text;
}

function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && one.every((byte, i) => byte === other[i]);
}

/** The rows of a shared store, in memory. Nothing expires: a store may keep expired rows for a while, and no code may rely on their absence. */
class SharedRows {
  /** Sorted. */
  readonly #keys: string[] = [];
  readonly #rows = new Map<string, Row>();
  #commits = 0;

  /** Where a key is, or would be. */
  #placeOf(text: string): number {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#keys[middle]! < text) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** @throws {ProtocolError} beyond the server's bounds */
  read(ranges: readonly ReadRange[]): Row[][] {
    within(ranges.length, most.readRanges, "ranges");
    return ranges.map(({ start, end, limit, reverse }) => {
      within(limit, most.readRows, "rows");
      const [from, to] = [this.#placeOf(textOf(start)), this.#placeOf(textOf(end))];
      const keys = reverse
        ? this.#keys.slice(Math.max(from, to - limit), to).reverse()
        : this.#keys.slice(from, Math.min(to, from + limit));
      return keys.map((key) => this.#rows.get(key)!);
    });
  }

  /**
   * @returns the versionstamp of the commit, or `undefined` if a check failed
   * @throws {ProtocolError} beyond the server's bounds
   */
  write({ checks, mutations }: AtomicWrite): Uint8Array | undefined {
    within(checks.length, most.checks, "checks");
    within(mutations.length, most.mutations, "mutations");
    let writeBytes = 0;
    for (const { key, value } of mutations) {
      within(key.length, most.keyBytes, "bytes in a key");
      within(value?.bytes.length ?? 0, most.valueBytes, "bytes in a value");
      writeBytes += key.length + (value?.bytes.length ?? 0);
    }
    within(writeBytes, most.writeBytes, "bytes in a write");
    const isAsChecked = checks.every(({ key, versionstamp }) =>
      isSame(this.#rows.get(textOf(key))?.versionstamp ?? new Uint8Array(), versionstamp)
    );
    if (!isAsChecked) return undefined;
    const versionstamp = new Uint8Array(10);
    new DataView(versionstamp.buffer).setBigUint64(0, BigInt(++this.#commits));
    for (const { key, value } of mutations) {
      const text = textOf(key);
      const place = this.#placeOf(text);
      const isThere = this.#keys[place] === text;
      if (value === undefined) {
        if (isThere) this.#keys.splice(place, 1);
        this.#rows.delete(text);
        continue;
      }
      if (!isThere) this.#keys.splice(place, 0, text);
      const { bytes, encoding } = value;
      this.#rows.set(text, { key, value: bytes, encoding, versionstamp });
    }
    return versionstamp;
  }
}

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
