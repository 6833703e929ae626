/** Recorded streams, converted and as whole answers. */
import { assert } from "../support/assert.ts";
import type { ProviderStyle, StreamReading, Style } from "../../core/wire/contract/contract.ts";
import { createConvertingPipe } from "../../core/wire/convert/converting_pipe.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/lib/json/json.ts";
import { concatBytes } from "../support/strict_client/strict_client.ts";
import { context, list, readStream } from "./clients.ts";
import type { Recording } from "./recordings.ts";

/** Joins the first choice of a recorded Chat stream, and tolerates the mistakes of servers. Only for comparison. */
function wholeChatAnswer(stream: Uint8Array): JsonObject {
  const message: JsonObject = { role: "assistant", content: null, refusal: null };
  const answer: JsonObject = { object: "chat.completion" };
  const calls: Call[] = [];
  let finish: Json = null;
  for (const chunk of chunks(stream)) {
    for (const key of ["id", "model", "created", "service_tier"]) {
      if (chunk[key]) answer[key] = chunk[key];
    }
    const groq = isJsonObject(chunk["x_groq"]) ? chunk["x_groq"] : {};
    for (const usage of [groq["usage"], chunk["usage"]]) {
      if (isJsonObject(usage)) answer["usage"] = usage;
    }
    if (isJsonObject(chunk["moderation"])) answer["moderation"] = chunk["moderation"];
    for (const key of ["search_results", "citations"]) {
      if (Array.isArray(chunk[key])) answer[key] = chunk[key];
    }
    const choice = list(chunk["choices"]).find((one) => (one["index"] ?? 0) === 0);
    if (choice === undefined) continue;
    const delta = isJsonObject(choice["delta"]) ? choice["delta"] : {};
    for (const key of ["content", "refusal", "reasoning_content", "reasoning"]) {
      if (typeof delta[key] === "string") message[key] = `${message[key] ?? ""}${delta[key]}`;
    }
    addParts(message, list(delta["content"]));
    addDetails(message, list(delta["reasoning_details"]));
    addAnnotations(message, list(delta["annotations"]));
    for (const piece of list(delta["tool_calls"])) addCall(calls, piece);
    if (typeof choice["finish_reason"] === "string") finish = choice["finish_reason"];
  }
  if (calls.length > 0) message["tool_calls"] = calls.map(({ index: _, ...call }) => ({ ...call }));
  return { ...answer, choices: [{ index: 0, message, finish_reason: finish }] };
}

function chunks(stream: Uint8Array): JsonObject[] {
  return new TextDecoder().decode(stream).split("\n").flatMap((line) => {
    if (!line.startsWith("data: {")) return [];
    const value: Json = JSON.parse(line.slice(6));
    return isJsonObject(value) ? [value] : [];
  });
}

/** Adds parts of content to a message. Mistral writes thinking and the following text as parts. */
function addParts(message: JsonObject, parts: readonly JsonObject[]): void {
  for (const part of parts) {
    const isThinking = part["type"] === "thinking";
    const key = isThinking ? "reasoning_content" : "content";
    for (const { text } of isThinking ? list(part["thinking"]) : [part]) {
      if (typeof text === "string") message[key] = `${message[key] ?? ""}${text}`;
    }
  }
}

interface Call extends JsonObject {
  index: Json;
  id: string;
  type: "function";
  function: { name: string; arguments: string };
}

function addCall(calls: Call[], piece: JsonObject): void {
  const inner = isJsonObject(piece["function"]) ? piece["function"] : {};
  const args = typeof inner["arguments"] === "string" ? inner["arguments"] : "";
  const open = calls.find((call) => call.index === piece["index"]);
  if (open !== undefined) {
    open.function.arguments += args;
    return;
  }
  calls.push({
    index: piece["index"] ?? null,
    id: String(piece["id"] ?? ""),
    type: "function",
    function: { name: String(inner["name"] ?? ""), arguments: args },
  });
}

/** Servers send each source once, or all of them again and again. */
function addAnnotations(message: JsonObject, annotations: readonly JsonObject[]): void {
  for (const annotation of annotations) {
    const known = list(message["annotations"]);
    if (known.some((one) => JSON.stringify(one) === JSON.stringify(annotation))) continue;
    message["annotations"] = [...known, annotation];
  }
}

/** Details of one index are one: texts joined, the proof kept. */
function addDetails(message: JsonObject, details: readonly JsonObject[]): void {
  for (const detail of details) {
    const known = list(message["reasoning_details"]);
    const earlier = known.find((one) => one["index"] === detail["index"]);
    if (earlier === undefined) message["reasoning_details"] = [...known, { ...detail }];
    else {
      const text = `${earlier["text"] ?? ""}${detail["text"] ?? ""}`;
      Object.assign(earlier, detail, { text });
    }
  }
}

export interface ConvertedStream {
  readonly bytes: Uint8Array;
  readonly reading: StreamReading;
}

/** Converts a stream that arrives in `chunks`, as a call does. */
export function convertStream(
  from: ProviderStyle,
  to: Style,
  chunks: readonly Uint8Array[],
): ConvertedStream {
  const pipe = createConvertingPipe(from, to, context, {});
  const out: Uint8Array[] = [];
  for (const chunk of chunks) {
    // The owner of the bytes may reuse them, so the pipe must copy what it keeps.
    const lent = chunk.slice();
    out.push(pipe.push(lent));
    lent.fill(0);
    if (pipe.reading.state !== "open") break;
  }
  out.push(pipe.end());
  return { bytes: concatBytes(out), reading: pipe.reading };
}

/** Returns the content of a recorded stream as a whole answer of its own style. */
export function contentOf({ style, stream }: Recording): JsonObject {
  assert(stream !== undefined);
  if (style === "chat") return wholeChatAnswer(stream);
  const outcome = readStream(style, stream);
  assert(outcome.kind === "answer");
  return outcome.answer;
}
