import type { SseFrame } from "./frame.ts";

const nothing = new Uint8Array(0);

/** One edit: `text` replaces `[start, end)` of a frame. */
export interface FrameEdit {
  start: number;
  end: number;
  text: Uint8Array;
}

/**
 * The edits of one frame, in the order of its bytes. The object and its entries are reused from
 * frame to frame, so an edited frame allocates nothing.
 *
 * @example
 * ```ts
 * import { SseFrame } from "./frame.ts";
 * import { FrameEdits } from "./frame_edits.ts";
 * const bytes = new TextEncoder().encode("data: [1,\ndata: 2]\n\n");
 * const frame = new SseFrame();
 * frame.set(bytes, 0, bytes.length, false);
 * const edits = new FrameEdits();
 * edits.cut(frame, 2, 5); // of the payload `[1,\n2]`
 * const { start, end } = edits.at(0);
 * if (start !== 8 || end !== 17) throw new Error(`${start} ${end}`);
 * ```
 */
export class FrameEdits {
  readonly #edits: FrameEdit[] = [];
  /** How many edits the current frame has. */
  count = 0;

  /** Removes the edits of the previous frame. */
  clear(): void {
    this.count = 0;
  }

  at(index: number): FrameEdit {
    return this.#edits[index]!;
  }

  /** Removes `[start, end)` of the frame's payload. */
  cut(frame: SseFrame, start: number, end: number): void {
    this.replace(frame, start, end, nothing);
  }

  /** Replaces `[start, end)` of the frame's payload by `text`. */
  replace(frame: SseFrame, start: number, end: number, text: Uint8Array): void {
    let edit = this.#edits[this.count];
    if (edit === undefined) this.#edits.push(edit = { start: 0, end: 0, text });
    edit.start = frame.offsetOf(start);
    edit.end = frame.offsetOf(end);
    edit.text = text;
    this.count++;
  }
}
