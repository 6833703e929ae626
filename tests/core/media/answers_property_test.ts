/**
 * Answers of media providers, mutated: whatever a provider sends with a success status is either delivered as it came
 * and readable for a client, or a free failure. Each kind has a judge of its own, which parses the whole answer and
 * knows nothing of the readers in `core/media/`.
 */
import { assert, assertEquals } from "../../support/assert.ts";
import { casesOf } from "../../support/property.ts";
import { report } from "../../support/report.ts";
import { runRandom } from "../../support/random.ts";
import {
  type Frame,
  jsonMutations,
  type Mutation,
  MutationTally,
  oddNumber,
  streamMutations,
  streamText,
  textMutations,
} from "../../support/mutations.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/lib/json/json.ts";
import { bodyOf } from "../../../core/net/transport/read_whole.ts";
import { UpstreamFailure, type UpstreamResponse } from "../../../core/net/transport/transport.ts";
import type { StartedStream } from "../../../core/calls/attempts/attempt.ts";
import type { MediaExchange, MediaWork } from "../../../core/media/base/exchange.ts";
import { embeddingWork, readEmbeddingRequest } from "../../../core/media/embeddings/request.ts";
import { readRerankRequest, rerankWork } from "../../../core/media/rerank/request.ts";
import { moderationWork, readModerationRequest } from "../../../core/media/moderation/request.ts";
import { imageWork } from "../../../core/media/images/attempt.ts";
import type { ImagePipe } from "../../../core/media/images/answer.ts";
import { readImageRequest } from "../../../core/media/images/request.ts";
import { readSpeechRequest, speechWork } from "../../../core/media/speech/attempt.ts";
import {
  readTranscriptionRequest,
  transcriptionWork,
} from "../../../core/media/transcription/attempt.ts";
import { completionWork } from "../../../core/media/completion/attempt.ts";
import { readCompletionRequest } from "../../../core/media/completion/request.ts";
import { chimeMp3Base64 } from "../../../sandbox/provider/media/assets/chime_mp3.ts";

const encoder = new TextEncoder();
const bytesOf = (value: Json) => encoder.encode(JSON.stringify(value));

/** What a client got of one answer. */
interface Delivered {
  readonly text: string;
  /** Pictures that are charged, where they are counted. */
  readonly pictures?: number;
}

/** What is delivered, or `undefined` for a free failure. */
type Fate = Delivered | undefined;

/** One kind of call: recorded answers of it, how they are delivered, and what a client can read. */
interface Kind {
  readonly name: string;
  readonly contentType: string;
  readonly answers: readonly (Json | readonly Frame[] | string)[];
  readonly deliver: (answer: UpstreamResponse) => Promise<Fate>;
  /** Why a client cannot read what was delivered; `undefined` if it can. */
  readonly fault: (delivered: Delivered) => string | undefined;
}

/** Runs the part of the work that reads an answer, as the endpoint's attempt does. */
async function received<Value>(work: MediaWork<Value>, answer: UpstreamResponse): Promise<Value> {
  const exchange = { response: Promise.resolve(answer), cancel: () => {} };
  const asked = {
    exchange,
    counter: { grow: () => undefined },
    answered: () => Promise.resolve(answer),
    route: { upstreamModel: "up", capabilities: {} },
  };
  // The readers of answers use no more of an exchange than this.
  return await work.receive(asked as unknown as MediaExchange);
}

/** Reads a stream to its end; `undefined` if it failed, also after output: all media streams are free then. */
async function drained(started: StartedStream): Promise<string | undefined> {
  const { pipe, body } = started;
  const parts = [started.preamble.slice()];
  while (!started.bodyEnded && pipe.reading.state === "open") {
    const chunk = await body.read();
    if (chunk === null) break;
    parts.push(pipe.push(chunk).slice());
  }
  if (pipe.reading.state !== "error") parts.push(pipe.end().slice());
  if (pipe.reading.state !== "completed") return undefined;
  return parts.map((part) => new TextDecoder().decode(part)).join("");
}

