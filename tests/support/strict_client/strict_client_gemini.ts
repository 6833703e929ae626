/**
 * A client of the Gemini style that accepts only what the vendor's library and its types allow. Written from those types
 * (`@google/genai`), apart from the gateway's own reader.
 */
import { z } from "zod";
import { accept, readEvents, StrictClientError } from "./strict_client.ts";

const part = z.strictObject({
  text: z.string().optional(),
  thought: z.literal(true).optional(),
  thoughtSignature: z.base64().min(1).optional(),
  functionCall: z.strictObject({
    id: z.string().min(1),
    name: z.string().min(1),
    args: z.record(z.string(), z.json()),
  }).optional(),
  executableCode: z.strictObject({ language: z.literal("PYTHON"), code: z.string() }).optional(),
  codeExecutionResult: z.strictObject({
    outcome: z.enum(["OUTCOME_OK", "OUTCOME_FAILED"]),
    output: z.string(),
  }).optional(),
});

export type StrictPart = z.infer<typeof part>;

const count = z.int().min(0);

const usage = z.strictObject({
  promptTokenCount: count,
  candidatesTokenCount: count,
  totalTokenCount: count,
  cachedContentTokenCount: count.optional(),
  thoughtsTokenCount: count.optional(),
}).refine(
  (counts) =>
    counts.totalTokenCount ===
      counts.promptTokenCount + counts.candidatesTokenCount + (counts.thoughtsTokenCount ?? 0),
  "the total is not the sum",
);

const chunk = z.strictObject({
  candidates: z.array(z.strictObject({
    content: z.strictObject({ parts: z.array(part), role: z.literal("model") }),
    finishReason: z.enum(["STOP", "MAX_TOKENS", "SAFETY", "OTHER"]).optional(),
    finishMessage: z.string().optional(),
    index: z.literal(0),
    groundingMetadata: z.strictObject({
      groundingChunks: z.array(
        z.strictObject({ web: z.strictObject({ uri: z.string(), title: z.string() }) }),
      ),
      groundingSupports: z.array(z.strictObject({
        segment: z.strictObject({ text: z.string() }),
        groundingChunkIndices: z.array(count),
      })).optional(),
    }).optional(),
  })).length(1),
  usageMetadata: usage.optional(),
  modelVersion: z.string().min(1),
  responseId: z.string().min(1),
});

export type StrictContent = z.infer<typeof chunk>;

const failure = z.strictObject({
  error: z.strictObject({
    code: z.int().min(400).max(599),
    message: z.string(),
    status: z.string().regex(/^[A-Z_]+$/),
    details: z.array(z.looseObject({ "@type": z.string() })),
  }),
});

export type GeminiOutcome =
  | { readonly kind: "answer"; readonly content: StrictContent }
  | { readonly kind: "error"; readonly text: string };

/** Reads a whole answer. @throws {StrictClientError} */
export function readGeminiAnswer(body: unknown): StrictContent {
  const read = parse(body);
  accept(read.candidates[0]?.finishReason !== undefined, "no finish reason");
  return read;
}

function parse(body: unknown): StrictContent {
  const read = chunk.safeParse(body);
  if (!read.success) throw new StrictClientError(read.error.message);
  return read.data;
}

/**
 * Reads a stream as the vendor's library does: an error is an object by itself, everything else an event.
 *
 * @throws {StrictClientError}
 */
export function readGeminiStream(bytes: Uint8Array): GeminiOutcome {
  const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  const errorAt = text.search(/(?:^|\n)\{/);
  const events = errorAt === -1 ? text : text.slice(0, errorAt);
  const chunks = readEvents(new TextEncoder().encode(events && `${events.trimEnd()}\n\n`))
    .map(({ data }) => parse(JSON.parse(data)));
  const ends = chunks.findIndex(({ candidates }) => candidates[0]?.finishReason !== undefined);
  if (errorAt !== -1) {
    const read = failure.safeParse(JSON.parse(text.slice(errorAt)));
    if (!read.success) throw new StrictClientError(read.error.message);
    accept(ends === -1, "an error after the end");
    return { kind: "error", text: read.data.error.message };
  }
  const last = chunks.at(-1);
  if (last === undefined) throw new StrictClientError("an empty stream");
  accept(ends === chunks.length - 1, "the finish reason is not in the last chunk");
  const [candidate] = last.candidates;
  if (candidate === undefined) throw new StrictClientError("no candidate");
  const parts = chunks.flatMap(({ candidates }) => candidates[0]?.content.parts ?? []);
  return {
    kind: "answer",
    content: { ...last, candidates: [{ ...candidate, content: { parts, role: "model" } }] },
  };
}
