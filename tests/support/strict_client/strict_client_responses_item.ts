/** One output item of a Responses stream from its `added` to its `done`: every delta must add up. */
import { deepStrictEqual } from "node:assert/strict";
import type { z } from "zod";
import { accept, StrictClientError } from "./strict_client.ts";
import type {
  contentPart,
  ItemEvent,
  StrictItem,
  summaryPart,
} from "./strict_client_responses_shapes.ts";

/** @throws {StrictClientError} unless both are deeply equal */
export function same(actual: unknown, expected: unknown, complaint: string): void {
  try {
    deepStrictEqual(actual, expected);
  } catch (error) {
    throw new StrictClientError(`${complaint}: ${error instanceof Error ? error.message : error}`);
  }
}

type PartEvent = Exclude<ItemEvent, { type: `response.output_item.${string}` }>;

interface OpenPart {
  readonly kind: "output_text" | "refusal" | "reasoning_text" | "summary_text";
  readonly index: number;
  text: string;
  closedText: boolean;
  readonly annotations: unknown[];
}

/** Reads one item. */
export class ItemReader {
  readonly id: string;
  readonly #item: StrictItem;
  #part: OpenPart | undefined;
  readonly #parts: unknown[] = [];
  readonly #summary: unknown[] = [];
  #argumentText = "";
  #argumentsDone = false;
  /** The end of a hosted call has arrived. */
  #ran = false;

  constructor(begun: StrictItem) {
    this.id = begun.id;
    this.#item = begun;
    if (begun.type === "message") accept(begun.content.length === 0, "a message begins filled");
    if (begun.type === "reasoning") accept(begun.summary.length === 0, "a summary begins filled");
    if (begun.type === "function_call") accept(begun.arguments === "", "a call begins filled");
    if (begun.type === "custom_tool_call") accept(begun.input === "", "a call begins filled");
  }

  take(event: PartEvent): void {
    switch (event.type) {
      case "response.content_part.added":
        this.#openPart(event.part.type, event.content_index, this.#parts.length);
        accept(textOf(event.part) === "", "a part begins filled");
        return;
      case "response.reasoning_summary_part.added":
        this.#openPart("summary_text", event.summary_index, this.#summary.length);
        accept(event.part.text === "", "a part begins filled");
        return;
      case "response.output_text.delta":
        this.#add("output_text", event.content_index, event.delta);
        return;
      case "response.refusal.delta":
        this.#add("refusal", event.content_index, event.delta);
        return;
      case "response.reasoning_text.delta":
        this.#add("reasoning_text", event.content_index, event.delta);
        return;
      case "response.reasoning_summary_text.delta":
        this.#add("summary_text", event.summary_index, event.delta);
        return;
      case "response.output_text.done":
        this.#closeText("output_text", event.content_index, event.text);
        return;
      case "response.refusal.done":
        this.#closeText("refusal", event.content_index, event.refusal);
        return;
      case "response.reasoning_text.done":
        this.#closeText("reasoning_text", event.content_index, event.text);
        return;
      case "response.reasoning_summary_text.done":
        this.#closeText("summary_text", event.summary_index, event.text);
        return;
      case "response.output_text.annotation.added": {
        const open = this.#partAt("output_text", event.content_index);
        accept(event.annotation_index === open.annotations.length, "annotation out of order");
        open.annotations.push(event.annotation);
        return;
      }
      case "response.content_part.done":
        this.#parts.push(this.#closePart(event.content_index, event.part));
        return;
      case "response.reasoning_summary_part.done":
        this.#summary.push(this.#closePart(event.summary_index, event.part));
        return;
      case "response.function_call_arguments.delta":
      case "response.custom_tool_call_input.delta":
      case "response.mcp_call_arguments.delta":
        accept(!this.#argumentsDone, "arguments behind their end");
        this.#argumentText += event.delta;
        return;
      case "response.function_call_arguments.done":
        this.#closeArguments("function_call", event.arguments);
        return;
      case "response.custom_tool_call_input.done":
        this.#closeArguments("custom_tool_call", event.input);
        return;
      case "response.mcp_call_arguments.done":
        this.#closeArguments("mcp_call", event.arguments);
        return;
      default: {
        const [, kind, step] = event.type.split(".");
        accept(kind === this.#item.type, `${event.type} in a ${this.#item.type}`);
        accept(!this.#ran, `${event.type} behind the end of the call`);
        this.#ran = step === "completed" || step === "failed";
      }
    }
  }

  close(done: StrictItem): void {
    accept(done.id === this.id && done.type === this.#item.type, "another item at the end");
    accept(this.#part === undefined, "an item ends inside a part");
    if (done.type === "message") same(done.content, this.#parts, "the parts do not add up");
    if (done.type === "reasoning") {
      same(done.summary, this.#summary, "the summary does not add up");
      same(done.content ?? [], this.#parts, "the reasoning does not add up");
    }
    if (done.type === "function_call") {
      accept(this.#argumentsDone, "a call without arguments.done");
      accept(done.arguments === this.#argumentText, "the arguments do not add up");
    }
    if (done.type === "custom_tool_call") {
      accept(this.#argumentsDone, "a call without input.done");
      accept(done.input === this.#argumentText, "the input does not add up");
    }
    if (done.type === "mcp_call" && this.#argumentsDone) {
      accept(done.arguments === this.#argumentText, "the arguments do not add up");
    }
    if (/^(web_search|code_interpreter|mcp)_call$/.test(done.type)) {
      accept(this.#ran, `a ${done.type} without its end`);
    }
    if ("status" in done) accept(done.status !== "in_progress", "an item ends in progress");
  }

  #openPart(kind: OpenPart["kind"], index: number, next: number): void {
    accept(this.#part === undefined, "a part opens inside another");
    accept(index === next, "a part is out of order");
    this.#part = { kind, index, text: "", closedText: false, annotations: [] };
  }

  #partAt(kind: OpenPart["kind"], index: number): OpenPart {
    const open = this.#part;
    accept(open?.kind === kind && open.index === index, `no open ${kind} part ${index}`);
    return open;
  }

  #add(kind: OpenPart["kind"], index: number, delta: string): void {
    const open = this.#partAt(kind, index);
    accept(!open.closedText, "text behind its end");
    open.text += delta;
  }

  #closeText(kind: OpenPart["kind"], index: number, text: string): void {
    const open = this.#partAt(kind, index);
    accept(!open.closedText, "a text ends twice");
    accept(open.text === text, "the text does not add up");
    open.closedText = true;
  }

  #closePart(index: number, part: z.infer<typeof contentPart> | z.infer<typeof summaryPart>) {
    const open = this.#partAt(part.type, index);
    accept(open.closedText, "a part ends before its text");
    accept(textOf(part) === open.text, "the part does not add up");
    if (part.type === "output_text") {
      same(part.annotations, open.annotations, "the annotations do not add up");
    }
    this.#part = undefined;
    return part;
  }

  #closeArguments(type: StrictItem["type"], text: string): void {
    accept(this.#item.type === type, `the end of a ${type} in a ${this.#item.type}`);
    accept(!this.#argumentsDone, "the arguments end twice");
    accept(text === this.#argumentText, "the arguments do not add up");
    this.#argumentsDone = true;
  }
}

function textOf(part: z.infer<typeof contentPart> | z.infer<typeof summaryPart>): string {
  return part.type === "refusal" ? part.refusal : part.text;
}
