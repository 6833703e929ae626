/**
 * Reads a Converse stream as conversation events. Each event has its kind as its name, as the vendor's frames do.
 *
 * See docs/internals/WIRE_FORMATS.md#converse-stream.
 */
import { GatewayError } from "../../lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../lib/json/json.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import { joinedBase64 } from "../content/base64.ts";
import { defined } from "../../lib/base/defined.ts";
import { bufferedBlockBytes, maxToolCallsPerAnswer } from "../contract/limits.ts";
import type { ConversionMemory } from "../contract/contract.ts";
import { readProviderError } from "../errors/provider_error.ts";
import type { EventSink, StreamDecoder } from "../stream/dialect.ts";
import { shapedEvent, UnknownNames } from "../stream/answer_shape.ts";
import { eventJson, eventObject } from "../stream/reading.ts";
import {
  bedrock,
  isLostKind,
  pictureUrl,
  readCitation,
  readConverseStop,
  readConverseUsage,
  readImage,
  readServiceTier,
} from "./decode_answer.ts";

/** A block of the stream that has not ended. */
interface OpenBlock {
  readonly block: number;
  /** Kind that further deltas continue; `none` until the first one shows it. Nothing of a `nameless` call goes out. */
  kind: "none" | "text" | "reasoning" | "call" | "nameless" | "picture" | "foreign";
  /** The proof of a reasoning block, which may come in pieces. */
  signature: string;
  redacted: string;
  /** A picture that comes in pieces: its format, and the base64 of each piece. */
  format: string | undefined;
  readonly pieces: string[];
}

/**
 * Reads a Converse stream. `messageStop` has the stop reason; the usage comes after it, in `metadata`, which ends the
 * stream. A body that ends after `messageStop` is whole too.
 */
export class ConverseStreamDecoder implements StreamDecoder {
  readonly unknown = new UnknownNames();
  readonly #signer: string;
  /** Open blocks by the vendor's index. */
  readonly #open = new Map<number, OpenBlock>();
  #blocks = 0;
  #calls = 0;
  /** Characters of the pictures that have not ended. */
  #pictureChars = 0;
  #started = false;
  #stopped: string | undefined;
  #finished = false;
  #emit: EventSink = () => {};

  constructor(memory: ConversionMemory) {
    this.#signer = memory.reasoningSigner ?? bedrock;
  }

  frame(event: string | undefined, data: string, emit: EventSink): void {
    if (this.#finished) return;
    this.#emit = emit;
    const payload = eventJson(event, data);
    if (event === "error") {
      this.#finished = true;
      return emit({ type: "error", error: readProviderError(payload) });
    }
    const given = eventObject(payload);
    if (given === undefined) return;
    this.#event(event, shapedEvent("converse", event, given, this.unknown));
  }

  bodyEnd(emit: EventSink): void {
    if (this.#finished || this.#stopped === undefined) return;
    this.#finished = true;
    emit({ type: "end" });
  }

  #event(kind: string | undefined, payload: JsonObject): void {
    if (!this.#started) {
      this.#started = true;
      this.#emit({ type: "start" });
    }
    switch (kind) {
      case "contentBlockStart":
        return this.#start(payload);
      case "contentBlockDelta":
        if (isJsonObject(payload.delta)) this.#delta(this.#blockOf(payload), payload.delta);
        return;
      case "contentBlockStop":
        return this.#end(indexOf(payload));
      case "messageStop":
        return this.#stop(payload);
      case "metadata":
        return this.#metadata(payload);
    }
  }

  #blockOf(payload: JsonObject): OpenBlock {
    const index = indexOf(payload);
    let open = this.#open.get(index);
    if (open === undefined) {
      open = {
        block: this.#blocks++,
        kind: "none",
        signature: "",
        redacted: "",
        format: undefined,
        pieces: [],
      };
      this.#open.set(index, open);
    }
    return open;
  }

