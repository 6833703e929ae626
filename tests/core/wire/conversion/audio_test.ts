/** Sound in requests goes to the models that hear, from every client that can send it, and is refused elsewhere. */
import { assertEquals } from "../../../support/assert.ts";
import type { JsonObject } from "../../../../core/lib/json/json.ts";
import type { ProviderStyle, Style } from "../../../../core/wire/contract/contract.ts";
import { accepted, refusal } from "./converting.ts";

const data = "UklGRg==";

function hearing(client: Exclude<Style, "messages">, format: string): JsonObject {
  const part = { type: "input_audio", input_audio: { data, format } };
  switch (client) {
    case "chat":
      return { model: "m", messages: [{ role: "user", content: [part] }] };
    case "responses":
      return { model: "m", input: [{ role: "user", content: [part] }] };
    case "gemini": {
      const inlineData = { mimeType: `audio/${format}`, data };
      return { model: "m", contents: [{ role: "user", parts: [{ inlineData }] }] };
    }
  }
}

const paths = {
  chat: "messages.0.content.0",
  responses: "input.0.content.0",
  gemini: "contents.0.parts.0",
} as const;

const clients = ["chat", "responses", "gemini"] as const;

Deno.test("sound reaches Gemini and Chat models from every client that sends it", () => {
  for (const client of clients) {
    for (const format of ["wav", "mp3"]) {
      const request = hearing(client, format);
      if (client !== "gemini") {
        const { body, dropped } = accepted(client, "gemini", request);
        const inlineData = { mimeType: `audio/${format}`, data };
        assertEquals(body.contents, [{ role: "user", parts: [{ inlineData }] }], client);
        assertEquals(dropped, []);
      }
      if (client !== "chat") {
        const { body, dropped } = accepted(client, "chat", request);
        const part = { type: "input_audio", input_audio: { data, format } };
        assertEquals(body.messages, [{ role: "user", content: [part] }], client);
        assertEquals(dropped, []);
      }
    }
  }
});

Deno.test("sound is refused by its place where a model does not hear it", () => {
  const deaf = ["messages", "responses", "converse"] as const satisfies readonly ProviderStyle[];
  for (const client of clients) {
    for (const to of deaf) {
      if (client === to) continue;
      assertEquals(refusal(client, to, hearing(client, "wav")).param, paths[client], to);
    }
    for (const to of ["chat", "gemini"] as const) {
      if (client === to) continue;
      const { param } = refusal(client, to, hearing(client, "wav"), { audio: false });
      assertEquals(param, paths[client], to);
    }
  }
  // Chat servers have words for two formats only.
  assertEquals(refusal("gemini", "chat", hearing("gemini", "ogg")).param, paths.gemini);
  const url = {
    type: "input_audio",
    input_audio: { data: "https://a.example/b.wav", format: "wav" },
  };
  const request = { model: "m", messages: [{ role: "user", content: [url] }] };
  assertEquals(refusal("chat", "gemini", request).param, "messages.0.content.0.input_audio.data");
});
