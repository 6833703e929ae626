/**
 * Brings a conversation into the order that every vendor accepts, before it is encoded: neighbours of one role are
 * merged, tool results come first in the turn after their calls, and every call has a unique id.
 *
 * A Messages client gets a refusal in the vendor's wording for what a Messages vendor would refuse. For Chat and
 * Responses clients the gap is filled, with a warning that names the place.
 */
import type {
  Block,
  Conversation,
  TextBlock,
  ToolCallBlock,
  ToolResultBlock,
  Turn,
} from "../conversation/mod.ts";
import { invalid } from "./fields.ts";
import { Warnings } from "../contract/warnings.ts";

// Matches the tool calls of one turn with their results.

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
 * import { OpenCalls } from "./normalize_turns.ts";
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

const begin: TextBlock = { type: "text", text: "Begin.", path: "messages" };

/** The result given to a call that the client never answered. */
const noResult = "[no result]";

/**
 * Brings turns into an order that every vendor accepts.
 *
 * @example
 * ```ts
 * import { normalizeTurns } from "./normalize_turns.ts";
 * import type { Turn } from "../conversation/mod.ts";
 * const said = (role: Turn["role"], text: string): Turn => ({ role, path: "", blocks: [{ type: "text", text, path: "" }] });
 * const turns = [said("user", "a"), said("user", "b")];
 * const normalized = normalizeTurns({
 *   from: "chat", model: "m", system: [], turns, tools: [], sampling: {}, stream: false, streamUsage: false,
 *   extras: [], warnings: [],
 * });
 * if (normalized.turns.length !== 1) throw new Error("two user turns remain");
 * ```
 *
 * @throws {GatewayError} `invalid_request` if nothing is left to answer, or calls and results do
 * not match
 */
export function normalizeTurns(conversation: Conversation): Conversation {
  const warnings = new Warnings(conversation.warnings);
  const turns = withoutNamelessCalls(
    mergeTurns(withSystemAfterResults(withoutEmptyText(conversation.turns))),
    warnings,
  );
  const pairing = new Pairing(conversation.from === "messages", warnings);
  const paired = mergeTurns(pairing.pair(turns));
  if (paired.length === 0) {
    if (conversation.system.length === 0) {
      invalid(listName(conversation), "at least one message with content is required");
    }
    // Only instructions: some vendors answer them, others require a user message.
    warnings.add(listName(conversation));
    paired.push({ role: "user", path: listName(conversation), blocks: [begin] });
  }
  return { ...conversation, turns: paired, warnings: warnings.list() };
}

function listName(conversation: Conversation): string {
  if (conversation.from === "gemini") return "contents";
  return conversation.from === "responses" ? "input" : "messages";
}

/** Removes text blocks without text, which vendors refuse, and turns without blocks. */
function withoutEmptyText(turns: readonly Turn[]): Turn[] {
  return turns
    .map((turn) =>
      turn.blocks.some(isBlankText)
        ? { ...turn, blocks: turn.blocks.filter((block) => !isBlankText(block)) }
        : turn
    )
    .filter((turn) => turn.blocks.length > 0);
}

function isBlankText(block: Block): boolean {
  return block.type === "text" && block.text.trim() === "";
}

function isNameless(block: Block): block is ToolCallBlock {
  return block.type === "tool_call" && block.name === "";
}

/**
 * Removes calls without a name, and the results that clients made up for them: some servers send a call with empty
 * fields in answers without calls, and clients send it back. Both are named, unless the call is empty.
 */
function withoutNamelessCalls(turns: readonly Turn[], warnings: Warnings): readonly Turn[] {
  if (!turns.some((turn) => turn.blocks.some(isNameless))) return turns;
  let gone: ReadonlySet<string> = new Set();
  return turns.map((turn) => {
    if (turn.role === "system") return turn;
    if (turn.role === "assistant") gone = namelessIds(turn);
    const blocks = turn.blocks.filter((block) => {
      const goes = isNameless(block) || (block.type === "tool_result" && gone.has(block.callId));
      if (goes && !isZero(block)) warnings.add(block.path);
      return !goes;
    });
    return blocks.length === turn.blocks.length ? turn : { ...turn, blocks };
  }).filter((turn) => turn.blocks.length > 0);
}

/** Ids that belong only to calls without a name. */
function namelessIds(turn: Turn): ReadonlySet<string> {
  const calls = turn.blocks.filter((block) => block.type === "tool_call");
  const ids = new Set(calls.filter(isNameless).map((call) => call.id));
  for (const call of calls) if (call.name !== "") ids.delete(call.id);
  ids.delete("");
  return ids;
}

function isZero(block: Block): boolean {
  return block.type === "tool_call" && block.id === "" && block.input.kind !== "object" &&
    block.input.text === "";
}

/** A system turn between calls and their results moves behind the results. */
function withSystemAfterResults(turns: readonly Turn[]): Turn[] {
  const out: Turn[] = [];
  let held: Turn[] = [];
  let isAfterCalls = false;
  for (const turn of turns) {
    if (turn.role === "system" && isAfterCalls) {
      held.push(turn);
      continue;
    }
    const hasResults = turn.blocks.some((block) => block.type === "tool_result");
    // Computed once per turn, not once per system turn after it: there may be a hundred thousand of each.
    isAfterCalls = hasCalls(turn) && !(hasResults && held.length > 0);
    if (hasResults) out.push(turn);
    for (const system of held) out.push(system);
    if (!hasResults) out.push(turn);
    held = [];
  }
  return [...out, ...held];
}

