/** The events of simulated time. */

/** A heap of events by time. */
export class EventQueue {
  readonly #heap: { atMs: number; run: () => void }[] = [];

  get nextMs(): number | undefined {
    return this.#heap[0]?.atMs;
  }

  push(atMs: number, run: () => void): void {
    const heap = this.#heap;
    let i = heap.push({ atMs, run }) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (heap[parent]!.atMs <= heap[i]!.atMs) break;
      [heap[parent], heap[i]] = [heap[i]!, heap[parent]!];
      i = parent;
    }
  }

  pop(): { atMs: number; run: () => void } | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (top === undefined || last === undefined || heap.length === 0) return top;
    heap[0] = last;
    for (let i = 0;;) {
      const left = 2 * i + 1;
      if (left >= heap.length) break;
      const right = left + 1;
      const child = right < heap.length && heap[right]!.atMs < heap[left]!.atMs ? right : left;
      if (heap[i]!.atMs <= heap[child]!.atMs) break;
      [heap[i], heap[child]] = [heap[child]!, heap[i]!];
      i = child;
    }
    return top;
  }
}
