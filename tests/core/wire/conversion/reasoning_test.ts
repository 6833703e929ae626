/** Reasoning keeps its proof byte for byte, and the proof goes back only to who made it. */
import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import type { ReasoningProof } from "../../../../core/wire/conversation/mod.ts";
import { withoutForeignBlocks } from "../../../../core/wire/messages/request/decode_blocks.ts";
import { sealPrefix, sealProof, unsealProof } from "../../../../core/wire/fields/reasoning_seal.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import { accepted, converted, convertedAnswer } from "./converting.ts";
import { joinedDetails, readChatStream } from "./stream_clients.ts";
import { messagesFrames, streamed } from "./streaming.ts";

const any = fc.string({ unit: "grapheme", maxLength: 60 });
const plain = { noNullPrototype: true };
const proofs: fc.Arbitrary<ReasoningProof> = fc.oneof(
  fc.record({ kind: fc.constant("signature" as const), signer: any, signature: any }, plain),
  fc.record({ kind: fc.constant("redacted" as const), signer: any, data: any }, plain),
  fc.record(
    { kind: fc.constant("item" as const), signer: any, id: any, encryptedContent: any },
    plain,
  ),
  fc.record({
    kind: fc.constant("item" as const),
    signer: any,
    summary: fc.array(any, { maxLength: 3 }),
  }, plain),
  fc.record({
    kind: fc.constant("detail" as const),
    signer: any,
    detail: fc.record({ type: any, data: any }, plain),
  }, plain),
);

Deno.test("a sealed proof opens to the same proof", () => {
  fc.assert(fc.property(proofs, (proof) => {
    const sealed = sealProof(proof);
    assert(/^ugw1\.[A-Za-z0-9_-]+$/.test(sealed));
    assertEquals(unsealProof(sealed), proof);
  }));
});

Deno.test("a signature that was cut or forged is worth no proof, never an exception", () => {
  fc.assert(fc.property(proofs, fc.nat({ max: 100 }), (proof, cut) => {
    const sealed = sealProof(proof).slice(0, -1 - cut);
    const read = unsealProof(sealed);
    assert(read === undefined || read === "foreign" || typeof read === "object");
  }));
  assertEquals(unsealProof(`${sealPrefix}!!!`), undefined);
  assertEquals(unsealProof(`${sealPrefix}${btoa('{"kind":"x","signer":"y"}')}`), undefined);
});

const signature = "EqQBCkgIARABGAIiQLx+/yz==";
const history = (block: JsonObject): JsonObject => ({
  model: "m",
  max_tokens: 5000,
  messages: [
    { role: "user", content: "a" },
    { role: "assistant", content: [block, { type: "text", text: "b" }] },
    { role: "user", content: "c" },
  ],
});

Deno.test("a Messages answer's signature returns unchanged through a Chat client, whole and streamed", () => {
  const answer = {
    type: "message",
    content: [{ type: "thinking", thinking: "hm", signature }, { type: "text", text: "b" }],
    stop_reason: "end_turn",
  };
  const whole = convertedAnswer("messages", "chat", answer);
  const [choice] = whole.choices as JsonObject[];
  const events = [
    { type: "message_start", message: { id: "msg_1", content: [], usage: {} } },
    {
      type: "content_block_start",
      index: 0,
      content_block: { type: "thinking", thinking: "", signature: "" },
    },
    { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "hm" } },
    { type: "content_block_delta", index: 0, delta: { type: "signature_delta", signature } },
    { type: "content_block_stop", index: 0 },
    { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 1, delta: { type: "text_delta", text: "b" } },
    { type: "content_block_stop", index: 1 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
    { type: "message_stop" },
  ];
  const { message } = readChatStream(streamed("messages", "chat", messagesFrames(events)).text);
  // Libraries send back what they collected, joined by index or not.
  const kept = [
    choice?.message as JsonObject,
    message,
    { ...message, reasoning_details: joinedDetails(message.reasoning_details) },
  ];
  for (const assistant of kept) {
    const { body } = converted("chat", "messages", {
      model: "m",
      messages: [{ role: "user", content: "a" }, assistant, { role: "user", content: "c" }],
    });
    assertEquals((body.messages as JsonObject[])[1]?.content, [
      { type: "thinking", thinking: "hm", signature },
      { type: "text", text: "b" },
    ]);
  }
});

