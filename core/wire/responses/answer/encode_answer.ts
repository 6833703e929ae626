/**
 * Writes a whole answer for a Responses client.
 *
 * See docs/internals/WIRE_FORMATS.md#responses.
 */
import type { JsonObject } from "../../../lib/json/json.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import { CallIds } from "../../fields/answer_ids.ts";
import type { ConversionMemory, PipeContext } from "../../contract/contract.ts";
import type { Answer, AnswerText, ToolCallBlock } from "../../conversation/mod.ts";
import { pictureNote } from "../../fields/pictures.ts";
import { hostedItem, hostedItemKind, isHostedItem } from "../items/hosted_items.ts";
import {
  annotation,
  callItem,
  callKind,
  itemId,
  messageItem,
  pictureItem,
  reasoningItem,
  refusalPart,
  textPart,
} from "../items/output_items.ts";
import { responseObject, writeResponsesStop } from "./response_object.ts";
import { nameMembers } from "../items/tool_groups.ts";

/** Writes a whole Responses answer. */
export function encodeResponsesAnswer(
  answer: Answer,
  context: PipeContext,
  memory: ConversionMemory,
): JsonObject {
  const wroteRefusal = answer.blocks.some((block) => block.type === "text" && block.refusal);
  const isCut = answer.stop.reason === "length" || answer.stop.reason === "unknown";
  const writer = new OutputWriter(context, memory, isCut);
  for (const block of answer.blocks) {
    switch (block.type) {
      case "text":
        writer.text(block);
        break;
      case "reasoning":
        if (block.text === "" && block.proof === undefined) break;
        writer.add((id) => reasoningItem(id("reasoning"), block.text, block.proof));
        break;
      case "tool_call":
        writer.call(block);
        break;
      case "hosted_call":
        writer.add((id) => hostedItem(id(hostedItemKind(block.call)), block.call));
        break;
      case "picture":
        if (!writer.picture(block.url)) {
          writer.text({ type: "text", path: "", text: pictureNote(block.url) });
        }
        break;
      // Named before, or it ran inside the upstream's call and its result is in the text.
      case "sound":
      case "foreign":
        break;
    }
  }
  const { explanation } = answer.stop;
  if (answer.stop.reason === "refusal" && !wroteRefusal && explanation) {
    writer.text({ type: "text", path: "", text: explanation, refusal: true });
  }
  return responseObject(context, {
    ...writeResponsesStop(answer.stop, wroteRefusal),
    output: writer.output(),
    usage: answer.usage,
    serviceTier: answer.serviceTier,
    moderation: answer.moderation,
    echo: memory.echo,
  });
}

interface Part {
  readonly refusal: boolean;
  text: string;
  readonly annotations: JsonObject[];
  readonly logprobs: JsonObject[];
}

type ItemKind = Parameters<typeof itemId>[0];

/** Collects output items; neighbouring texts become one part of one message. */
class OutputWriter {
  readonly #context: PipeContext;
  readonly #memory: ConversionMemory;
  readonly #cut: boolean;
  readonly #callIds: CallIds;
  readonly #items: JsonObject[] = [];
  #parts: Part[] = [];

  constructor(context: PipeContext, memory: ConversionMemory, cut: boolean) {
    this.#context = context;
    this.#memory = memory;
    this.#cut = cut;
    this.#callIds = new CallIds(context.requestId, "call_", (id) => id);
  }

  text(block: AnswerText): void {
    if (block.text === "") return;
    const refusal = block.refusal === true;
    let part = this.#parts.at(-1);
    if (part?.refusal !== refusal) {
      part = { refusal, text: "", annotations: [], logprobs: [] };
      this.#parts.push(part);
    }
    const start = part.text.length;
    part.text += block.text;
    for (const entry of block.logprobs ?? []) part.logprobs.push(entry);
    for (const citation of block.citations ?? []) {
      part.annotations.push(annotation(citation, start, part.text.length));
    }
  }

  call(block: ToolCallBlock): void {
    const callId = this.#callIds.next(block.id);
    const { input } = block;
    const named = nameMembers(block.name, this.#memory.groupedTools);
    const kind = callKind(block.name, input.kind === "text", this.#memory.searchTool);
    const text = input.kind === "object" ? stringifyExactly(input.value) : input.text;
    this.add((id) => {
      const head = { kind, id: id(kind), callId, ...named };
      return callItem(head, "completed", text === "" && kind !== "custom_tool_call" ? "{}" : text);
    });
  }

  /** Returns whether the picture has a form of its own. */
  picture(url: string): boolean {
    const id = itemId("image_generation_call", this.#context, this.#items.length + this.#pending);
    const item = pictureItem(id, url);
    if (item !== undefined) this.add(() => item);
    return item !== undefined;
  }

  /** A message whose parts are collected comes before the next item. */
  get #pending(): number {
    return this.#parts.length === 0 ? 0 : 1;
  }

  add(make: (id: (kind: ItemKind) => string) => JsonObject): void {
    this.#closeMessage();
    this.#items.push(make((kind) => itemId(kind, this.#context, this.#items.length)));
  }

  output(): JsonObject[] {
    this.#closeMessage();
    const last = this.#items.at(-1);
    const isCut = this.#cut && last?.["status"] === "completed" &&
      !isHostedItem(String(last["type"]));
    if (isCut) last["status"] = "incomplete";
    return this.#items;
  }

  #closeMessage(): void {
    if (this.#parts.length === 0) return;
    const content = this.#parts.map((part) =>
      part.refusal ? refusalPart(part.text) : textPart(part.text, part.annotations, part.logprobs)
    );
    this.#parts = [];
    const id = itemId("message", this.#context, this.#items.length);
    this.#items.push(messageItem(id, "completed", content));
  }
}
