/** The common bound of the whole answers that calls hold: who finds no room waits, and all is given back on every path. */
import * as fc from "../../../../support/property.ts";
import { assert, assertEquals } from "../../../../support/assert.ts";
import { Deadlines } from "../../../../../core/lib/time/deadlines.ts";
import { type AnswerBudget, answerWaitMs } from "../../../../../core/lib/bytes/answer_budget.ts";
import { keepAliveMs } from "../../../../../core/calls/stream/metered_stream.ts";
import { unreadAnswerMs } from "../../../../../routes/api/call/response_headers.ts";
import { ManualTime } from "../../../../support/manual_time.ts";
import { until } from "../../../../support/until.ts";
import {
  errorOf,
  type MediaWorld,
  mockProvider,
  openMediaWorld,
} from "../../gateway/media_world.ts";
import { passTurns } from "../../../../support/turns.ts";

const kilobyte = 1024;
/** One fits, a second one is beyond the bound, a third one waits. */
const bufferedAnswerBytes = 300 * kilobyte;
const picture = "A".repeat(200 * kilobyte);
const answerBytes = JSON.stringify(pictures(1)).length;

function pictures(count: number, b64_json = picture) {
  return { created: 1, data: Array.from({ length: count }, () => ({ b64_json })) };
}

const models = [{
  id: "image-t",
  kind: "image",
  family: "test",
  price: { unit: "image", vnd: 10 },
  routes: [{ provider: "p1" }, { provider: "p2" }],
}, {
  id: "chat-t",
  kind: "chat",
  family: "test",
  contextWindow: 1_000_000,
  maxOutputTokens: 1_000_000,
  price: { unit: "token", vndPerMtok: 1 },
  routes: [{ provider: "p1", style: "chat" }],
}];

const images = { model: "image-t", prompt: "a cat" };
const chat = { model: "chat-t", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] };

function chatAnswer(content: string) {
  return {
    id: "c",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
  };
}

interface LargeWorld extends MediaWorld {
  readonly time: ManualTime;
}