Deno.test("a signature of one vendor never reaches another", () => {
  const block = { type: "thinking", thinking: "hm", signature };
  for (const to of ["chat", "responses"] as const) {
    const { body } = accepted("messages", to, history(block));
    assertEquals(JSON.stringify(body).includes(signature), false);
  }
  const answer = convertedAnswer("messages", "chat", {
    type: "message",
    content: [block],
    stop_reason: "end_turn",
  }, { reasoningSigner: "other-vendor" });
  const [choice] = answer.choices as JsonObject[];
  const assistant = { ...(choice?.message as JsonObject), content: "b" };
  const request = {
    model: "m",
    messages: [{ role: "user", content: "a" }, assistant, { role: "user", content: "c" }],
  };
  const stranger = converted("chat", "messages", request);
  assertEquals(JSON.stringify(stranger.body).includes("hm"), false);
  const maker = converted("chat", "messages", request, { reasoning_signer: "other-vendor" });
  assertEquals((maker.body.messages as JsonObject[])[1]?.content, [
    block,
    { type: "text", text: "b" },
  ]);
});

Deno.test("an encrypted item of a Responses route passes a Messages client and returns to it alone", () => {
  const proof: ReasoningProof = {
    kind: "item",
    signer: "responses",
    id: "rs_1",
    encryptedContent: "gAAAAA==",
  };
  const block = { type: "thinking", thinking: "hm", signature: sealProof(proof) };
  const back = accepted("messages", "responses", history(block)).body;
  assertEquals(JSON.stringify(back).includes("gAAAAA=="), true);
  assertEquals(JSON.stringify(back).includes("rs_1"), true);
  const chat = accepted("messages", "chat", history(block)).body;
  assertEquals(JSON.stringify(chat).includes("gAAAAA"), false);
});

Deno.test("details of an aggregator go back to it as they came", () => {
  const detail = {
    type: "reasoning.encrypted",
    data: "gAAA",
    id: "rs_9",
    format: "openai-responses-v1",
    index: 0,
  };
  const capabilities = { reasoning_replay: "details", reasoning_signer: "aggregator" } as const;
  const { memory } = converted(
    "messages",
    "chat",
    history({ type: "text", text: "x" }),
    capabilities,
  );
  const answer = convertedAnswer("chat", "messages", {
    choices: [{
      index: 0,
      message: { role: "assistant", content: "b", reasoning_details: [detail] },
      finish_reason: "stop",
    }],
  }, memory);
  const [thinking] = answer.content as JsonObject[];
  const back = converted("messages", "chat", history(thinking ?? {}), capabilities).body;
  assertEquals((back.messages as JsonObject[])[1]?.reasoning_details, [detail]);
  const elsewhere = converted("messages", "chat", history(thinking ?? {}), {
    ...capabilities,
    reasoning_signer: "other",
  }).body;
  assertEquals((elsewhere.messages as JsonObject[])[1]?.reasoning_details, undefined);
});

Deno.test("a native Messages call loses the thinking that its vendor never signed, and nothing else", () => {
  const ours = { type: "thinking", thinking: "hm", signature: sealProof(undefined) };
  const theirs = { type: "thinking", thinking: "hm", signature };
  assertEquals(withoutForeignBlocks(history(theirs)), undefined);
  const cleaned = withoutForeignBlocks(history(ours));
  assertEquals((cleaned?.messages as JsonObject[])[1]?.content, [{ type: "text", text: "b" }]);
});
