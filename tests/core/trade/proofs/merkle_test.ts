/** Trees of receipts: every leaf of every size has a path to the root, and nothing else has. */
import { rootByPath } from "../../../../core/trade/proofs/check_document.js";
import { createHash } from "node:crypto";
import fc from "fast-check";
import {
  ChunkedTree,
  leafHash,
  leavesPerChunk,
  pathOf,
  rootOf,
} from "../../../../core/trade/proofs/merkle.ts";
import { encodeHex } from "../../../../core/lib/runtime/built_ins.ts";
import { assert, assertEquals } from "../../../support/assert.ts";

const hash = (bytes: Uint8Array) => new Uint8Array(createHash("sha256").update(bytes).digest());
const leaves = (count: number) => Array.from({ length: count }, (_, at) => `leaf ${at}`);
const hashed = (some: readonly string[]) => some.map((leaf) => leafHash(hash, leaf));

Deno.test("the roots are those of RFC 9162: known trees of none, one and eight leaves", () => {
  // The test vectors of certificate transparency (https://github.com/google/certificate-transparency, merkle_tree_test).
  const hex = [
    "",
    "00",
    "10",
    "2021",
    "3031",
    "40414243",
    "5051525354555657",
    "606162636465666768696a6b6c6d6e6f",
  ];
  const texts = hex.map((digits) =>
    String.fromCharCode(...(digits.match(/../g) ?? []).map((pair) => Number.parseInt(pair, 16)))
  );
  const rootOfFirst = (count: number) => encodeHex(rootOf(hash, hashed(texts.slice(0, count))));
  assertEquals(rootOfFirst(0), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  assertEquals(rootOfFirst(1), "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
  assertEquals(rootOfFirst(8), "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328");
});

Deno.test("each leaf of each small tree has a path that leads to its root, and to no other leaf's", async () => {
  for (let size = 1; size <= 33; size++) {
    const nodes = hashed(leaves(size));
    const root = encodeHex(rootOf(hash, nodes));
    for (let index = 0; index < size; index++) {
      const path = pathOf(hash, nodes, index);
      const lead = async (leaf: string, at: number, nodes: readonly Uint8Array[], of = size) => {
        return await rootByPath({ leaf, index: at, path: nodes.map(encodeHex) }, of);
      };
      assertEquals(await lead(`leaf ${index}`, index, path), root);
      assert(await lead("leaf x", index, path) !== root);
      if (size > 1) assert(await lead(`leaf ${index}`, (index + 1) % size, path) !== root);
      assertEquals(
        await lead(
          `leaf ${index}`,
          index,
          [...path, root].map(() => path[0] ?? hash(new Uint8Array())),
        ) === root,
        false,
      );
      assertEquals(await lead(`leaf ${index}`, size, path), undefined);
    }
  }
});

Deno.test("a tree in chunks has the root and the paths of the whole tree", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 * leavesPerChunk + 7 }),
      fc.nat(),
      async (size, some) => {
        const all = leaves(size);
        const tree = new ChunkedTree(hash);
        const firsts = all.filter((leaf) => tree.add(leaf));
        const { chunks, root } = tree.end();
        assertEquals(firsts.length, chunks.length);
        assertEquals(encodeHex(root), encodeHex(rootOf(hash, hashed(all))));
        const index = some % size;
        const at = Math.floor(index / leavesPerChunk);
        const own = hashed(all.slice(at * leavesPerChunk, (at + 1) * leavesPerChunk));
        const path = [...pathOf(hash, own, index % leavesPerChunk), ...pathOf(hash, chunks, at)];
        const proof = { leaf: `leaf ${index}`, index, path: path.map(encodeHex) };
        assertEquals(await rootByPath(proof, size), encodeHex(root));
      },
    ),
    { numRuns: 20 },
  );
});