function parsed(text: string): Json | undefined {
  try {
    const value: Json = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

/** The payloads of the events that were delivered. */
function eventsOf(text: string): JsonObject[] {
  return text.split("\n\n").flatMap((block) => {
    const data = block.split("\n").filter((line) => line.startsWith("data:"))
      .map((line) => line.slice(5)).join("\n");
    const value = data === "" ? undefined : parsed(data);
    return isJsonObject(value) ? [value] : [];
  });
}

const textIn = (value: Json | undefined) => typeof value === "string" && value !== "";

/** Judges each element of a list of results. */
function listFault(
  { text }: Delivered,
  names: readonly string[],
  isResult: (item: JsonObject, all: readonly JsonObject[]) => boolean,
): string | undefined {
  const answer = parsed(text);
  if (!isJsonObject(answer)) return "no JSON object";
  const list = names.map((name) => answer[name]).find(Array.isArray);
  if (list === undefined || list.length === 0) return "no list";
  const items = list.filter(isJsonObject);
  if (items.length < list.length) return "an element is no object";
  return items.every((item) => isResult(item, items)) ? undefined : "an element is no result";
}

function isPlace(item: JsonObject, all: readonly JsonObject[], below: number): boolean {
  const { index } = item;
  return typeof index === "number" && Number.isInteger(index) && index >= 0 && index < below &&
    all.filter((other) => other["index"] === index).length === 1;
}

const isVector = (value: Json | undefined) =>
  typeof value === "string"
    ? value.length >= 4
    : Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "number");

function listKind(
  name: string,
  work: MediaWork<{ readonly bytes: unknown }>,
  answers: readonly Json[],
  fault: Kind["fault"],
): Kind {
  return {
    name,
    contentType: "application/json",
    answers,
    deliver: async (answer) => {
      const { bytes } = await received(work, answer);
      if (!(bytes instanceof Uint8Array)) throw new Error("a small answer is one piece");
      return { text: new TextDecoder().decode(bytes) };
    },
    fault,
  };
}

const embedded = readEmbeddingRequest(bytesOf({ model: "m", input: ["one", "two"] }));
const ranked = readRerankRequest(bytesOf({ model: "m", query: "q", documents: ["a", "b", "c"] }));
const judged = readModerationRequest(bytesOf({ model: "m", input: ["one", "two"] }), undefined);

const usage = { prompt_tokens: 4, total_tokens: 4 };
const vectorOf = (index: number, embedding: Json) => ({ object: "embedding", index, embedding });
const verdict = (flagged: boolean) => ({
  flagged,
  categories: { violence: flagged },
  category_scores: { violence: 0.25 },
});

const lists: readonly Kind[] = [
  listKind(
    "embeddings",
    embeddingWork(embedded),
    [
      { object: "list", model: "m", data: [vectorOf(0, [0.5, -1]), vectorOf(1, [2e-3])], usage },
      { object: "list", model: "m", data: [vectorOf(1, "AAAAPw=="), vectorOf(0, "AACAPw==")] },
    ],
    (delivered) =>
      listFault(
        delivered,
        ["data"],
        (item, all) =>
          all.length === 2 && isVector(item["embedding"]) &&
          ((item["index"] ?? null) === null || isPlace(item, all, 2)),
      ),
  ),
  listKind(
    "rerank",
    rerankWork(ranked),
    [
      {
        id: "r",
        results: [{ index: 2, relevance_score: 0.9 }, { index: 0, relevance_score: -1 }],
        meta: { billed_units: { search_units: 1 } },
      },
      { model: "m", data: [{ index: 1, score: 0.5, document: { text: "b" } }], usage },
    ],
    (delivered) =>
      listFault(delivered, ["results", "data"], (item, all) =>
        isPlace(item, all, 3) &&
        [item["relevance_score"], item["score"]].some((score) => typeof score === "number")),
  ),
  listKind(
    "moderations",
    moderationWork(judged),
    [{ id: "m", model: "m", results: [verdict(false), verdict(true)] }],
    (delivered) =>
      listFault(
        delivered,
        ["results"],
        (item, all) => all.length === 2 && typeof item["flagged"] === "boolean",
      ),
  ),
];

function imageKind(
  name: string,
  count: number,
  stream: boolean,
  answers: Kind["answers"],
): Kind {
  const body = bytesOf({ model: "m", prompt: "x", n: count, stream });
  const request = readImageRequest("generations", body, "application/json");
  const work = imageWork({ request, requestId: "r", nowSeconds: 0 });
  const hasPicture = (value: Json) =>
    isJsonObject(value) && (textIn(value["b64_json"]) || textIn(value["url"]));
  const whole = (text: string) => {
    const answer = parsed(text);
    const list = isJsonObject(answer) ? answer["data"] : undefined;
    return Array.isArray(list) ? list.filter(hasPicture).length : 0;
  };
  const streamed = (text: string) =>
    eventsOf(text).filter((event) =>
      hasPicture(event) && !String(event["type"]).endsWith("partial_image")
    ).length;
  const finished = async (started: StartedStream, images: ImagePipe): Promise<Fate> => {
    const text = await drained(started);
    return text === undefined ? undefined : { text, pictures: images.counts().finished };
  };
  return {
    name,
    contentType: stream ? "text/event-stream" : "application/json",
    answers,
    deliver: async (answer) => {
      const result = await received(work, answer);
      if (result.kind === "stream") return await finished(result.started, result.images);
      return { text: new TextDecoder().decode(result.bytes), pictures: result.images };
    },
    fault: ({ text, pictures = 0 }) => {
      const seen = stream ? streamed(text) : whole(text);
      if (seen === 0) return "no picture";
      // The event's name outside of the JSON may say more than its type within.
      const isCounted = stream ? pictures <= seen + count : pictures === seen;
      return isCounted ? undefined : `${pictures} pictures are charged, ${seen} arrived`;
    },
  };
}

const namedFrame = (type: string, members: JsonObject = {}): Frame => ({
  event: type,
  data: JSON.stringify({ type, ...members }),
});
const bareFrame = (type: string, members: JsonObject = {}): Frame => ({
  ...namedFrame(type, members),
  event: undefined,
});
const pictureUrl = (index: number) => `https://images.example.com/${index}.png`;

const images: readonly Kind[] = [
  imageKind("images", 2, false, [
    {
      created: 1,
      data: [{ b64_json: "aGk=" }, { url: pictureUrl(0) }],
      usage: { total_tokens: 3 },
    },
    { created: 1, data: [{ url: pictureUrl(0), revised_prompt: "y" }] },
  ]),
  imageKind("images, streamed", 1, true, [[
    namedFrame("image_generation.partial_image", { b64_json: "aGk=", partial_image_index: 0 }),
    namedFrame("image_generation.completed", { b64_json: "aGkh", usage: { total_tokens: 3 } }),
  ]]),
  imageKind("several images, streamed", 3, true, [[
    ...[0, 1, 2].map((image_index) =>
      namedFrame("image_generation.partial_succeeded", {
        image_index,
        url: pictureUrl(image_index),
      })
    ),
    namedFrame("image_generation.completed", { usage: { generated_images: 3 } }),
  ]]),
];

const speechRequest = (stream: boolean) =>
  readSpeechRequest(
    bytesOf({ model: "m", input: "hi", voice: "v", ...(stream ? { stream_format: "sse" } : {}) }),
  );

const speech: readonly Kind[] = [
  {
    name: "speech",
    contentType: "audio/mpeg",
    answers: [atob(chimeMp3Base64.join("")).slice(0, 400)],
    deliver: async (answer) => {
      const result = await received(speechWork(speechRequest(false), "r"), answer);
      if (result.kind !== "audio") throw new Error("no audio");
      return { text: new TextDecoder("latin1").decode(result.firstChunk) };
    },
    fault: ({ text }) => text === "" || /^\s*[{<]/.test(text) ? "no audio" : undefined,
  },
  {
    name: "speech, streamed",
    contentType: "text/event-stream",
    answers: [[
      bareFrame("speech.audio.delta", { audio: "aGk=" }),
      bareFrame("speech.audio.delta", { audio: "aGkh" }),
      bareFrame("speech.audio.done", { usage: { total_tokens: 3 } }),
    ]],
    deliver: async (answer) => {
      const result = await received(speechWork(speechRequest(true), "r"), answer);
      const text = result.kind === "events" ? await drained(result.started) : undefined;
      return text === undefined ? undefined : { text };
    },
    fault: ({ text }) =>
      eventsOf(text).some(({ type = null, audio = null }) =>
          type === "speech.audio.delta" ? textIn(audio) : type !== "speech.audio.done"
        )
        ? undefined
        : "no audio",
  },
];

function transcriptKind(
  name: string,
  fields: Readonly<Record<string, string>>,
  contentType: string,
  answers: Kind["answers"],
  fault: Kind["fault"],
): Kind {
  const sound = atob(chimeMp3Base64.join(""));
  const line = "--x\r\ncontent-disposition: form-data; name=";
  const form = Object.entries({ model: "m", ...fields })
    .map(([field, value]) => `${line}"${field}"\r\n\r\n${value}\r\n`).join("") +
    `${line}"file"; filename="a.mp3"\r\n\r\n${sound}\r\n--x--\r\n`;
  const body = Uint8Array.from(form, (character) => character.charCodeAt(0));
  const request = readTranscriptionRequest(
    "transcriptions",
    body,
    "multipart/form-data; boundary=x",
  );
  return {
    name,
    contentType,
    answers,
    deliver: async (answer) => {
      const result = await received(transcriptionWork(request, "r"), answer);
      const text = result.kind === "answer"
        ? new TextDecoder().decode(result.bytes)
        : await drained(result.started);
      return text === undefined ? undefined : { text };
    },
    fault,
  };
}

const hasText = ({ text }: Delivered) => {
  const answer = parsed(text);
  return isJsonObject(answer) && typeof answer["text"] === "string" ? undefined : "no text";
};

const transcripts: readonly Kind[] = [
  transcriptKind("transcripts", {}, "application/json", [
    { text: "Xin chào", usage: { type: "duration", seconds: 1 } },
    { task: "transcribe", duration: 1, text: "hi", segments: [{ id: 0, text: "hi" }], words: [] },
  ], hasText),
  transcriptKind(
    "transcripts with times",
    { response_format: "vtt" },
    "text/vtt",
    ["WEBVTT\n\n00:00.000 --> 00:13.200\nXin chào\n"],
    ({ text }) => text === "" || text.startsWith("{") ? "no text" : undefined,
  ),
  transcriptKind(
    "transcripts, streamed",
    { stream: "true" },
    "text/event-stream",
    [[
      bareFrame("transcript.text.delta", { delta: "Xin " }),
      bareFrame("transcript.text.delta", { delta: "chào" }),
      bareFrame("transcript.text.done", { text: "Xin chào", usage: { total_tokens: 3 } }),
    ]],
    ({ text }) =>
      eventsOf(text).some(({ type = null, delta = null, text: whole = null }) =>
          type === "transcript.text.done"
            ? typeof whole === "string"
            : type === "transcript.text.delta"
            ? textIn(delta)
            : true
        )
        ? undefined
        : "no text",
  ),
];

function completionKind(name: string, stream: boolean, answers: Kind["answers"]): Kind {
  const request = readCompletionRequest(bytesOf({ model: "m", prompt: "def f(", stream }));
  const work = completionWork({
    request,
    requestId: "r",
    nowSeconds: 0,
    maxAnswerBytes: 1e6,
    outputLimit: () => undefined,
  });
  const textOf = (answer: JsonObject) =>
    Array.isArray(answer["choices"])
      ? answer["choices"].map((one) => isJsonObject(one) ? one["text"] : undefined)
      : [];
  return {
    name,
    contentType: stream ? "text/event-stream" : "application/json",
    answers,
    deliver: async (answer) => {
      const result = await received(work, answer);
      const text = result.kind === "answer"
        ? new TextDecoder().decode(result.bytes)
        : await drained(result.started);
      return text === undefined ? undefined : { text };
    },
    fault: ({ text }) => {
      const whole = parsed(text);
      const chunks = stream ? eventsOf(text) : isJsonObject(whole) ? [whole] : [];
      return chunks.flatMap(textOf).some((one) => typeof one === "string") ? undefined : "no text";
    },
  };
}

const choice = (text: string, finish_reason: string | null) => ({
  index: 0,
  text,
  logprobs: null,
  finish_reason,
});
const head = { id: "cmpl-1", object: "text_completion", created: 1, model: "up" };
const counted = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

const completions: readonly Kind[] = [
  completionKind("completions", false, [{
    ...head,
    choices: [choice("x):", "stop")],
    usage: counted,
  }]),
  completionKind("completions, streamed", true, [[
    { event: undefined, data: JSON.stringify({ ...head, choices: [choice("x)", null)] }) },
    { event: undefined, data: JSON.stringify({ ...head, choices: [choice(":", "stop")] }) },
    { event: undefined, data: JSON.stringify({ ...head, choices: [], usage: counted }) },
    { event: undefined, data: "[DONE]" },
  ]]),
];

function pick<One>(all: readonly One[]): One {
  return all[Math.floor(runRandom() * all.length)] as One;
}

const kinds = [...lists, ...images, ...speech, ...transcripts, ...completions];

const isFrames = (answer: Kind["answers"][number]): answer is readonly Frame[] =>
  Array.isArray(answer) && answer.every((one) => isJsonObject(one) && "data" in one);

function answerText(answer: Kind["answers"][number]): string {
  if (isFrames(answer)) return streamText(answer);
  return typeof answer === "string" ? answer : JSON.stringify(answer);
}

function mutationsOf(answer: Kind["answers"][number]): Mutation<string>[] {
  if (isFrames(answer)) return streamMutations(answer);
  const texts = textMutations(answerText(answer));
  const error = { error: { message: "overloaded", type: "server_error" } };
  const insteads = [error, {}, { code: 429, msg: "busy" }, null, oddNumber].map(
    (value): Mutation<string> => {
      const text = JSON.stringify(value);
      return { kind: "instead", at: `all: ${text}`, apply: () => text };
    },
  );
  if (typeof answer === "string") return [...texts, ...insteads];
  const changes = jsonMutations(answer as Json);
  return [
    ...texts,
    ...insteads,
    ...changes.map(({ kind, at, apply }) => ({ kind, at, apply: () => JSON.stringify(apply()) })),
  ];
}

/** Answers with these bytes as a provider does. */
function responseOf({ contentType, name }: Kind, text: string): UpstreamResponse {
  const bytes = name === "speech"
    ? Uint8Array.from(text, (character) => character.charCodeAt(0) & 0xff)
    : encoder.encode(text);
  return {
    status: 200,
    header: (header) => header === "content-type" ? contentType : undefined,
    body: bodyOf(bytes),
  };
}

async function fateOf(kind: Kind, text: string): Promise<Fate> {
  try {
    return await kind.deliver(responseOf(kind, text));
  } catch (failure) {
    if (failure instanceof GatewayError || failure instanceof UpstreamFailure) return undefined;
    throw failure;
  }
}

/** Delivers a changed answer and judges what came of it. */
async function judge(kind: Kind, { at, apply }: Pick<Mutation<string>, "at" | "apply">) {
  const text = apply();
  const fate = await fateOf(kind, text);
  const fault = fate === undefined ? undefined : kind.fault(fate);
  if (fault !== undefined) throw new Error(`${at}: ${fault}, yet paid\n${text}\n${fate?.text}`);
  return fate === undefined ? "free" : "delivered";
}

for (const kind of kinds) {
  Deno.test(`${kind.name}: a changed answer is readable, or a free failure`, async () => {
    const tally = new MutationTally();
    for (const answer of kind.answers) {
      const whole = await fateOf(kind, answerText(answer));
      assert(whole !== undefined, `${kind.name}: ${answerText(answer)} is an answer`);
      assertEquals(kind.fault(whole), undefined, answerText(answer));
      for (const mutation of mutationsOf(answer)) {
        tally.add(mutation.kind, await judge(kind, mutation));
      }
    }
    // What is cut is never paid, and something else is delivered.
    assert(tally.lines().some((line) => line.includes("delivered")), tally.lines().join("\n"));
  });
}

Deno.test("an answer that is changed twice is readable, or a free failure", async () => {
  const tally = new MutationTally();
  const kindsOfJson = kinds.flatMap((kind) =>
    kind.answers.filter((answer) => isJsonObject(answer as Json)).map((answer) => ({
      kind,
      answer,
    }))
  );
  for (let left = casesOf(20_000); left > 0; left--) {
    const { kind, answer } = pick(kindsOfJson);
    const first = pick(jsonMutations(answer as Json));
    const second = pick(jsonMutations(first.apply()));
    const at = `${first.at}, then ${second.at}`;
    tally.add(kind.name, await judge(kind, { at, apply: () => JSON.stringify(second.apply()) }));
  }
  report(`media: ${tally.total} answers changed twice; ${tally.lines().join("; ")}`);
});
