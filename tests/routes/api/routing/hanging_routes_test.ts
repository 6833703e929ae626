import { assert, assertEquals } from "../../../support/assert.ts";
import { passTurns } from "../../../support/turns.ts";
import { until } from "../../../support/until.ts";
import { verifyStore } from "../../../../kv/services/verify/verify_books.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { defaultFirstOutputMs } from "../../../../core/catalog/entries/model.ts";
import { unknownWaitMs } from "../../../../core/routing/usual_times.ts";
import { type MediaWorld, openMediaWorld } from "../gateway/media_world.ts";

const json = "application/json";
const events = "text/event-stream";
const head = (type: string) =>
  `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: 4096\r\n\r\n`;

/** What a faulty provider does once it has read a request. */
interface Fault {
  /** What it sends at once; `undefined`: it closes the connection. */
  readonly first: (type: string) => string | undefined;
  /** What it sends in each further second. */
  readonly each?: string;
  /** A stream has begun by then, so that no other route can take over. */
  readonly begins?: true;
}

const faults: Readonly<Record<string, Fault>> = {
  "hangs before its headers": { first: () => "" },
  "hangs after its headers": { first: head },
  "resets the connection": { first: () => undefined },
  "drips one byte a second": { first: (type) => `${head(type)}:`, each: " " },
  "sends half a body": { first: (type) => `${head(type)}{"id":"half","object":`, begins: true },
};

interface FaultyProvider extends AsyncDisposable {
  readonly port: number;
  readonly asked: number;
  /** Connections that the gateway has not closed. */
  readonly open: number;
  /** A second passes. */
  tick(): Promise<void>;
}

/** Reads one request; returns whether there was one. */
async function readRequest(connection: Deno.Conn): Promise<boolean> {
  const buffer = new Uint8Array(65_536);
  let text = "";
  for (;;) {
    const count = await connection.read(buffer);
    if (count === null) return false;
    text += new TextDecoder("latin1").decode(buffer.subarray(0, count));
    const [top = "", ...body] = text.split("\r\n\r\n");
    const bytes = Number(/content-length: (\d+)/i.exec(top)?.[1] ?? Infinity);
    if (body.join("\r\n\r\n").length >= bytes) return true;
  }
}

function faultyProvider({ first, each }: Fault, type: string): FaultyProvider {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const connections = new Set<Deno.Conn>();
  let asked = 0;
  const serve = async (connection: Deno.Conn) => {
    connections.add(connection);
    try {
      if (!await readRequest(connection)) return;
      asked++;
      const text = first(type);
      if (text === undefined) return;
      if (text !== "") await connection.write(new TextEncoder().encode(text));
      await connection.read(new Uint8Array(1));
    } catch {
      // The gateway closed it.
    } finally {
      if (connections.delete(connection)) connection.close();
    }
  };
  const serving = (async () => {
    for await (const connection of listener) void serve(connection);
  })();
  return {
    port: listener.addr.port,
    get asked() {
      return asked;
    },
    get open() {
      return connections.size;
    },
    async tick() {
      if (each === undefined) return;
      for (const connection of connections) {
        await connection.write(new TextEncoder().encode(each)).catch(() => {});
      }
    },
    async [Symbol.asyncDispose]() {
      listener.close();
      for (const connection of connections) connection.close();
      connections.clear();
      await serving;
      await passTurns(2);
    },
  };
}

interface Call {
  readonly kind: string;
  readonly path: string;
  readonly body: Record<string, unknown> | FormData;
  /** The style of the faulty route, where it is not the kind's only one. */
  readonly style?: string;
  readonly isStream?: true;
}

const message = { role: "user", content: "Xin chào" };
const chat = { model: "t", messages: [message] };
const messages = { ...chat, max_tokens: 64 };
const contents = { contents: [{ role: "user", parts: [{ text: "Xin chào" }] }] };

