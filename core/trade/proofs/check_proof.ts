/** The documents of proofs, as the service writes them. `check_document.js` reads them, in browsers, too. */

/** A day with its signature, as the service publishes it. */
export interface SignedDay {
  readonly statement: string;
  readonly key: string;
  readonly signature: string;
}

/** That a leaf is in a tree of a signed day. */
export interface Inclusion {
  readonly tree: "receipts" | "balances";
  readonly leaf: string;
  readonly index: number;
  readonly path: readonly string[];
  readonly day: SignedDay;
}

/** The published keys: a set of JSON Web Keys (RFC 7517, RFC 8037). */
export interface KeySet {
  readonly keys: readonly {
    readonly kty: "OKP";
    readonly crv: "Ed25519";
    readonly kid: string;
    readonly x: string;
  }[];
}
