/**
 * The ways in which a provider's key is sent: `auth` in `gateway.json`.
 *
 * The schema, its description and the requests to providers follow from the table of headers here, and from
 * `cloud_schema.ts` for credentials from which a token or a signature is made.
 */
import type { CloudAuth } from "./cloud_schema.ts";

interface AuthKindRow {
  /** The value of `auth`. */
  readonly name: string;
  /** The header that carries the key, lower-case. */
  readonly header: string;
  /** The authentication scheme before the key (RFC 9110, section 11.4); absent: the key alone. */
  readonly scheme?: string;
}

/** All kinds of authentication by a key in a header, one row each. */
export const authKinds = [
  { name: "bearer", header: "authorization", scheme: "Bearer" },
  { name: "x-api-key", header: "x-api-key" },
  { name: "api-key", header: "api-key" },
  { name: "x-goog-api-key", header: "x-goog-api-key" },
] as const satisfies readonly AuthKindRow[];

/** The name of a kind of authentication by a key in a header. */
export type AuthKind = typeof authKinds[number]["name"];

/** `auth` of a provider: a key in a header, or a credential of a cloud. */
export type ProviderAuth = AuthKind | CloudAuth;

const rows: ReadonlyMap<string, AuthKindRow> = new Map(authKinds.map((row) => [row.name, row]));

function rowOf(kind: AuthKind): AuthKindRow {
  return rows.get(kind)!;
}

/** Returns the name, lower-case, of the header that carries the key of a provider. */
export function credentialHeaderName(auth: ProviderAuth): string {
  return typeof auth === "string" ? rowOf(auth).header : "authorization";
}

/**
 * Builds the header, name and value, that carries a provider's key.
 *
 * @example
 * ```ts
 * import { credentialHeader } from "./auth_kinds.ts";
 * if (credentialHeader("bearer", "k-1").join() !== "authorization,Bearer k-1") throw new Error();
 * if (credentialHeader("x-api-key", "k-1").join() !== "x-api-key,k-1") throw new Error();
 * ```
 */
export function credentialHeader(kind: AuthKind, secret: string): [string, string] {
  const { header, scheme } = rowOf(kind);
  return [header, scheme === undefined ? secret : `${scheme} ${secret}`];
}

/** Describes `auth` for the schema: every kind with its header. */
export function describeAuthKinds(): string {
  const names = [...rows.values()].map(({ header, scheme }) =>
    scheme === undefined
      ? `\`${header}\``
      : `\`${header[0]?.toUpperCase()}${header.slice(1)}: ${scheme}\``
  );
  return `How the key travels: ${names.join(", ")}, or the credential of a cloud.`;
}
