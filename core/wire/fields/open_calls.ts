/** Matches the tool calls of one turn with their results. */
import type { ToolCallBlock, ToolResultBlock } from "../conversation/mod.ts";

/** A tool call that has no result yet. */
export interface OpenCall {
  readonly call: ToolCallBlock;
  /** The id that the call has after renaming. */
  readonly id: string;
  result: ToolResultBlock | undefined;
}

/** Calls in order, with fast access to the first that has no result. */
class Queue {
  readonly #calls: OpenCall[] = [];
  #at = 0;

  add(call: OpenCall): void {
    this.#calls.push(call);
  }

  /** Returns the first call without a result. Never revisits earlier calls: a turn may have a hundred thousand. */
  first(): OpenCall | undefined {
    while (this.#calls[this.#at]?.result !== undefined) this.#at++;
    return this.#calls[this.#at];
  }
}

function addTo(queues: Map<string, Queue>, key: string, call: OpenCall): void {
  let queue = queues.get(key);
  if (queue === undefined) queues.set(key, queue = new Queue());
  queue.add(call);
}

/**
 * Finds the call of a result: by the id that the call had in the request; without an id, by the name of the tool or as
 * the next one in order.
 *
 * @example
 * ```ts
 * import { OpenCalls } from "./open_calls.ts";
 * const calls = new OpenCalls();
 * calls.add({ type: "tool_call", path: "", id: "a", name: "n", input: { kind: "text", text: "" } }, "a_2");
 * const result = { type: "tool_result", path: "", callId: "a", content: [], isError: false } as const;
 * if (!calls.assign(result) || calls.assign(result)) throw new Error("one call takes one result");
 * ```
 */
export class OpenCalls {
  readonly list: OpenCall[] = [];
  readonly #all = new Queue();
  readonly #byId = new Map<string, Queue>();
  readonly #byName = new Map<string, Queue>();

  /** Adds a call; `id` is its new id. */
  add(call: ToolCallBlock, id: string): void {
    const open = { call, id, result: undefined };
    this.list.push(open);
    this.#all.add(open);
    addTo(this.#byId, call.id, open);
    addTo(this.#byName, call.name, open);
  }

  /** Gives the result to its call; false if none waits for it. */
  assign(result: ToolResultBlock): boolean {
    const queue = result.callId !== ""
      ? this.#byId.get(result.callId)
      : result.name === undefined
      ? this.#all
      : this.#byName.get(result.name);
    const open = queue?.first();
    if (open === undefined) return false;
    open.result = result;
    return true;
  }
}