async function open(
  answer: (path: string, prompt: string) => Response = (path) =>
    Response.json(path.includes("images") ? pictures(1) : chatAnswer(picture)),
): Promise<LargeWorld> {
  const time = new ManualTime();
  const deadlines = new Deadlines({ clock: time, timer: time });
  const provider = mockProvider(({ path, json }) => answer(path, String(json()["prompt"])));
  const { port } = provider;
  const world = await openMediaWorld({
    providers: { p1: port, p2: port },
    models,
    deadlines,
    bufferedAnswerBytes,
  });
  return {
    ...world,
    time,
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

/** Resolves when an answer that is opened from now on waits for room. */
function nextWait(answers: AnswerBudget): Promise<void> {
  const waits = Promise.withResolvers<void>();
  const { open } = answers;
  answers.open = (owner) => {
    const answer = open.call(answers, owner);
    const { grow } = answer;
    answer.grow = (bytes) => {
      const waiting = grow.call(answer, bytes);
      if (waiting !== undefined) waits.resolve();
      return waiting;
    };
    return answer;
  };
  return waits.promise;
}

const endpoints = [["/v1/images/generations", images], ["/v1/chat/completions", chat]] as const;

for (const [path, body] of endpoints) {
  Deno.test(`${path}: an answer waits until those before it have left, and arrives whole`, async () => {
    await using world = await open();
    const { answers } = world.gateway;
    const first = await world.post(path, body);
    const beyond = await world.post(path, body);
    assert(answers.usedBytes >= 2 * 200 * kilobyte, `${answers.usedBytes} bytes`);
    let isAnswered = false;
    const waits = nextWait(answers);
    const third = world.post(path, body).then((response) => {
      isAnswered = true;
      return response;
    });
    await waits;
    await passTurns(5);
    assert(!isAnswered, "answered beyond the bound");

    const length = Number(beyond.headers.get("content-length"));
    assertEquals((await beyond.bytes()).length, length);
    const whole = await (await third).json();
    const [made] = path.includes("images") ? whole.data : whole.choices;
    assertEquals((made.b64_json ?? made.message.content).length, picture.length);
    await first.body?.cancel();
    await until(() => answers.usedBytes === 0, "all is given back");
    assertEquals((await world.receiptOf(first))?.outcome, "completed");
  });
}

Deno.test("an answer that gets no memory for a minute is refused and costs nothing", async () => {
  await using world = await open();
  const [path, body] = endpoints[0];
  const unread = [await world.post(path, body), await world.post(path, body)];
  const before = await world.balanceVnd();
  const waits = nextWait(world.gateway.answers);
  const refused = world.post(path, body);
  await waits;
  world.time.advance(answerWaitMs + 1_000);
  const response = await refused;
  const { status, code } = await errorOf(response);
  assertEquals([status, code], [503, "busy"]);
  assertEquals(response.headers.get("x-should-retry"), "true");
  assertEquals(await world.balanceVnd(), before);
  for (const { body } of unread) await body?.cancel();
  await until(() => world.gateway.answers.usedBytes === 0, "all is given back");
});

Deno.test("the answer of a client that does not read is discarded and its memory released; the call is charged", async () => {
  await using world = await open();
  const [path, body] = endpoints[0];
  const unread = await world.post(path, body);
  const reader = unread.body!.getReader();
  await reader.read();
  world.time.advance(unreadAnswerMs - 1_000);
  await reader.read(); // a slow one is not an absent one
  world.time.advance(unreadAnswerMs - 1_000);
  assert(world.gateway.answers.usedBytes >= answerBytes);
  world.time.advance(2_000);
  await until(() => world.gateway.answers.usedBytes === 0, "its room is given back");
  const error = await reader.read().then(() => undefined, (cause) => cause);
  assert(error instanceof Error, "ended as if it were whole");
  assertEquals((await world.receiptOf(unread))?.units, 1);
});

Deno.test("pictures that arrived whole for a stream count against the budget until they are sent", async () => {
  await using world = await open();
  const [path] = endpoints[0];
  for (const isRead of [true, false]) {
    const response = await world.post(path, { ...images, stream: true });
    assert(world.gateway.answers.usedBytes >= answerBytes);
    if (isRead) assert((await response.text()).includes("image_generation.completed"));
    else await response.body?.cancel();
    await until(() => world.gateway.answers.usedBytes === 0, "all is given back");
  }
});

const late = [
  { what: "its pictures came", answer: pictures(2), events: 2, units: 2 },
  { what: "something else came", answer: { data: picture }, events: 0, units: 0 },
];

for (const { what, answer, events, units } of late) {
  Deno.test(`a stream that began before ${what} releases the memory of its answer`, async () => {
    const reached = Promise.withResolvers<void>();
    const sent = Promise.withResolvers<void>();
    await using world = await open(() => {
      reached.resolve();
      const body = new ReadableStream({
        async start(controller) {
          await sent.promise;
          controller.enqueue(new TextEncoder().encode(JSON.stringify(answer)));
          controller.close();
        },
      });
      return new Response(body, { headers: { "content-type": "application/json" } });
    });
    const answering = world.post(endpoints[0][0], { ...images, n: 2, stream: true });
    await reached.promise;
    await passTurns(5);
    world.time.advance(keepAliveMs + 1_000);
    const response = await answering;
    sent.resolve();
    const text = await response.text();
    assertEquals(text.split("event: image_generation.completed").length - 1, events);
    assertEquals((await world.receiptOf(response))?.units, units);
    await until(() => world.gateway.answers.usedBytes === 0, "all is given back");
  });
}

const endings = {
  whole: () => Response.json(pictures(1)),
  chunked: () => new Response(new Blob([JSON.stringify(pictures(1))]).stream()),
  strange: () => Response.json({ data: picture }),
  refused: () => Response.json({ error: { message: picture } }, { status: 400 }),
  failed: () => Response.json({ error: { message: picture } }, { status: 500 }),
  small: () => Response.json(pictures(1, "AAAA")),
  broken: () =>
    new Response(JSON.stringify(pictures(1)).slice(0, -9), {
      headers: { "content-type": "application/json" },
    }),
};

Deno.test("whatever providers answer and however clients leave, no memory stays counted", async () => {
  const job = fc.record({
    ending: fc.constantFrom(...Object.keys(endings) as (keyof typeof endings)[]),
    stream: fc.boolean(),
    leaves: fc.boolean(),
  });
  await using world = await open((_, prompt) => endings[prompt as keyof typeof endings]());
  const { answers } = world.gateway;
  const statuses = new Set<number>();
  await fc.assert(
    fc.asyncProperty(fc.array(job, { minLength: 4, maxLength: 10 }), async (jobs) => {
      await Promise.all(jobs.map(async ({ ending, stream, leaves }) => {
        const body = { model: "image-t", prompt: ending, stream };
        const response = await world.post(endpoints[0][0], body);
        statuses.add(response.status);
        assert(
          answers.usedBytes <= bufferedAnswerBytes + 2 * answerBytes,
          `${answers.usedBytes} bytes`,
        );
        if (leaves) await response.body?.cancel();
        else await response.bytes();
      }));
      await until(() => answers.usedBytes === 0, "all is given back");
    }),
    { numRuns: 25 },
  );
  // A few cases need not have each end.
  const expected = fc.casesOf(25) < 25 ? [200] : [200, 400, 502];
  for (const status of expected) assert(statuses.has(status), [...statuses].join());
});
