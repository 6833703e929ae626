/** Checks a proof with nothing but the proof and the published keys: what a customer does, offline. */

/** Why a signed day is not right. */
export type WrongDay =
  /** It is of no known form. */
  | "form"
  /** It names a key that is not among the published ones. */
  | "unknown_key"
  | "signature"
  /** The signed text is of no known form. */
  | "statement";

/** Why a proof is not right: a part of it is of no known form, its day is wrong, or it proves something else. */
export type WrongProof =
  | WrongDay
  /** The signed day has no such tree. */
  | "no_tree"
  /** The path does not lead from the leaf to the signed root. */
  | "path"
  /** The leaf is not what the tree has. */
  | "leaf"
  /** It is of another day than its place in the document says. */
  | "place"
  /** The parts are of different accounts or services. */
  | "mixed"
  /** There is nothing to check. */
  | "nothing";

/** Place of a balance in the proof of a month. */
export type BalancePlace = "opening" | "closing";

/** Fact that a right proof shows. */
export type ProvenFact =
  & { readonly origin: string; readonly day: string; readonly account: unknown }
  & (
    | {
      readonly kind: "receipt";
      readonly id: unknown;
      readonly model: unknown;
      readonly costVnd: unknown;
    }
    | { readonly kind: "balance"; readonly place: BalancePlace; readonly balanceVnd: unknown }
  );

/** A refused proof. */
export interface RefusedProof {
  readonly ok: false;
  readonly why: WrongProof;
  readonly place?: BalancePlace;
}

/** Result of a check. */
export type DocumentCheck =
  | { readonly ok: true; readonly facts: readonly ProvenFact[] }
  | RefusedProof;

/** Checks the signature of a day. */
export function checkDay(
  day: unknown,
  keys: unknown,
): Promise<
  | { readonly ok: true; readonly statement: { readonly origin: string; readonly day: string } }
  | { readonly ok: false; readonly why: WrongDay }
>;

/** Returns the root in hexadecimal digits to which a path leads; `undefined` if it is none of a tree of that size. */
export function rootByPath(
  proof: { readonly leaf: string; readonly index: number; readonly path: readonly string[] },
  size: number,
): Promise<string | undefined>;

/** Checks a document of `/v1/receipts/{id}/proof` or `/v1/statements/{month}/proof`. */
export function checkDocument(document: unknown, keys: unknown): Promise<DocumentCheck>;

/** Writes a fact as one line without characters that could forge another. */
export function factLine(fact: ProvenFact): string;
