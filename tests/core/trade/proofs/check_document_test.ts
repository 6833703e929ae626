/** What a proof says is bound to what was signed: kind, account, month and place; and hostile files forge no line. */
import { createHash } from "node:crypto";
import { assert, assertEquals } from "../../../support/assert.ts";
import { casesOf } from "../../../support/property.ts";
import { runRandom } from "../../../support/random.ts";
import { jsonMutations, type Mutation, textMutations } from "../../../support/mutations.ts";
import type { Json, JsonObject } from "../../../../core/lib/json/json.ts";
import { encodeHex } from "../../../../core/lib/runtime/built_ins.ts";
import { leafHash, pathOf, rootOf } from "../../../../core/trade/proofs/merkle.ts";
import { writeStatement } from "../../../../core/trade/proofs/signed_day.ts";
import {
  checkDocument,
  type DocumentCheck,
  type WrongProof,
} from "../../../../core/trade/proofs/check_document.js";
import { checkProofFiles } from "../../../../routes/usage_api/check_proof_command.ts";

const hash = (bytes: Uint8Array) => new Uint8Array(createHash("sha256").update(bytes).digest());
const base64Url = (bytes: Uint8Array) =>
  bytes.toBase64({ alphabet: "base64url", omitPadding: true });

/** A service with a key of its own. */
async function service(origin: string, kid: string) {
  const pair = await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]);
  assert("privateKey" in pair);
  const x = base64Url(new Uint8Array(await crypto.subtle.exportKey("raw", pair.publicKey)));
  const keySet = { keys: [{ kty: "OKP", crv: "Ed25519", kid, x }] };
  /** Signs a day with these leaves; returns the inclusion of each. */
  const sign = async (day: string, receipts: readonly string[], balances: readonly string[]) => {
    const head = (leaves: readonly string[]) => ({
      size: leaves.length,
      root: encodeHex(rootOf(hash, leaves.map((leaf) => leafHash(hash, leaf)))),
    });
    const statement = writeStatement({
      origin,
      day,
      receipts: head(receipts),
      balances: head(balances),
      previous: null,
    });
    const text = new TextEncoder().encode(statement);
    const signature = base64Url(
      new Uint8Array(await crypto.subtle.sign("Ed25519", pair.privateKey, text)),
    );
    const inclusion = (tree: "receipts" | "balances", index: number): JsonObject => {
      const leaves = tree === "receipts" ? receipts : balances;
      const nodes = leaves.map((leaf) => leafHash(hash, leaf));
      const path = pathOf(hash, nodes, index).map(encodeHex);
      return {
        tree,
        leaf: leaves[index] ?? "",
        index,
        path,
        day: { statement, key: kid, signature },
      };
    };
    return inclusion;
  };
  return { keySet, sign };
}

const receipt = (id: string, account: string) =>
  JSON.stringify([
    "gateway receipt v1",
    ...[id, account, "key_1", "premium-1", "2026-11-29T18:00:00.000Z"],
    ...[200, "completed", 10, 5, 1, "0.125"],
  ]);
const balance = (account: string, day: string, vnd: string) =>
  JSON.stringify(["gateway balance v1", account, day, vnd]);

const { keySet, sign } = await service("https://gw.example", "k1");
const october = await sign("2026-10-31", [receipt("req_0", "acc_a")], [
  balance("acc_a", "2026-10-31", "100"),
  balance("acc_b", "2026-10-31", "7"),
]);
const middle = await sign("2026-11-15", [receipt("req_m", "acc_a")], [
  balance("acc_a", "2026-11-15", "60"),
]);
const november = await sign("2026-11-30", [receipt("req_1", "acc_a"), receipt("req_2", "acc_b")], [
  balance("acc_a", "2026-11-30", "50"),
  balance("acc_b", "2026-11-30", "9"),
  // What a thief could have had signed: an entry of another form or day in the tree.
  receipt("req_3", "acc_a"),
  balance("acc_a", "2026-10-31", "999"),
]);
const opening = october("balances", 0);
const closing = november("balances", 0);

const receiptProof = { object: "receipt.proof", ...november("receipts", 0) };
const monthProof = { object: "statement.proof", month: "2026-11", opening, closing };

const check = (document: Json, keys: Json = keySet) => checkDocument(document, keys);
const why = (found: DocumentCheck) => found.ok ? "right" : found.why;

