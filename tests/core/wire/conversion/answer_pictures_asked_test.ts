/** A request for pictures in the answer reaches the models that make them, and is refused by its place elsewhere. */
import { assertEquals } from "../../../support/assert.ts";
import type { ProviderStyle } from "../../../../core/wire/contract/contract.ts";
import { accepted, converted, refusal } from "./converting.ts";

const chat = { model: "m", messages: [{ role: "user", content: "Draw." }] };
const gemini = { model: "m", contents: [{ role: "user", parts: [{ text: "Draw." }] }] };

const asked = {
  chat: { ...chat, modalities: ["image", "text"] },
  gemini: { ...gemini, generationConfig: { responseModalities: ["TEXT", "IMAGE"] } },
} as const;

const paths = { chat: "modalities", gemini: "generationConfig.responseModalities" } as const;

Deno.test("pictures in the answer are asked for in the words of the route's style", () => {
  const there = accepted("chat", "gemini", JSON.parse(JSON.stringify(asked.chat)));
  assertEquals(there.body.generationConfig, { responseModalities: ["TEXT", "IMAGE"] });
  const back = converted("gemini", "chat", JSON.parse(JSON.stringify(asked.gemini)), {
    extra_fields: ["modalities"],
  });
  assertEquals(back.body.modalities, ["text", "image"]);
  assertEquals([there.dropped, back.dropped], [[], []]);
});

Deno.test("a style without pictures in answers refuses them, and sound is refused everywhere", () => {
  for (const client of ["chat", "gemini"] as const) {
    const request = JSON.parse(JSON.stringify(asked[client]));
    for (
      const to of ["messages", "responses", "converse", "chat"] as const satisfies ProviderStyle[]
    ) {
      if (client === to) continue;
      assertEquals(refusal(client, to, request).param, paths[client], to);
    }
  }
  const speaking = { ...chat, modalities: ["text", "audio"] };
  assertEquals(refusal("chat", "gemini", speaking).param, "modalities");
  const spoken = { ...gemini, generationConfig: { responseModalities: ["AUDIO"] } };
  assertEquals(refusal("gemini", "chat", spoken).param, paths.gemini);
});
