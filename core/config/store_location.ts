/** Reads `GATEWAY_KV`. */
import { parseUrl } from "../lib/runtime/mod.ts";
import { holdsControls } from "../lib/environment/address.ts";

/** Where the gateway keeps its records. */
export type StoreLocation =
  | { readonly kind: "memory" }
  | { readonly kind: "file"; readonly path: string }
  /** The store that Deno Deploy opens without a path, shared by all instances of the app. */
  | { readonly kind: "deploy" }
  /** A KV Connect server: several instances may share it. */
  | { readonly kind: "remote"; readonly url: string }
  /**
   * A PostgreSQL server, possibly several hosts of which one accepts writes. The address may
   * contain a password.
   */
  | { readonly kind: "postgres"; readonly url: string };

/** A location, or a `problem` that repeats nothing of the text. */
export type StoreLocationResult =
  | { readonly ok: true; readonly store: StoreLocation }
  | { readonly ok: false; readonly problem: string };

const refused = (problem: string): StoreLocationResult => ({ ok: false, problem });

/** Several hosts, `one:5432,two:5432`, do not form a URL: each is checked on its own. */
function postgresLocation(text: string): StoreLocationResult {
  const [, scheme = "", user = "", hosts = "", rest = ""] =
    /^(postgres(?:ql)?:\/\/)((?:[^@/?#]*@)?)([^/?#]+)(.*)$/.exec(text) ?? [];
  const isValid = hosts.split(",").every((host) => {
    const url = parseUrl(`${scheme}${user}${host}${rest}`);
    return url !== null && url.hostname !== "";
  });
  if (!isValid) return refused("must be a valid address: postgres://user:password@host:5432/name");
  if (!/^\/[^?#]+/.test(rest)) return refused("must name the database: postgres://host/name");
  return { ok: true, store: { kind: "postgres", url: text } };
}

/**
 * Parses the location of the store.
 *
 * @example
 * ```ts
 * import { readStoreLocation } from "./store_location.ts";
 * const read = readStoreLocation("https://kv.example.com");
 * if (!read.ok || read.store.kind !== "remote") throw new Error();
 * if (readStoreLocation("htps://kv.example.com").ok) throw new Error("a slip became a file");
 * ```
 */
export function readStoreLocation(text: string): StoreLocationResult {
  if (text === ":memory:") return { ok: true, store: { kind: "memory" } };
  if (text === "deploy") return { ok: true, store: { kind: "deploy" } };
  if (holdsControls(text)) return refused("must not contain line breaks or control characters");
  if (!text.includes("://")) return { ok: true, store: { kind: "file", path: text } };
  if (/^postgres(ql)?:\/\//.test(text)) return postgresLocation(text);
  const url = parseUrl(text);
  if (url === null || !/^https?:\/\//.test(text)) {
    return refused(
      "must be a file, :memory:, deploy, or a valid address with https://, http:// or postgres://",
    );
  }
  if (url.username !== "" || url.password !== "") {
    return refused(
      "must not contain user or password: the token of the store is DENO_KV_ACCESS_TOKEN",
    );
  }
  return { ok: true, store: { kind: "remote", url: text } };
}
