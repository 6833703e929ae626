/** The commands that the demo prints: one for each kind of model in the shipped catalogue, and each is answered. */
import { assert, assertEquals, assertStringIncludes } from "../../../support/assert.ts";
import { banner } from "../../../../routes/server/listen/banner.ts";
import { openTestGateway } from "../../../support/gateways/gateway_in_process.ts";
import { bearerPost } from "../../../support/api_post.ts";

Deno.test("the demo prints a command for each kind of model, and the gateway answers it", async () => {
  await using gateway = await openTestGateway();
  const { key } = await gateway.customer(100_000);
  const catalog = gateway.assembled.gateway.catalog.current;
  const at = { address: "http://0.0.0.0:1", nearby: "http://gateway.test" };
  const commands = banner("sandbox", at, catalog, key).filter((line) => line.includes("curl "));
  const kinds = new Set(catalog.models.map(({ kind }) => kind));
  assertEquals([commands.length, kinds.size], [9, 9]);
  let recording: Blob | undefined;
  for (const command of commands) {
    const url = /curl (\S+)/.exec(command)?.[1];
    const body = /-d '([^']*)'/.exec(command)?.[1];
    assert(url !== undefined);
    const headers: Record<string, string> = { authorization: `Bearer ${key}` };
    assertStringIncludes(command, `-H "authorization: Bearer ${key}"`);
    const form = new FormData();
    if (body !== undefined) headers["content-type"] = "application/json";
    else {
      assert(recording !== undefined, "the recording comes before its transcription");
      form.set("model", /-F model=(\S+)/.exec(command)?.[1] ?? "");
      form.set("file", recording, "hello.mp3");
    }
    const request = new Request(url, { method: "POST", headers, body: body ?? form });
    const answer = await gateway.fetch(request);
    const answered = await answer.blob();
    assertEquals(answer.status, 200, `${command}: ${await answered.text()}`);
    if (command.includes("-o hello.mp3")) recording = answered;
  }
});

const wrongModels = [
  ["/v1/embeddings", { input: "x" }, "example-embedding"],
  ["/v1/rerank", { query: "x", documents: ["y"] }, "example-rerank"],
  ["/v1/moderations", { input: "x" }, "example-moderation"],
  ["/v1/audio/speech", { input: "x", voice: "alloy" }, "speech-1"],
  ["/v1/images/generations", { prompt: "x" }, "image-1"],
  ["/v1/videos", { prompt: "x" }, "video-a, video-b, video-c, video-d"],
] as const;

for (const [path, fields, offered] of wrongModels) {
  Deno.test(`${path}: the 400 for an unknown model, or one of another kind, names the models that there are`, async () => {
    await using gateway = await openTestGateway();
    const { key } = await gateway.customer(100_000);
    const limited = await gateway.customer(100_000, { allowedModels: ["premium-1"] });
    const post = async (secret: string, model: string) => {
      const answer = await gateway.fetch(
        bearerPost(`http://gateway.test${path}`, secret, { model, ...fields }),
      );
      assertEquals(answer.status, 400);
      return (await answer.json()).error.message;
    };
    for (const model of ["no-such-model", "premium-1"]) {
      assertStringIncludes(await post(key, model), `Models for this endpoint: ${offered}`);
      assertStringIncludes(await post(limited.key, model), "There is no model for this endpoint");
    }
  });
}
