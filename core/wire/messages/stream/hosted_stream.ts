/** Reads hosted calls of one Messages stream: a call waits for its result, which is another block. */
import { GatewayError } from "../../../lib/errors/errors.ts";
import { isJsonObject, type JsonObject } from "../../../lib/json/json.ts";
import { bufferedBlockBytes, maxToolCallsPerAnswer } from "../../contract/limits.ts";
import type { HostedCall } from "../../conversation/mod.ts";
import type { EventSink } from "../../stream/dialect.ts";
import { answerArguments } from "../../tools/tool_arguments.ts";
import { hostedResultId, ranBy, readHostedUse, withHostedResult } from "../answer/hosted_calls.ts";

/** Reads the blocks of hosted tools in a Messages stream. */
export class HostedStream {
  /** Blocks of calls whose input streams. */
  readonly #open = new Map<number, { readonly use: JsonObject; json: string }>();
  /** Calls whose results have not come, by id. */
  readonly #waiting = new Map<string, { readonly block: number; readonly call: HostedCall }>();
  #inputChars = 0;

  /** Takes the start of a block; returns whether it is a hosted call or the result of one that waits. */
  begin(block: number, start: JsonObject, emit: EventSink): boolean {
    const id = hostedResultId(start);
    const waiting = id === undefined ? undefined : this.#waiting.get(id);
    if (id !== undefined && waiting !== undefined) {
      this.#waiting.delete(id);
      tell(waiting.block, id, withHostedResult(waiting.call, start), emit);
      return true;
    }
    if (readHostedUse(start, {}) === undefined) return false;
    if (this.#waiting.size >= maxToolCallsPerAnswer) {
      throw new GatewayError("upstream_unreachable", "The model makes too many tool calls at once");
    }
    this.#open.set(block, { use: start, json: "" });
    return true;
  }

  /** Takes a delta of a block: pieces of the input of a call. */
  input(block: number, { partial_json }: JsonObject): void {
    const open = this.#open.get(block);
    if (open === undefined || typeof partial_json !== "string") return;
    this.#inputChars += partial_json.length;
    if (this.#inputChars > bufferedBlockBytes) {
      throw new GatewayError(
        "upstream_unreachable",
        "The model's tool call is too long",
      );
    }
    open.json += partial_json;
  }

  /** Ends a block; returns whether it was a call, which now waits for its result. */
  end(block: number): boolean {
    const open = this.#open.get(block);
    if (open === undefined) return false;
    this.#open.delete(block);
    const { use, json } = open;
    const whole = isJsonObject(use.input) ? use.input : {};
    const input = json === "" ? whole : answerArguments({ kind: "json_text", text: json });
    const call = readHostedUse(use, input);
    const id = typeof use.id === "string" ? use.id : "";
    if (call !== undefined) this.#waiting.set(id, { block, call });
    return true;
  }

  /** Ends the answer: sends calls without a result. */
  finish(emit: EventSink): void {
    for (const [id, { block, call }] of this.#waiting) tell(block, id, call, emit);
    this.#waiting.clear();
  }
}

function tell(block: number, id: string, call: HostedCall, emit: EventSink): void {
  emit({ type: "hosted_call", block, ...ranBy(id), call });
  emit({ type: "block_end", block });
}
