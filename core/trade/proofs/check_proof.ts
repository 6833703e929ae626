/** Checks a proof with nothing but the proof and the published keys: what a customer does, offline. */
import { z } from "zod";
import { decodeBase64Url, decodeHex, encodeHex } from "../../lib/runtime/mod.ts";
import { rootByPath } from "./merkle.ts";
import { type DayStatement, readStatement } from "./signed_day.ts";

/** Hashes of a path at most: a tree of 2^48 leaves. */
const maxPathNodes = 48;

/** Characters of a text in a proof at most; those of receipts have some hundred. */
const maxTextChars = 4_096;

/** A day with its signature, as the service publishes it. */
export const signedDaySchema = z.object({
  statement: z.string().max(maxTextChars),
  key: z.string().max(64),
  signature: z.string().max(128),
});

/** A signed day. */
export type SignedDay = z.infer<typeof signedDaySchema>;

/** That a leaf is in a tree of a signed day. */
export const inclusionSchema = z.object({
  tree: z.enum(["receipts", "balances"]),
  leaf: z.string().max(maxTextChars),
  index: z.int().nonnegative(),
  path: z.array(z.string().regex(/^[0-9a-f]{64}$/)).max(maxPathNodes),
  day: signedDaySchema,
});

/** One inclusion. */
export type Inclusion = z.infer<typeof inclusionSchema>;

/** The published keys: a set of JSON Web Keys (RFC 7517, RFC 8037). */
export const keySetSchema = z.object({
  keys: z.array(z.object({
    kty: z.literal("OKP"),
    crv: z.literal("Ed25519"),
    kid: z.string().max(64),
    x: z.string().regex(/^[A-Za-z0-9_-]{43}$/),
  })).max(1_000),
});

/** A set of keys. */
export type KeySet = z.infer<typeof keySetSchema>;

/** What a check found. */
export type ProofCheck =
  | { readonly ok: true; readonly statement: DayStatement }
  | { readonly ok: false; readonly why: WrongProof };

/** Why a proof is not right. */
export type WrongProof =
  /** It names a key that is not among the published ones. */
  | "unknown_key"
  | "signature"
  /** The signed text is of no known form. */
  | "statement"
  /** The signed day has no such tree. */
  | "no_tree"
  /** The path does not lead from the leaf to the signed root. */
  | "path";

/** Bytes of a public key. */
const publicKeyBytes = 32;

/** Checks the signature of a day. */
export async function checkDay(day: SignedDay, { keys }: KeySet): Promise<ProofCheck> {
  const wrong = (why: WrongProof): ProofCheck => ({ ok: false, why });
  const key = keys.find(({ kid }) => kid === day.key);
  if (key === undefined) return wrong("unknown_key");
  const [raw, signature] = [decodeBase64Url(key.x), decodeBase64Url(day.signature)];
  if (raw?.length !== publicKeyBytes || signature === undefined) return wrong("signature");
  const imported = await crypto.subtle.importKey("raw", raw, "Ed25519", false, ["verify"]);
  const text = new TextEncoder().encode(day.statement);
  if (!await crypto.subtle.verify("Ed25519", imported, signature, text)) return wrong("signature");
  const statement = readStatement(day.statement);
  return statement === undefined ? wrong("statement") : { ok: true, statement };
}

/** Checks that a leaf is in the tree that the proof names, of a day whose signature is right. */
export async function checkInclusion(proof: Inclusion, keys: KeySet): Promise<ProofCheck> {
  const day = await checkDay(proof.day, keys);
  if (!day.ok) return day;
  const head = day.statement[proof.tree];
  if (head === null) return { ok: false, why: "no_tree" };
  const path = proof.path.map((node) => decodeHex(node));
  const nodes = path.filter((node) => node !== undefined);
  if (nodes.length !== path.length) return { ok: false, why: "path" };
  const { leaf, index } = proof;
  const root = await rootByPath({ leaf, index, size: head.size, path: nodes });
  return root !== undefined && encodeHex(root) === head.root ? day : { ok: false, why: "path" };
}
