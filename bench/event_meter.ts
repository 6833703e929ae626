/** Counts the events in a stream of bytes and reads the times at which they were sent. */
import { preciseNowMs, stampChars, stampSign } from "./wall_clock.ts";

const decoder = new TextDecoder();

export class EventMeter {
  events = 0;
  #delaysMs: number[];
  /** Bytes of a time stamp that the end of a read has cut. */
  #cut = "";
  /** The last bytes, to see how the stream ended. */
  #tail = "";

  /** `delaysMs` gets one value per event; share it among streams. */
  constructor(delaysMs: number[]) {
    this.#delaysMs = delaysMs;
  }

  push(view: Uint8Array): void {
    const nowMs = preciseNowMs();
    let from = 0;
    if (this.#cut !== "") {
      const missing = stampChars - this.#cut.length;
      this.#cut += decoder.decode(view.subarray(0, missing));
      from = Math.min(missing, view.length);
      if (this.#cut.length === stampChars) this.#note(this.#cut, nowMs);
    }
    for (let at = view.indexOf(stampSign, from); at !== -1; at = view.indexOf(stampSign, at + 1)) {
      this.events++;
      const text = decoder.decode(view.subarray(at + 1, at + 1 + stampChars));
      if (text.length === stampChars) this.#note(text, nowMs);
      // If the marker is the last byte, there is nothing to keep: the delay is lost, but the event is counted.
      else this.#cut = text;
    }
    const end = view.subarray(Math.max(0, view.length - 64));
    this.#tail = (this.#tail + decoder.decode(end)).slice(-64);
  }

  #note(text: string, nowMs: number): void {
    this.#cut = "";
    this.#delaysMs.push(nowMs - Number(text));
  }

  /** Whether the stream ended with the end of its style. */
  get isComplete(): boolean {
    return this.#tail.includes("[DONE]") || this.#tail.includes("message_stop");
  }
}