  #start(payload: JsonObject): void {
    const { start } = payload;
    if (!isJsonObject(start)) return;
    const { toolUse } = start;
    const kind = Object.keys(start)[0];
    if (isJsonObject(toolUse) && toolUse.type === undefined) {
      return this.#call(this.#blockOf(payload), toolUse);
    }
    if (kind === "image") this.#picture(this.#blockOf(payload), start.image);
    else if (kind !== undefined) this.#foreign(this.#blockOf(payload), kind);
  }

  #picture(open: OpenBlock, image: Json | undefined): void {
    if (!became(open, "picture")) return;
    const { format, data } = readImage(image);
    open.format ??= format;
    if (data === "") return;
    this.#pictureChars += data.length;
    if (this.#pictureChars > bufferedBlockBytes) {
      throw new GatewayError("upstream_unreachable", "The model's pictures are too large");
    }
    open.pieces.push(data);
  }

  #call(open: OpenBlock, { toolUseId: id, name }: JsonObject): void {
    if (typeof name !== "string" || name === "") {
      open.kind = "nameless";
      return;
    }
    if (++this.#calls > maxToolCallsPerAnswer) {
      throw new GatewayError("upstream_unreachable", "The model makes too many tool calls at once");
    }
    open.kind = "call";
    this.#emit({ type: "call", block: open.block, id: typeof id === "string" ? id : "", name });
  }

  #foreign(open: OpenBlock, kind: string): void {
    if (open.kind !== "none") return;
    open.kind = "foreign";
    const lost = isLostKind(kind) ? { isLost: true as const } : {};
    this.#emit({ type: "foreign", block: open.block, kind, ...lost });
  }

  #delta(open: OpenBlock, delta: JsonObject): void {
    const { text, toolUse, reasoningContent, citation, image } = delta;
    const { block } = open;
    if (typeof text === "string") {
      if (text === "" || !became(open, "text")) return;
      this.#emit({ type: "text", block, json: stringifyExactly(text) });
    } else if (isJsonObject(toolUse)) {
      const { input } = toolUse;
      if (open.kind !== "call" || typeof input !== "string" || input === "") return;
      this.#emit({ type: "arguments", block, json: stringifyExactly(input) });
    } else if (isJsonObject(reasoningContent)) {
      this.#reasoning(open, reasoningContent);
    } else if (citation !== undefined) {
      const read = readCitation(citation);
      if (read !== undefined && became(open, "text")) {
        this.#emit({ type: "citation", block, citation: read });
      }
    } else if (image !== undefined) {
      this.#picture(open, image);
    } else {
      const kind = Object.keys(delta)[0];
      if (kind !== undefined) this.#foreign(open, kind);
    }
  }

  #reasoning(open: OpenBlock, content: JsonObject): void {
    if (!became(open, "reasoning")) return;
    const { text, signature, redactedContent } = content;
    if (typeof text === "string" && text !== "") {
      this.#emit({ type: "reasoning", block: open.block, json: stringifyExactly(text) });
    }
    if (typeof signature === "string") open.signature += signature;
    if (typeof redactedContent === "string") open.redacted += redactedContent;
  }

  #end(index: number): void {
    const open = this.#open.get(index);
    if (open === undefined) return;
    this.#open.delete(index);
    const { block, kind, signature, redacted } = open;
    if (kind === "none" || kind === "nameless") return;
    if (kind === "picture") this.#endPicture(open);
    const signer = this.#signer;
    if (redacted !== "") {
      const proof = { kind: "redacted", signer, data: redacted } as const;
      this.#emit({ type: "reasoning_proof", block, proof });
    } else if (signature !== "") {
      const proof = { kind: "signature", signer, signature } as const;
      this.#emit({ type: "reasoning_proof", block, proof });
    }
    this.#emit({ type: "block_end", block });
  }

  #endPicture({ block, format, pieces }: OpenBlock): void {
    const data = joinedBase64(pieces);
    if (data === "") this.#emit({ type: "foreign", block, kind: "image", isLost: true });
    else this.#emit({ type: "picture", block, url: pictureUrl(format, data) });
    for (const piece of pieces) this.#pictureChars -= piece.length;
  }

  #stop({ stopReason }: JsonObject): void {
    for (const index of [...this.#open.keys()]) this.#end(index);
    this.#stopped = typeof stopReason === "string" ? stopReason : "";
    this.#tellStop();
  }

  #tellStop(serviceTier?: string): void {
    const stop = readConverseStop(this.#stopped, this.#calls > 0);
    const raw = this.#stopped === "" ? undefined : this.#stopped;
    this.#emit({ type: "stop", stop, ...defined({ raw, serviceTier }) });
  }

  #metadata(payload: JsonObject): void {
    const usage = readConverseUsage(payload.usage);
    if (usage.kind === "counts") this.#emit({ type: "usage", usage: usage.usage });
    else if (usage.kind === "absurd") this.#emit({ type: "usage_rejected" });
    if (this.#stopped === undefined) return;
    const tier = readServiceTier(payload.serviceTier);
    if (tier !== undefined) this.#tellStop(tier);
    this.bodyEnd(this.#emit);
  }
}

/** Makes a block that has no kind yet one of `kind`; returns whether it is one. */
function became(open: OpenBlock, kind: "text" | "reasoning" | "picture"): boolean {
  if (open.kind === "none") open.kind = kind;
  return open.kind === kind;
}

function indexOf({ contentBlockIndex }: Readonly<Record<string, Json | undefined>>): number {
  return typeof contentBlockIndex === "number" ? contentBlockIndex : 0;
}
