/**
 * The output items of a Responses stream that is being read, by their place in the answer. Items may come with or
 * without their `added` event, and with or without a place.
 */
import { GatewayError } from "../../../lib/errors/errors.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { maxToolCallsPerAnswer } from "../../contract/limits.ts";
import type { EventSink } from "../../stream/dialect.ts";
import { type AnswerState, StreamedItem } from "./streamed_item.ts";

/** Reads the output items of a Responses stream, by their place in the answer. */
export class StreamedItems implements AnswerState {
  readonly signer: string;
  hasCalls = false;
  refusal = "";
  readonly #open = new Map<number, StreamedItem>();
  /** Places of items that are closed: nothing more is taken from them. */
  readonly #closed = new Set<number>();
  /** Where the events of items without a place go: counted as they come. */
  #unplaced = 0;
  #nextBlock = 0;

  constructor(signer: string) {
    this.signer = signer;
  }

  newBlock(): number {
    if (this.#nextBlock >= maxToolCallsPerAnswer) {
      throw new GatewayError("upstream_unreachable", "The provider sent too many output items");
    }
    return this.#nextBlock++;
  }

  /** The place of the item that an event is about. Where servers send none, items come one after another. */
  placeOf(body: JsonObject, type: string): number {
    const { output_index: index } = body;
    if (typeof index === "number") return index;
    const brings = type.startsWith("response.output_item.") || type.endsWith(".delta");
    if (brings && this.#closed.has(this.#unplaced)) this.#unplaced++;
    return this.#unplaced;
  }

  /** The open item at a place. */
  get(place: number): StreamedItem | undefined {
    return this.#open.get(place);
  }

  /** The item at a place, which is opened if it is new; `undefined` if it is closed. */
  open(place: number, item: Json | undefined, emit: EventSink): StreamedItem | undefined {
    if (this.#closed.has(place)) return undefined;
    const known = this.#open.get(place);
    if (known !== undefined) return known;
    const opened = new StreamedItem(isJsonObject(item) ? item : {}, this, emit);
    this.#open.set(place, opened);
    return opened;
  }

  /** Takes the whole item at a place and closes it. */
  done(place: number, item: JsonObject, emit: EventSink): void {
    const open = this.open(place, item, emit);
    if (open === undefined) return;
    open.done(item, emit);
    this.#open.delete(place);
    this.#closed.add(place);
  }

  /**
   * Takes the output of the last event, which repeats all items, and closes what is open. Items that had no events of
   * their own are taken from it: if as many items have come as it has, all are known, whatever their places.
   */
  finish(output: Json | undefined, emit: EventSink): void {
    if (Array.isArray(output)) {
      const seen = this.#closed.size + this.#open.size;
      output.forEach((item, place) => {
        const isMissing = this.#open.has(place) || seen < output.length;
        if (isMissing && isJsonObject(item)) this.done(place, item, emit);
      });
    }
    for (const item of this.#open.values()) item.end(emit);
  }
}
