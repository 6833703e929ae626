/**
 * Collects the output of a native Responses stream, in case the gateway ends the stream: the style's closing event repeats
 * the whole output, and official libraries read the answer from there. The size is bounded; a longer stream closes without
 * output.
 */
import type { Json, JsonObject } from "../../../lib/json/json.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import { refusalPart, summaryParts, textPart } from "./output_items.ts";

/** Most characters kept of one stream: about 16,000 tokens. */
const keptChars = 65_536;

/** Types of delta events, with the members that they extend. */
const partOfDelta = {
  "response.output_text.delta": "output_text",
  "response.refusal.delta": "refusal",
  "response.reasoning_summary_text.delta": "summary",
  "response.function_call_arguments.delta": "arguments",
  "response.custom_tool_call_input.delta": "input",
} as const;

/** The events that close the text of the open part, then the part itself. */
const textEnds: ReadonlySet<string> = new Set(
  Object.keys(partOfDelta).map((name) => name.replace(/delta$/, "done")),
);
const partEnds: ReadonlySet<string> = new Set([
  "response.content_part.done",
  "response.reasoning_summary_part.done",
]);

type PartKind = (typeof partOfDelta)[keyof typeof partOfDelta];

const textOfCall: Readonly<Record<string, PartKind>> = {
  function_call: "arguments",
  custom_tool_call: "input",
};

/** A streamed piece of text. */
export interface Delta {
  readonly event: string;
  readonly outputIndex: number;
  /** The index of the content part or summary part. */
  readonly partIndex: number;
  /** The JSON literal, including quotes. */
  readonly literal: string;
}

interface KeptPart {
  readonly kind: PartKind;
  readonly index: number;
  /** JSON literals without quotes, joined. */
  inner: string;
  /** Closing events that the client has received. */
  closed: "open" | "text" | "part";
}

interface KeptItem {
  item: JsonObject;
  isDone: boolean;
  readonly parts: KeptPart[];
}

/** One event: its type and its members. */
export type ClosingEvent = readonly [type: string, members: JsonObject];

/** Collects the output items of a Responses stream, for streams whose end lacks them. */
export class KeptOutput {
  readonly #items = new Map<number, KeptItem>();
  #chars = 0;

  get #isOver(): boolean {
    return this.#chars > keptChars;
  }

  /** Whether an event has content that is kept. */
  keeps(event: string): boolean {
    if (this.#isOver) return false;
    return event in partOfDelta || textEnds.has(event) || partEnds.has(event);
  }

  /** Takes an event without a delta for which {@linkcode keeps} is true: it closes the last part of its item. */
  ended(event: string, outputIndex: number): void {
    const last = this.#items.get(outputIndex)?.parts.at(-1);
    if (last !== undefined) last.closed = partEnds.has(event) ? "part" : "text";
  }

  add(outputIndex: number, item: JsonObject): void {
    if (!this.#counts(stringifyExactly(item).length)) return;
    const parts: KeptPart[] = [];
    const text = textOfCall[String(item["type"])];
    // A call has a text from the beginning, even an empty one.
    if (text !== undefined) parts.push({ kind: text, index: 0, inner: "", closed: "open" });
    this.#items.set(outputIndex, { item, isDone: false, parts });
  }

  delta({ event, outputIndex, partIndex, literal }: Delta): void {
    const kept = this.#items.get(outputIndex);
    const kind = partKind(event);
    if (kept === undefined || kind === undefined || !this.#counts(literal.length)) return;
    const last = kept.parts.at(-1);
    const inner = literal.slice(1, -1);
    if (last?.kind === kind && last.index === partIndex) last.inner += inner;
    else kept.parts.push({ kind, index: partIndex, inner, closed: "open" });
  }

  /** Replaces the parts of an item by the whole item. */
  done(outputIndex: number, item: JsonObject): void {
    const kept = this.#items.get(outputIndex);
    if (kept === undefined) return;
    for (const { inner } of kept.parts) this.#chars -= inner.length;
    if (!this.#counts(stringifyExactly(item).length)) return;
    kept.item = item;
    kept.isDone = true;
    kept.parts.length = 0;
  }

  /** Returns the events that close the open items, and the complete output. */
  close(): { readonly events: readonly ClosingEvent[]; readonly output: readonly JsonObject[] } {
    const events: ClosingEvent[] = [];
    const output: JsonObject[] = [];
    for (const [index, kept] of [...this.#items].sort(([one], [other]) => one - other)) {
      if (kept.isDone) output.push(kept.item);
      else output.push(closeItem(index, kept, events));
    }
    return { events, output };
  }

  #counts(chars: number): boolean {
    this.#chars += chars;
    if (this.#isOver) this.#items.clear();
    return !this.#isOver;
  }
}

function partKind(event: string): PartKind | undefined {
  return event in partOfDelta ? partOfDelta[event as keyof typeof partOfDelta] : undefined;
}

function closeItem(index: number, { item, parts }: KeptItem, events: ClosingEvent[]): JsonObject {
  const place = { item_id: item["id"] ?? null, output_index: index };
  const closed: JsonObject = { ...item, status: "incomplete" };
  const content: JsonObject[] = [];
  const summary: string[] = [];
  for (const { kind, index: partIndex, inner, closed: seen } of parts) {
    const text: string = JSON.parse(`"${inner}"`);
    if (kind === "output_text" || kind === "refusal") {
      const part = kind === "refusal" ? refusalPart(text) : textPart(text, []);
      content.push(part);
      const at = { ...place, content_index: partIndex };
      const textEnd: ClosingEvent = kind === "refusal"
        ? ["response.refusal.done", { ...at, refusal: text }]
        : ["response.output_text.done", { ...at, text, logprobs: [] }];
      if (seen === "open") events.push(textEnd);
      if (seen !== "part") events.push(["response.content_part.done", { ...at, part }]);
    } else if (kind === "summary") {
      summary.push(text);
      const at = { ...place, summary_index: partIndex };
      const part: Json = summaryParts([text])[0] ?? null;
      if (seen === "open") events.push(["response.reasoning_summary_text.done", { ...at, text }]);
      if (seen !== "part") events.push(["response.reasoning_summary_part.done", { ...at, part }]);
    } else {
      closed[kind] = text;
      const type = kind === "arguments"
        ? "response.function_call_arguments.done"
        : "response.custom_tool_call_input.done";
      if (seen === "open") events.push([type, { ...place, [kind]: text }]);
    }
  }
  if (content.length > 0) closed["content"] = content;
  if (summary.length > 0) closed["summary"] = summaryParts(summary);
  events.push(["response.output_item.done", { output_index: index, item: closed }]);
  return closed;
}