function transcription(): FormData {
  const form = new FormData();
  form.set("model", "t");
  const samples = 16_000;
  const wav = new Uint8Array(44 + samples * 2);
  const view = new DataView(wav.buffer);
  wav.set(new TextEncoder().encode("RIFF"), 0);
  view.setUint32(4, wav.length - 8, true);
  wav.set(new TextEncoder().encode("WAVEfmt "), 8);
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, 16_000, true);
  view.setUint32(28, 32_000, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  wav.set(new TextEncoder().encode("data"), 36);
  view.setUint32(40, samples * 2, true);
  form.set("file", new File([wav], "a.wav", { type: "audio/wav" }));
  return form;
}

const image = { model: "t", prompt: "x" };
const calls: Readonly<Record<string, Call>> = {
  "a Chat call": { kind: "chat", style: "chat", path: "/v1/chat/completions", body: chat },
  "a Messages call": { kind: "chat", style: "messages", path: "/v1/messages", body: messages },
  "a Responses call": {
    kind: "chat",
    style: "responses",
    path: "/v1/responses",
    body: { model: "t", input: "Xin chào" },
  },
  "a Gemini call": {
    kind: "chat",
    style: "gemini",
    path: "/v1beta/models/t:generateContent",
    body: contents,
  },
  "a converted call": { kind: "chat", style: "chat", path: "/v1/messages", body: messages },
  "a Chat stream": {
    kind: "chat",
    style: "chat",
    path: "/v1/chat/completions",
    body: { ...chat, stream: true },
    isStream: true,
  },
  "a Messages stream": {
    kind: "chat",
    style: "messages",
    path: "/v1/messages",
    body: { ...messages, stream: true },
    isStream: true,
  },
  "a completion": {
    kind: "completion",
    path: "/v1/completions",
    body: { model: "t", prompt: "x" },
  },
  "a streamed completion": {
    kind: "completion",
    path: "/v1/completions",
    body: { model: "t", prompt: "x", stream: true },
    isStream: true,
  },
  "embeddings": { kind: "embedding", path: "/v1/embeddings", body: { model: "t", input: "x" } },
  "ranks": {
    kind: "rerank",
    path: "/v1/rerank",
    body: { model: "t", query: "x", documents: ["x", "y"] },
  },
  "a moderation": { kind: "moderation", path: "/v1/moderations", body: { model: "t", input: "x" } },
  "an image": { kind: "image", path: "/v1/images/generations", body: image },
  "a streamed image": {
    kind: "image",
    path: "/v1/images/generations",
    body: { ...image, stream: true },
    isStream: true,
  },
  "speech": {
    kind: "speech",
    path: "/v1/audio/speech",
    body: { model: "t", input: "x", voice: "lan" },
  },
  "a transcription": {
    kind: "transcription",
    path: "/v1/audio/transcriptions",
    body: transcription(),
  },
  "a video": { kind: "video", path: "/v1/videos", body: image },
};

const prices: Readonly<Record<string, Record<string, unknown>>> = {
  chat: { unit: "token", vndPerMtok: 1_000_000 },
  completion: { unit: "token", vndPerMtok: 1_000_000 },
  embedding: { unit: "token", vndPerMtok: 1_000_000 },
  image: { unit: "image", vnd: 10 },
  transcription: { unit: "second", vndPerMinute: 600 },
  video: { unit: "video", tiers: [{ fromSeconds: 1, toSeconds: 30, vnd: 10 }] },
};

interface World extends MediaWorld {
  /** Moves clock and timers on together. */
  readonly pass: (ms: number) => void;
}

async function openWorld({ kind, style }: Call, faulty: FaultyProvider): Promise<World> {
  const own = style === undefined ? {} : { style };
  const timers = new ManualTime();
  const world = await openMediaWorld({
    deadlines: new Deadlines({ clock: timers, timer: timers }),
    providers: { p1: faulty.port },
    models: [{
      id: "t",
      kind,
      family: "test",
      price: prices[kind] ?? { unit: "request", vnd: 10 },
      routes: [{ provider: "p1", ...own }, { provider: "sandbox", ...own, priority: 1 }],
      ...(kind === "video" && { videoRules: { profile: "A" } }),
    }],
  });
  const pass = (ms: number) => {
    world.test.time.advance(ms);
    timers.advance(ms);
  };
  return Object.assign(world, { pass });
}

