/**
 * Measures the live objects of another process through its inspector. Resident memory says little, because V8 returns
 * unused memory late.
 */
import { assert } from "./assert.ts";

export class LiveHeap implements Disposable {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (result: Record<string, number>) => void>();
  #calls = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.onmessage = ({ data }) => {
      const { id, result } = JSON.parse(data);
      this.#waiting.get(id)?.(result);
      this.#waiting.delete(id);
    };
  }

  static async of(inspectorPort: number): Promise<LiveHeap> {
    const response = await fetch(`http://127.0.0.1:${inspectorPort}/json/list`);
    const [{ webSocketDebuggerUrl }] = await response.json();
    const socket = new WebSocket(webSocketDebuggerUrl);
    await new Promise((opened, failed) => {
      socket.onopen = opened;
      socket.onerror = failed;
    });
    return new LiveHeap(socket);
  }

  #ask(method: string): Promise<Record<string, number>> {
    const id = ++this.#calls;
    const answer = new Promise<Record<string, number>>((told) => this.#waiting.set(id, told));
    this.#socket.send(JSON.stringify({ id, method }));
    return answer;
  }

  /** Collects all garbage and returns how much is left: objects and the contents of buffers. */
  async liveBytes(): Promise<number> {
    // Objects that the first collection frees may still refer to others, which only the second frees.
    for (let i = 0; i < 2; i++) await this.#ask("HeapProfiler.collectGarbage");
    const { usedSize, backingStorageSize } = await this.#ask("Runtime.getHeapUsage");
    assert(usedSize !== undefined && backingStorageSize !== undefined, "no heap usage was told");
    return usedSize + backingStorageSize;
  }

  [Symbol.dispose](): void {
    this.#socket.close();
  }
}