function hasCalls(turn: Turn): boolean {
  return turn.role === "assistant" && turn.blocks.some((block) => block.type === "tool_call");
}

/** Joins neighbours of one role. System turns stay apart: each may have its own place. */
export function mergeTurns(turns: readonly Turn[]): Turn[] {
  const out: Turn[] = [];
  /** The blocks of the last turn, once they are copied into a list that may be changed. */
  let joined: Block[] | undefined;
  for (const turn of turns) {
    const previous = out.at(-1);
    if (previous === undefined || previous.role !== turn.role || turn.role === "system") {
      out.push(turn);
      joined = undefined;
      continue;
    }
    if (joined === undefined) {
      joined = [...previous.blocks];
      out[out.length - 1] = { ...previous, blocks: joined };
    }
    for (const block of turn.blocks) joined.push(block);
  }
  return out;
}

/** Walks the turns once and brings calls and results together. */
class Pairing {
  readonly #strict: boolean;
  readonly #warnings: Warnings;
  readonly #used = new Set<string>();
  /** The last number appended to each repeated id. */
  readonly #numbers = new Map<string, number>();
  #made = 0;

  constructor(strict: boolean, warnings: Warnings) {
    this.#strict = strict;
    this.#warnings = warnings;
  }

  pair(turns: readonly Turn[]): Turn[] {
    const out: Turn[] = [];
    let open: OpenCalls | undefined;
    for (const turn of turns) {
      if (turn.role === "user") {
        out.push(this.#answer(turn, open));
        open = undefined;
        continue;
      }
      if (open !== undefined) out.push(this.#answer(emptyTurn(turn), open));
      open = undefined;
      if (turn.role === "assistant" && hasCalls(turn)) {
        const named = this.#nameCalls(turn);
        out.push(named.turn);
        open = named.open;
      } else {
        out.push(turn);
      }
    }
    const last = out.at(-1);
    if (open !== undefined && last !== undefined) out.push(this.#answer(emptyTurn(last), open));
    return out.filter((turn) => turn.blocks.length > 0);
  }

  /** Gives every call an id that no earlier call has. */
  #nameCalls(turn: Turn): { turn: Turn; open: OpenCalls } {
    const open = new OpenCalls();
    const blocks = turn.blocks.map((block) => {
      if (block.type !== "tool_call") return block;
      const id = this.#freshId(block.id);
      open.add(block, id);
      return id === block.id ? block : { ...block, id };
    });
    return { turn: { ...turn, blocks }, open };
  }

  /** Depends only on the calls before it, so the same history gets the same ids in every request. */
  #freshId(id: string): string {
    const base = id === "" ? `call_${this.#made++}` : id;
    let fresh = base;
    if (this.#used.has(base)) {
      let n = this.#numbers.get(base) ?? 1;
      do fresh = `${base}_${++n}`; while (this.#used.has(fresh));
      this.#numbers.set(base, n);
    }
    this.#used.add(fresh);
    return fresh;
  }

  /** Puts the results of `open` first into `turn`, in the order of the calls. */
  #answer(turn: Turn, open: OpenCalls | undefined): Turn {
    if (open === undefined && !turn.blocks.some(({ type }) => type === "tool_result")) return turn;
    const rest: Block[] = [];
    for (const block of turn.blocks) {
      if (block.type !== "tool_result") rest.push(block);
      else if (open?.assign(block) !== true) rest.push(...this.#orphan(block));
    }
    const results = open?.list.map((entry) => this.#resultOf(entry, turn)) ?? [];
    if (results.length === 0 && rest.length === turn.blocks.length) {
      return { ...turn, blocks: rest };
    }
    return { ...turn, blocks: [...results, ...rest] };
  }

  #resultOf(entry: OpenCall, turn: Turn): ToolResultBlock {
    if (entry.result !== undefined) {
      return entry.result.callId === entry.id
        ? entry.result
        : { ...entry.result, callId: entry.id };
    }
    if (this.#strict) {
      invalid(
        turn.path,
        "`tool_use` ids were found without `tool_result` blocks immediately after: " +
          entry.call.id.slice(0, 64),
      );
    }
    this.#warnings.add(entry.call.path);
    return {
      type: "tool_result",
      path: entry.call.path,
      callId: entry.id,
      content: [{ type: "text", text: noResult, path: entry.call.path }],
      isError: true,
      ...(entry.call.input.kind === "text" ? { custom: true } : {}),
    };
  }

  /** Turns a result without a call into text of the user, which the model can still read. */
  #orphan(result: ToolResultBlock): TextBlock[] {
    if (this.#strict) {
      invalid(
        result.path,
        "unexpected `tool_use_id` found in `tool_result` blocks: " + result.callId.slice(0, 64),
      );
    }
    this.#warnings.add(result.path);
    return result.content
      .filter((block) => block.type === "text")
      .map((block) => ({ type: "text", text: `Tool result: ${block.text}`, path: result.path }));
  }
}

function emptyTurn(beside: Turn): Turn {
  return { role: "user", blocks: [], path: beside.path };
}
