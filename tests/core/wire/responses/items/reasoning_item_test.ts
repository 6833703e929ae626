import { assertEquals } from "../../../../support/assert.ts";
import { sealProof } from "../../../../../core/wire/fields/reasoning_seal.ts";
import {
  readItemProof,
  withoutSealedReasoning,
} from "../../../../../core/wire/responses/items/output_items.ts";

const vendor = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA" };
const signature = { kind: "signature", signer: "messages", signature: "c2ln" } as const;
const ours = { ...vendor, id: "rs_2", encrypted_content: sealProof(signature) };

Deno.test("a sealed item gives back the proof of whoever signed it", () => {
  assertEquals(readItemProof(ours, "responses"), { text: "", proof: signature });
});

Deno.test("a native call loses only the items that this gateway made", () => {
  const question = { role: "user", content: "Hi" };
  const body = {
    model: "m",
    input: [question, vendor, ours, { ...ours, id: "rs_3" }],
    store: false,
  };
  assertEquals(withoutSealedReasoning(body), { ...body, input: [question, vendor] });
  assertEquals(withoutSealedReasoning({ ...body, input: [question, vendor] }), undefined);
  assertEquals(withoutSealedReasoning({ ...body, input: "Hi" }), undefined);
});

Deno.test("an item without a summary shows its full text", () => {
  const item = { type: "reasoning", content: [{ type: "reasoning_text", text: "Hm" }] };
  assertEquals(readItemProof(item, "responses"), { text: "Hm" });
});
