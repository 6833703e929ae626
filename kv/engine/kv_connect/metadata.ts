/** The metadata exchange of KV Connect: which endpoint answers, and the token for it. */
import { z } from "zod";
import { KvConnectError } from "./messages.ts";

/** Milliseconds that the exchange may take. */
const exchangeMs = 5_000;

/** Versions of the protocol that this client speaks; they differ in the names of two headers. */
const supportedVersions = [1, 2, 3];

const exchanged = z.object({
  version: z.union([z.literal(1), z.literal(2), z.literal(3)]),
  databaseId: z.string(),
  endpoints: z.array(z.object({ url: z.string(), consistency: z.string() })),
  token: z.string(),
  expiresAt: z.string(),
});

/** Where calls go, and what they carry. */
export interface Endpoint {
  readonly url: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly expiresAtMs: number;
}

/**
 * Asks a KV Connect address for the endpoint that reads and writes consistently.
 *
 * @throws {KvConnectError} if it refuses the token or answers something else
 */
export async function exchangeMetadata(url: string, accessToken: string): Promise<Endpoint> {
  const response = await fetch(url, {
    method: "POST",
    headers: { authorization: `Bearer ${accessToken}`, "content-type": "application/json" },
    body: JSON.stringify({ supportedVersions }),
    signal: AbortSignal.timeout(exchangeMs),
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    const isRefused = response.status === 401 || response.status === 403;
    throw new KvConnectError(
      isRefused
        ? "The store refuses DENO_KV_ACCESS_TOKEN"
        : `The store answered with status ${response.status}`,
    );
  }
  const read = exchanged.safeParse(await response.json().catch(() => undefined));
  if (!read.success) throw new KvConnectError("The address does not answer as KV Connect does");
  const { version, databaseId, endpoints, token, expiresAt } = read.data;
  const strong = endpoints.find(({ consistency }) => consistency === "strong");
  if (strong === undefined) throw new KvConnectError("The store names no consistent endpoint");
  return {
    // Relative to the address that answered, after redirects.
    url: new URL(strong.url, response.url).href.replace(/\/$/, ""),
    headers: Object.freeze([
      ["authorization", `Bearer ${token}`],
      ["content-type", "application/x-protobuf"],
      ...(version === 1 ? [["x-transaction-domain-id", databaseId] as const] : [
        ["x-denokv-version", String(version)] as const,
        ["x-denokv-database-id", databaseId] as const,
      ]),
    ]),
    expiresAtMs: Date.parse(expiresAt) || Infinity,
  };
}