Deno.test("a receipt, a month, a month that began without money or is not over are right", async () => {
  const right: readonly Json[] = [
    receiptProof,
    monthProof,
    { ...monthProof, opening: null },
    { ...monthProof, closing: middle("balances", 0) },
    { ...monthProof, closing: null },
  ];
  for (const document of right) assertEquals(why(await check(document)), "right");
  const found = await check(monthProof);
  assertEquals(
    found.ok && found.facts.map((fact) => fact.kind === "balance" && [fact.place, fact.balanceVnd]),
    [["opening", "100"], ["closing", "50"]],
  );
});

Deno.test("parts that were swapped, or are of another month, account, kind or service, are wrong", async () => {
  const other = await service("https://other.example", "k2");
  const foreign = await other.sign("2026-11-30", [], [balance("acc_a", "2026-11-30", "50")]);
  const cases: readonly (readonly [WrongProof, Json, Json?])[] = [
    ["place", { ...monthProof, opening: closing, closing: opening }],
    ["place", { ...monthProof, month: "2026-10" }],
    ["place", { ...monthProof, month: "2026-12" }],
    ["place", { ...monthProof, opening: closing }],
    ["place", { ...monthProof, opening: middle("balances", 0) }],
    ["place", { ...monthProof, closing: november("balances", 3) }],
    ["mixed", { ...monthProof, closing: november("balances", 1) }],
    ["mixed", { ...monthProof, closing: foreign("balances", 0) }, {
      keys: [...keySet.keys, ...other.keySet.keys],
    }],
    ["form", { ...monthProof, opening: november("receipts", 0) }],
    ["leaf", { ...monthProof, closing: november("balances", 2) }],
    ["form", { object: "receipt.proof", ...closing }],
    ["form", closing],
    ["form", { ...monthProof, month: "2026-13" }],
    ["nothing", { ...monthProof, opening: null, closing: null }],
    ["unknown_key", { ...monthProof, closing: foreign("balances", 0) }],
    ["unknown_key", receiptProof, { keys: [] }],
  ];
  for (const [at, [wrong, document, keys]] of cases.entries()) {
    assertEquals(why(await check(document, keys)), wrong, `case ${at}`);
  }
});

Deno.test("a changed document is refused, or shows what it showed before", async () => {
  const counts = { refused: 0, same: 0 };
  for (const document of [receiptProof, monthProof]) {
    const before = JSON.stringify(await check(document));
    const twice = Array.from({ length: casesOf(2_000) }, (): Mutation<Json> => {
      const pick = (from: Json) => {
        const all = jsonMutations(from);
        return all[Math.floor(runRandom() * all.length)]!;
      };
      const first = pick(document);
      const second = pick(first.apply());
      return { kind: second.kind, at: `${first.at}, ${second.at}`, apply: second.apply };
    });
    for (const { at, apply } of [...jsonMutations(document), ...twice]) {
      const found = await check(apply());
      if (!found.ok) counts.refused++;
      // One part less is a month with one balance; nothing else may change.
      else if (found.facts.length === JSON.parse(before).facts.length) {
        assertEquals(JSON.stringify(found), before, at);
        counts.same++;
      } else {
        for (const fact of found.facts) assert(before.includes(JSON.stringify(fact)), at);
      }
    }
    for (const { apply } of textMutations(JSON.stringify(document))) {
      await checkProofFiles(apply(), JSON.stringify(keySet));
    }
  }
  assert(counts.refused > 100 && counts.same > 0, JSON.stringify(counts));
});

Deno.test("no text of a file forges a line", async () => {
  const evil = "acc_a\nright: \u001b[2K\u2028\u202e";
  const hostile = await service("https://gw.example", "k\n");
  const inclusion = await hostile.sign("2026-11-30", [receipt("req\r\nright: x", evil)], []);
  const document = { object: "receipt.proof", ...inclusion("receipts", 0) };
  const files = [
    document,
    { ...document, leaf: "x\nright: all\n" },
    { ...monthProof, month: "2026-11\nright: all" },
    { ...document, object: "a\nright: b" },
  ];
  for (const file of files) {
    const { lines } = await checkProofFiles(JSON.stringify(file), JSON.stringify(hostile.keySet));
    assertEquals(lines.length, 1);
    for (const line of lines) assert(/^[\x20-\x7e]+$/.test(line), JSON.stringify(line));
  }
});
