import { assertEquals } from "../../support/assert.ts";
import { mockProvider, openMediaWorld } from "./media/media_world.ts";

const chatModel = {
  id: "seeing",
  kind: "chat",
  family: "test",
  price: { unit: "token", vndPerMtok: 8_300 },
  contextWindow: 100_000,
  maxOutputTokens: 10_000,
  vision: true,
  routes: [{ provider: "p1", style: "chat", model: "m" }],
};

const parts: readonly ((url: string) => object)[] = [
  (url) => ({ type: "image_url", image_url: { url } }),
  (url) => ({ type: "image_url", image_url: url }),
  (url) => ({ type: "file", file: { file_data: url } }),
  (url) => ({ type: "video_url", video_url: { url } }),
];

Deno.test("internal URLs never reach a provider, and nothing is charged", async () => {
  await using provider = mockProvider(() =>
    Response.json({
      choices: [{
        index: 0,
        message: { role: "assistant", content: "A cat" },
        finish_reason: "stop",
      }],
      usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    })
  );
  await using world = await openMediaWorld({
    providers: { p1: provider.port },
    models: [chatModel],
    names: { "pictures.example": 1 },
  });
  const ask = (part: object) =>
    world.post("/v1/chat/completions", {
      model: "seeing",
      max_tokens: 9,
      messages: [{ role: "user", content: [{ type: "text", text: "What?" }, part] }],
    });
  const before = await world.balanceVnd();
  const inside = [
    "http://127.0.0.1/a.png",
    "http://0x7f000001/",
    "https://[::1]/a.png",
    "http://169.254.169.254/latest/meta-data",
    "https://localhost/a.png",
    "https://inside.example/a.png",
    "file:///etc/passwd",
  ];
  for (const url of inside) {
    for (const part of parts) {
      const response = await ask(part(url));
      const { error } = await response.json();
      assertEquals([response.status, error.type], [400, "invalid_request_error"], url);
      assertEquals(error.param, "messages.0.content.1");
    }
  }
  assertEquals([provider.seen.length, await world.balanceVnd()], [0, before]);
  for (const part of parts) {
    assertEquals((await ask(part("https://pictures.example/a.png"))).status, 200);
  }
  // Text that names a URL, sources and data are nobody's to fetch.
  for (
    const part of [
      { type: "text", text: "http://127.0.0.1/" },
      { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } },
    ]
  ) {
    assertEquals((await ask(part)).status, 200);
  }
});
