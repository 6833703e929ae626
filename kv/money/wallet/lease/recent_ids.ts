/** Remembers which calls were settled lately, so that a defect cannot settle one twice. */
import { invariant } from "../../../../core/lib/base/assert.ts";
import type { RequestId } from "../../../../core/lib/ids/ids.ts";

/**
 * Ids of settled calls in each of the two remembered generations: a program error that settles a call twice
 * does so soon.
 */
const recentIdsPerGeneration = 10_000;

/** Places of a generation: a third of them are taken at most, so that searches are short. A power of two. */
const places = 32_768;
const placeMask = places - 1;

/** 32-bit numbers of a place: two ids with the same 96 bits do not occur. */
const wordsPerPlace = 3;

/** Three hashes of an id. One object for all ids, since each is used at once. */
const hash = { one: 0, two: 0, three: 0 };

/** Hashes in the manner of FNV-1a; the first is never 0, which marks a free place. */
function hashId(id: RequestId): void {
  let one = 0x811c9dc5;
  let two = 0x9747b28c;
  let three = 0x3c6ef372;
  for (let index = 0; index < id.length; index++) {
    const code = id.charCodeAt(index);
    one = Math.imul(one ^ code, 0x01000193);
    two = Math.imul(two ^ code ^ (two >>> 15), 0x85ebca6b);
    three = Math.imul(three ^ code ^ (three >>> 13), 0xc2b2ae35);
  }
  hash.one = one | 0 || 1;
  hash.two = two | 0;
  hash.three = three | 0;
}

/** The ids of one generation as hashes, in one block of memory that no collection has to visit. */
class Generation {
  readonly #words = new Int32Array(places * wordsPerPlace);
  count = 0;

  /** Whether the id of {@linkcode hash} is among them. */
  holdsHash(): boolean {
    const words = this.#words;
    const { one, two, three } = hash;
    for (let place = one & placeMask;; place = (place + 1) & placeMask) {
      const at = place * wordsPerPlace;
      if (words[at] === 0) return false;
      if (words[at] === one && words[at + 1] === two && words[at + 2] === three) return true;
    }
  }

  addHash(): void {
    const words = this.#words;
    let place = hash.one & placeMask;
    while (words[place * wordsPerPlace] !== 0) place = (place + 1) & placeMask;
    const at = place * wordsPerPlace;
    words[at] = hash.one;
    words[at + 1] = hash.two;
    words[at + 2] = hash.three;
    this.count++;
  }

  clear(): void {
    this.#words.fill(0);
    this.count = 0;
  }
}

/**
 * Remembers recent request ids, so that a bug cannot charge a request twice. Two generations bound
 * the memory. A set of texts would be a large part of what collections visit.
 */
export class RecentIds {
  #young = new Generation();
  #old = new Generation();

  add(id: RequestId): void {
    hashId(id);
    const isKnown = this.#young.holdsHash() || this.#old.holdsHash();
    invariant(!isKnown, () => `request ${id} was settled before`);
    if (this.#young.count >= recentIdsPerGeneration) {
      const former = this.#old;
      this.#old = this.#young;
      this.#young = former;
      former.clear();
    }
    this.#young.addHash();
  }
}