interface Answer {
  readonly response: Response;
  readonly text: string;
}

async function post(world: MediaWorld, { path, body }: Call): Promise<Answer> {
  const response = body instanceof FormData
    ? await world.send(path, { method: "POST", body })
    : await world.post(path, body, { "anthropic-version": "2023-06-01" });
  return { response, text: await response.text() };
}

/** Lets seconds pass until the call is answered; returns how many. */
async function secondsUntil(
  world: World,
  faulty: FaultyProvider,
  calling: Promise<unknown>,
  most: number,
): Promise<number> {
  let isAnswered = false;
  void calling.finally(() => isAnswered = true);
  for (let seconds = 0; seconds < most; seconds++) {
    // What the gateway does at this moment takes turns and sockets, but no time of its clock.
    await passTurns(5);
    if (isAnswered) return seconds;
    await faulty.tick();
    world.pass(1_000);
  }
  await until(() => isAnswered, `an answer within ${most} s`, 5_000);
  return most;
}

for (const [what, call] of Object.entries(calls)) {
  for (const [how, fault] of Object.entries(faults)) {
    // A stream that has begun stays on its route, and a body that is no stream fails at once.
    if (call.isStream && fault.begins) continue;
    Deno.test(`of two routes one ${how}: ${what} is answered by the other`, async () => {
      await using faulty = faultyProvider(fault, call.isStream ? events : json);
      await using world = await openWorld(call, faulty);
      const calling = post(world, call);
      await until(() => faulty.asked > 0, "the first route is asked", 5_000);
      const boundMs = call.kind === "chat" && call.isStream ? defaultFirstOutputMs : unknownWaitMs;
      const seconds = await secondsUntil(world, faulty, calling, boundMs / 1_000 + 1);
      assert(seconds <= boundMs / 1_000 + 1, `${seconds} s`);
      const { response, text } = await calling;
      assertEquals(response.status, 200, text);
      await until(() => faulty.open === 0, "the loser is cancelled", 5_000);
      const receipt = await world.receiptOf(response);
      assertEquals(receipt?.attempts.length, 2);
      assertEquals(receipt?.attempts.filter(({ outcome }) => outcome === "ok").length, 1);
      assertEquals(receipt?.route?.startsWith("sandbox/"), true);
      const { costMicroVnd } = receipt!;
      assertEquals(await world.balanceVnd(), 1_000_000 - Number(costMicroVnd) / 1e6);
      const { problems } = await verifyStore(world.gateway.kv);
      assertEquals(problems, []);
    });
  }
}

Deno.test("a route that hangs is left after three calls; of those that follow only probes wait, and briefly", async () => {
  const call = calls["a Chat call"]!;
  await using faulty = faultyProvider(faults["hangs before its headers"]!, json);
  await using world = await openWorld(call, faulty);
  const waited: number[] = [];
  const asked: number[] = [];
  for (let i = 0; i < 30; i++) {
    const before = faulty.asked;
    const calling = post(world, call);
    let isAnswered = false;
    void calling.finally(() => isAnswered = true);
    // The clock stands until the call is held by the hanging route: whatever else it needs takes no time of the gateway.
    await until(() => isAnswered || faulty.open > 0, "an answer, or the hanging route", 5_000);
    waited.push(await secondsUntil(world, faulty, calling, unknownWaitMs / 1_000 + 1));
    asked.push(faulty.asked - before);
    assertEquals((await calling).response.status, 200);
    await until(() => faulty.open === 0, "the loser is cancelled", 5_000);
  }
  assertEquals(asked.slice(0, 3), [1, 1, 1]);
  assert(asked.slice(3).filter((times) => times > 0).length <= 3, asked.join());
  assert(
    waited.every((seconds, i) => seconds <= (i < 3 ? 5 : asked[i] === 0 ? 0 : 3)),
    waited.join(),
  );
});
