/** A provider reads a request on a kept connection and hangs up: the gateway cannot know whether it acted on it. */
import { assertEquals } from "../../../support/assert.ts";
import { RawPeer } from "../../../core/net/transport/raw_peer.ts";
import { provenRestMs } from "../../../../core/net/http1/transport.ts";
import { plain, styles, transcripts, UnrulyWorld } from "../../../support/worlds/unruly_world.ts";
import { openMediaWorld } from "../gateway/media_world.ts";

const options = { sanitizeOps: false, sanitizeResources: false };

Deno.test("a chat call is sent again, and its receipt says so", options, async () => {
  const told = await transcripts();
  for (const style of styles) {
    let requests = 0;
    await using world = await UnrulyWorld.open({
      providers: {
        a: async (conversation) => {
          requests++;
          await conversation.say(plain(told[style].whole));
          // The first connection takes one more and dies; the others are kept.
          if (await conversation.request() !== null) requests++;
        },
      },
    });
    assertEquals((await world.call(style, false)).status, 200);
    const answer = await world.call(style, false);
    assertEquals([answer.status, requests], [200, 3]);
    const { attempts } = await world.receiptOf(answer);
    assertEquals(attempts.map(({ outcome }) => outcome), ["connection_lost", "ok"]);
    assertEquals(new Set(attempts.map(({ route }) => route)).size, 1);
    await world.checkBooks(2);
  }
});

const picture = JSON.stringify({ created: 1, data: [{ b64_json: "AA==" }] });
const orders = [
  {
    path: "/v1/images/generations",
    body: { model: "image-t", prompt: "x" },
    model: { id: "image-t", kind: "image", price: { unit: "image", vnd: 1000 } },
    answer: plain(picture),
  },
  {
    path: "/v1/audio/speech",
    body: { model: "speech-t", input: "x", voice: "lan" },
    model: { id: "speech-t", kind: "speech", price: { unit: "request", vnd: 1000 } },
    answer: plain("audio", { type: "audio/mpeg" }),
  },
  {
    path: "/v1/videos",
    body: { model: "video-t", prompt: "x" },
    model: {
      id: "video-t",
      kind: "video",
      price: { unit: "video", tiers: [{ fromSeconds: 1, toSeconds: 30, vnd: 1000 }] },
      videoRules: { profile: "A" },
    },
    answer: plain('{"id":"up-1","status":"queued"}'),
  },
];

for (const { path, body, model, answer } of orders) {
  Deno.test(`a call to ${path} is never sent again: it fails, and is free`, options, async () => {
    let requests = 0;
    await using peer = new RawPeer(async (conversation) => {
      for (let got = await conversation.request(); got; got = await conversation.request()) {
        if (++requests > 1) return;
        await conversation.say(answer);
      }
    });
    const models = [{ family: "test", routes: [{ provider: "p1" }], ...model }];
    await using world = await openMediaWorld({ providers: { p1: peer.port }, models });
    const first = await world.post(path, body);
    await first.bytes();
    assertEquals(first.status, 200);
    // Long enough for its connection to count as one that the provider keeps.
    await world.advance(provenRestMs + 400);
    const second = await world.post(path, body);
    await second.body?.cancel();
    assertEquals([second.status, requests, peer.acceptedCount], [502, 2, 1]);
    assertEquals(await world.balanceVnd(), 999_000);
    const receipt = await world.receiptOf(second);
    assertEquals(receipt?.attempts.map(({ outcome }) => outcome), ["upstream_unreachable"]);
  });
}
