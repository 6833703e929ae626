import Anthropic from "@anthropic-ai/sdk";
import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import OpenAI from "openai";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import type { BodyStyle } from "../../../support/body_style.ts";
import { keepAliveMs } from "../../../../core/calls/stream/metered_stream.ts";
import { defaultFirstOutputMs } from "../../../../core/catalog/entries/model.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import {
  chunk,
  chunkedHead,
  lastChunk,
  strictEnd,
  styles,
  transcripts,
  type Unruly,
  UnrulyWorld,
} from "../../../support/worlds/unruly_world.ts";
import { passTurns } from "../../../support/turns.ts";
import { bearerPost } from "../../../support/api_post.ts";

const options = { sanitizeOps: false, sanitizeResources: false };
const told = await transcripts();

/** Providers that are tried one after the other; each waits for the test's instruction. */
class Stage {
  readonly time = new ManualTime();
  readonly deadlines = new Deadlines({ clock: this.time, timer: this.time, tickMs: 10 });
  readonly #reached = new Map<string, PromiseWithResolvers<void>>();
  readonly #told = new Map<string, PromiseWithResolvers<"answer" | "fail">>();

  actor(name: string): Unruly {
    return async (conversation, { head }) => {
      of(this.#reached, name).resolve();
      const gone = conversation.clientGone();
      const what = await Promise.race([of(this.#told, name).promise, gone]);
      if (what !== "answer") return;
      const path = head.split(" ")[1] ?? "";
      const style: BodyStyle = path.endsWith("/messages")
        ? "messages"
        : path.endsWith("/responses")
        ? "responses"
        : "chat";
      await conversation.say(chunkedHead());
      await conversation.say(chunk(told[style].stream));
      await conversation.say(lastChunk);
      await gone;
    };
  }

  async reached(name: string): Promise<void> {
    await of(this.#reached, name).promise;
  }

  tell(name: string, what: "answer" | "fail"): void {
    of(this.#told, name).resolve(what);
  }
}

function of<Value>(
  map: Map<string, PromiseWithResolvers<Value>>,
  name: string,
): PromiseWithResolvers<Value> {
  let found = map.get(name);
  if (found === undefined) map.set(name, found = Promise.withResolvers());
  return found;
}

async function open(): Promise<{ stage: Stage; world: UnrulyWorld }> {
  const stage = new Stage();
  const world = await UnrulyWorld.open({
    providers: { a: stage.actor("a"), b: stage.actor("b") },
    deadlines: stage.deadlines,
  });
  return { stage, world };
}

for (const style of styles) {
  Deno.test(
    `${style}: after 15 s the client has its status and a sign of life, and the next route still answers`,
    options,
    async () => {
      const { stage, world } = await open();
      await using _world = world;
      const firstChunk = Promise.withResolvers<string>();
      const calling = world.call(style, true, (text) => {
        firstChunk.resolve(text);
        return true;
      });
      await stage.reached("a");
      stage.time.advance(keepAliveMs + 20);
      const sign = await firstChunk.promise;
      assert(/^(event: ping|: keep-alive)/.test(sign), sign);
      stage.time.advance(defaultFirstOutputMs);
      await stage.reached("b");
      stage.tell("b", "answer");
      const answer = await calling;
      assertEquals(answer.status, 200);
      assertEquals(answer.headers.get("x-gateway-model"), `m-${style}`);
      assertEquals(strictEnd(style, answer.bytes), "whole");
      const receipt = await world.receiptOf(answer);
      assertEquals(receipt.outcome, "completed");
      assertEquals(receipt.attempts.map(({ outcome }) => outcome), ["ok", "beaten"]);
      assert(receipt.costMicroVnd > 0n);
      await world.checkBooks(1);
    },
  );

  Deno.test(
    `${style}: when no route answers after that, the error comes in the stream, and costs nothing`,
    options,
    async () => {
      const { stage, world } = await open();
      await using _world = world;
      const signs = Promise.withResolvers<void>();
      const calling = world.call(style, true, () => {
        signs.resolve();
        return true;
      });
      await stage.reached("a");
      stage.time.advance(keepAliveMs + 20);
      await signs.promise;
      stage.tell("a", "fail");
      await stage.reached("b");
      stage.tell("b", "fail");
      const answer = await calling;
      assertEquals([answer.status, answer.broken], [200, false]);
      assertEquals(strictEnd(style, answer.bytes), "error");
      // Agents read the cause of a Responses stream from its failed response alone.
      if (style === "responses") {
        assert(/^event: response\.failed\ndata: .*"code":"server_error"/m.test(answer.text));
      }
      const receipt = await world.receiptOf(answer);
      assertEquals([receipt.outcome, receipt.status, receipt.costMicroVnd], ["failed", 200, 0n]);
      assertEquals(receipt.attempts.length, 2);
      await world.checkBooks(1);
    },
  );

  Deno.test(
    `${style}: a failure before the first keep-alive keeps its status`,
    options,
    async () => {
      const { stage, world } = await open();
      await using _world = world;
      const calling = world.call(style, true);
      await stage.reached("a");
      stage.time.advance(keepAliveMs - 1_000);
      stage.tell("a", "fail");
      await stage.reached("b");
      stage.tell("b", "fail");
      const answer = await calling;
      assertEquals(answer.status, 502);
      await world.checkBooks(1);
    },
  );
}

Deno.test(
  "a client that leaves while routes are tried behind its keep-alives pays nothing",
  options,
  async () => {
    const { stage, world } = await open();
    await using _world = world;
    const calling = world.call("chat", true, () => false);
    await stage.reached("a");
    stage.time.advance(keepAliveMs + 20);
    await calling;
    await world.checkBooks(1);
    const [receipt] = await world.receipts();
    assertEquals([receipt?.outcome, receipt?.costMicroVnd], ["client_gone", 0n]);
  },
);

for (const style of styles) {
  Deno.test(
    `${style}: a model that thinks for five minutes on its only route answers by its one try`,
    options,
    async () => {
      const stage = new Stage();
      await using world = await UnrulyWorld.open({
        providers: { a: stage.actor("a") },
        deadlines: stage.deadlines,
      });
      const began = Promise.withResolvers<void>();
      const calling = world.call(style, true, () => {
        began.resolve();
        return true;
      });
      await stage.reached("a");
      stage.time.advance(keepAliveMs + 20);
      await began.promise;
      stage.time.advance(300_000);
      stage.tell("a", "answer");
      const answer = await calling;
      assertEquals(strictEnd(style, answer.bytes), "whole");
      const receipt = await world.receiptOf(answer);
      assertEquals(receipt.attempts.map(({ outcome }) => outcome), ["ok"]);
      await world.checkBooks(1);
    },
  );
}

Deno.test(
  "whole answers do not begin early, so their status is that of the result",
  options,
  async () => {
    const { stage, world } = await open();
    await using _world = world;
    const calling = world.call("chat", false);
    await stage.reached("a");
    stage.time.advance(10 * keepAliveMs);
    stage.tell("a", "fail");
    await stage.reached("b");
    stage.tell("b", "fail");
    assertEquals((await calling).status, 502);
    await world.checkBooks(1);
  },
);

Deno.test(
  "an answer that begins early names the fields that the routes tried by then could not carry",
  options,
  async () => {
    const stage = new Stage();
    await using world = await UnrulyWorld.open({
      providers: { a: stage.actor("a"), b: stage.actor("b") },
      upstreamStyle: "messages",
      deadlines: stage.deadlines,
    });
    const calling = fetch(bearerPost(`${world.address}/v1/chat/completions`, world.key, {
      model: "m-chat",
      stream: true,
      max_tokens: 100,
      messages: [{ role: "user", content: "Hi" }],
      logit_bias: { "1": 2 },
    }));
    await stage.reached("a");
    stage.time.advance(keepAliveMs + 20);
    const response = await calling;
    assertEquals(response.headers.get("x-gateway-conversion"), "dropped=logit_bias");
    stage.tell("a", "answer");
    assert((await response.text()).endsWith("data: [DONE]\n\n"));
    await world.checkBooks(1);
  },
);

Deno.test(
  "a large request is kept as long as routes are tried behind the keep-alives, and no longer",
  options,
  async () => {
    const { stage, world } = await open();
    await using _world = world;
    const { bodies } = world.gateway.assembled.gateway;
    const calling = fetch(bearerPost(`${world.address}/v1/chat/completions`, world.key, {
      model: "m-chat",
      stream: true,
      max_tokens: 100,
      messages: [{ role: "user", content: "word ".repeat(20_000) }],
    }));
    await stage.reached("a");
    stage.time.advance(keepAliveMs + 20);
    const response = await calling;
    assert(bodies.usedBytes > 100_000, "the next route needs it");
    stage.tell("a", "answer");
    assert((await response.text()).endsWith("data: [DONE]\n\n"));
    assertEquals(bodies.usedBytes, 0);
    await world.checkBooks(1);
  },
);

/** Runs a call of an SDK through the silence: keep-alives first, then what the last provider is told. */
async function throughSilence(
  what: "answer" | "fail",
  call: (world: UnrulyWorld) => Promise<string>,
): Promise<string> {
  const { stage, world } = await open();
  await using _world = world;
  const calling = call(world);
  calling.catch(() => {});
  await stage.reached("a");
  for (let i = 0; i < 3; i++) {
    stage.time.advance(keepAliveMs + 20);
    await passTurns(5);
  }
  await stage.reached("b");
  stage.tell("b", what);
  // The slow route goes on beside the next one: the call fails when both have.
  if (what === "fail") stage.tell("a", what);
  try {
    return await calling;
  } finally {
    await world.checkBooks(1);
  }
}

const anthropic = async (world: UnrulyWorld) => {
  const client = new Anthropic({ baseURL: world.address, apiKey: world.key, maxRetries: 0 });
  const message = await client.messages.stream({
    model: "m-messages",
    max_tokens: 100,
    messages: [{ role: "user", content: "Hi" }],
  }).finalMessage();
  return message.content.map((block) => block.type === "text" ? block.text : "").join("");
};

const openai = (world: UnrulyWorld) =>
  new OpenAI({ baseURL: `${world.address}/v1`, apiKey: world.key, maxRetries: 0 });

const chat = async (world: UnrulyWorld) => {
  const stream = await openai(world).chat.completions.create({
    model: "m-chat",
    stream: true,
    max_tokens: 100,
    messages: [{ role: "user", content: "Hi" }],
  });
  let text = "";
  for await (const piece of stream) text += piece.choices[0]?.delta.content ?? "";
  return text;
};

const responses = async (world: UnrulyWorld) => {
  const stream = openai(world).responses.stream({
    model: "m-responses",
    input: "Hi",
    max_output_tokens: 100,
  });
  return (await stream.finalResponse()).output_text;
};

for (const [name, call] of Object.entries({ anthropic, chat, responses })) {
  Deno.test(
    `the official SDK (${name}) takes keep-alives before the answer, and the answer`,
    options,
    async () => {
      assertEquals(await throughSilence("answer", call), "You said: Hi");
    },
  );

  Deno.test(
    `the official SDK (${name}) takes keep-alives before the error, and throws it`,
    options,
    async () => {
      await assertRejects(() => throughSilence("fail", call), Error);
    },
  );
}
