/**
 * Merkle trees of RFC 9162, section 2: a root that stands for all leaves of a day, and short paths that show that a leaf
 * is among them.
 *
 * - Folder `core/trade/proofs/`: proofs that customers check without trusting the service.
 * - In: texts of receipts and balances, hashes of a tree, signed days.
 * - Out: roots, paths, and whether a proof is right.
 * - Never: reads a store or a key of the operator.
 */
import { invariant } from "../../lib/base/assert.ts";

/** Computes SHA-256 synchronously: a tree has millions of hashes, and core has only an asynchronous function. */
export type Hash = (bytes: Uint8Array) => Uint8Array;

/** Leaves of a chunk, a power of two, so that its root is a node of the whole tree: one chunk is read for a proof. */
export const leavesPerChunk = 1_024;

const encoder = new TextEncoder();

/** The bytes that are hashed for a leaf; the first byte keeps a leaf from being taken for a node. */
function leafBytes(text: string): Uint8Array {
  const content = encoder.encode(text);
  const bytes = new Uint8Array(content.length + 1);
  bytes.set(content, 1);
  return bytes;
}

function nodeBytes(left: Uint8Array, right: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(1 + left.length + right.length);
  bytes[0] = 1;
  bytes.set(left, 1);
  bytes.set(right, 1 + left.length);
  return bytes;
}

/** Hashes the text of a leaf. */
export function leafHash(hash: Hash, text: string): Uint8Array {
  return hash(leafBytes(text));
}

/** The largest power of two below a number above 1: where RFC 9162 divides a tree. */
function divisionOf(size: number): number {
  let left = 1;
  while (left * 2 < size) left *= 2;
  return left;
}

/** Computes the root of some nodes; that of none is the hash of nothing. */
export function rootOf(hash: Hash, nodes: readonly Uint8Array[]): Uint8Array {
  const [only] = nodes;
  if (only === undefined) return hash(new Uint8Array());
  if (nodes.length === 1) return only;
  const left = divisionOf(nodes.length);
  return hash(
    nodeBytes(rootOf(hash, nodes.slice(0, left)), rootOf(hash, nodes.slice(left))),
  );
}

/** Lists the nodes beside the way from one node up to the root. */
export function pathOf(hash: Hash, nodes: readonly Uint8Array[], index: number): Uint8Array[] {
  invariant(index >= 0 && index < nodes.length, "the node is one of the tree");
  if (nodes.length === 1) return [];
  const left = divisionOf(nodes.length);
  return index < left
    ? [...pathOf(hash, nodes.slice(0, left), index), rootOf(hash, nodes.slice(left))]
    : [...pathOf(hash, nodes.slice(left), index - left), rootOf(hash, nodes.slice(0, left))];
}

/** The tree of leaves that come one by one, of which the roots of chunks are kept. */
export class ChunkedTree {
  readonly #hash: Hash;
  readonly #roots: Uint8Array[] = [];
  #open: Uint8Array[] = [];

  constructor(hash: Hash) {
    this.#hash = hash;
  }

  /** Leaves so far. */
  get size(): number {
    return this.#roots.length * leavesPerChunk + this.#open.length;
  }

  /** Adds a leaf. Returns whether it is the first of a chunk. */
  add(text: string): boolean {
    if (this.#open.length === leavesPerChunk) this.#close();
    this.#open.push(leafHash(this.#hash, text));
    return this.#open.length === 1;
  }

  #close(): void {
    if (this.#open.length === 0) return;
    this.#roots.push(rootOf(this.#hash, this.#open));
    this.#open = [];
  }

  /** Closes the tree; returns the roots of its chunks and its own. */
  end(): {
    readonly size: number;
    readonly chunks: readonly Uint8Array[];
    readonly root: Uint8Array;
  } {
    const { size } = this;
    this.#close();
    return { size, chunks: this.#roots, root: rootOf(this.#hash, this.#roots) };
  }
}
