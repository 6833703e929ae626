/**
 * Brings a conversation into the order that every vendor accepts, before it is encoded: neighbours of one role are
 * merged, tool results stand first in the turn after their calls, ids are unique and none is missing.
 *
 * What a Messages vendor would refuse itself is refused here in its words when the client speaks Messages; Chat and
 * Responses clients get the gap filled, and the place named.
 */
import type {
  Block,
  Conversation,
  TextBlock,
  ToolCallBlock,
  ToolResultBlock,
  Turn,
} from "./conversation/mod.ts";
import { invalid } from "./fields.ts";
import { Notes } from "./notes.ts";

const begin: TextBlock = { type: "text", text: "Begin.", path: "messages" };

/** What stands in for the result of a call that was never answered. */
const noResult = "[no result]";

/**
 * @example
 * ```ts
 * import { arrange } from "./arrangement.ts";
 * import type { Turn } from "./conversation/mod.ts";
 * const said = (role: Turn["role"], text: string): Turn => ({ role, path: "", blocks: [{ type: "text", text, path: "" }] });
 * const turns = [said("user", "a"), said("user", "b")];
 * const arranged = arrange({
 *   from: "chat", model: "m", system: [], turns, tools: [], sampling: {}, stream: false, streamUsage: false,
 *   extras: [], notes: [],
 * });
 * if (arranged.turns.length !== 1) throw new Error("two user turns remain");
 * ```
 *
 * @throws {GatewayError} `invalid_request` when nothing is left to answer, or calls and results do not match
 */
export function arrange(conversation: Conversation): Conversation {
  const notes = new Notes(conversation.notes);
  const turns = mergeTurns(withSystemAfterResults(withoutEmptyText(conversation.turns)));
  const pairing = new Pairing(conversation.from === "messages", notes);
  const paired = mergeTurns(pairing.pair(turns));
  if (paired.length === 0) {
    if (conversation.system.length === 0) {
      invalid(listName(conversation), "at least one message with content is required");
    }
    // Only instructions: some vendors answer them, others want a user's word first.
    notes.add(listName(conversation));
    paired.push({ role: "user", path: listName(conversation), blocks: [begin] });
  }
  return { ...conversation, turns: paired, notes: notes.list() };
}

function listName(conversation: Conversation): string {
  return conversation.from === "responses" ? "input" : "messages";
}

/** Vendors refuse text blocks without text, and a turn without blocks says nothing. */
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

/** A system turn between calls and their results moves behind the results. */
function withSystemAfterResults(turns: readonly Turn[]): Turn[] {
  const out: Turn[] = [];
  let held: Turn[] = [];
  for (const turn of turns) {
    const previous = out.at(-1);
    const hasResults = turn.blocks.some((block) => block.type === "tool_result");
    if (turn.role === "system" && previous !== undefined && hasCalls(previous)) {
      held.push(turn);
      continue;
    }
    if (hasResults) {
      out.push(turn, ...held);
    } else {
      out.push(...held, turn);
    }
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
  for (const turn of turns) {
    const previous = out.at(-1);
    if (previous === undefined || previous.role !== turn.role || turn.role === "system") {
      out.push(turn);
    } else {
      out[out.length - 1] = { ...previous, blocks: [...previous.blocks, ...turn.blocks] };
    }
  }
  return out;
}

interface OpenCall {
  readonly call: ToolCallBlock;
  /** The id under which the call was renamed. */
  readonly id: string;
  result: ToolResultBlock | undefined;
}

/** Walks the turns once and brings calls and results together. */
class Pairing {
  readonly #strict: boolean;
  readonly #notes: Notes;
  readonly #used = new Set<string>();
  #made = 0;

  constructor(strict: boolean, notes: Notes) {
    this.#strict = strict;
    this.#notes = notes;
  }

  pair(turns: readonly Turn[]): Turn[] {
    const out: Turn[] = [];
    let open: OpenCall[] = [];
    for (const turn of turns) {
      if (turn.role === "user") {
        out.push(this.#answer(turn, open));
        open = [];
        continue;
      }
      if (open.length > 0) out.push(this.#answer(emptyTurn(turn), open));
      open = [];
      if (turn.role === "assistant" && hasCalls(turn)) {
        const named = this.#nameCalls(turn);
        out.push(named.turn);
        open = named.open;
      } else {
        out.push(turn);
      }
    }
    const last = out.at(-1);
    if (open.length > 0 && last !== undefined) out.push(this.#answer(emptyTurn(last), open));
    return out.filter((turn) => turn.blocks.length > 0);
  }

  /** Gives every call an id that no earlier call has. */
  #nameCalls(turn: Turn): { turn: Turn; open: OpenCall[] } {
    const open: OpenCall[] = [];
    const blocks = turn.blocks.map((block) => {
      if (block.type !== "tool_call") return block;
      const id = this.#freshId(block.id);
      open.push({ call: block, id, result: undefined });
      return id === block.id ? block : { ...block, id };
    });
    return { turn: { ...turn, blocks }, open };
  }

  /** Depends only on the calls before it, so the same history gets the same ids in every request. */
  #freshId(id: string): string {
    const base = id === "" ? `call_${this.#made++}` : id;
    let fresh = base;
    for (let n = 2; this.#used.has(fresh); n++) fresh = `${base}_${n}`;
    this.#used.add(fresh);
    return fresh;
  }

  /** Puts the results of `open` first into `turn`, in the order of the calls. */
  #answer(turn: Turn, open: OpenCall[]): Turn {
    const rest: Block[] = [];
    for (const block of turn.blocks) {
      if (block.type !== "tool_result") rest.push(block);
      else if (!this.#assign(block, open)) rest.push(...this.#orphan(block));
    }
    const results = open.map((entry) => this.#resultOf(entry, turn));
    if (results.length === 0 && rest.length === turn.blocks.length) {
      return { ...turn, blocks: rest };
    }
    return { ...turn, blocks: [...results, ...rest] };
  }

  #assign(result: ToolResultBlock, open: OpenCall[]): boolean {
    const waiting = open.filter((entry) => entry.result === undefined);
    const match = result.callId !== ""
      ? waiting.find((entry) => entry.call.id === result.callId)
      : waiting.find((entry) => result.name === undefined || entry.call.name === result.name);
    if (match === undefined) return false;
    match.result = result;
    return true;
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
    this.#notes.add(entry.call.path);
    return {
      type: "tool_result",
      path: entry.call.path,
      callId: entry.id,
      content: [{ type: "text", text: noResult, path: entry.call.path }],
      isError: true,
      ...(entry.call.input.kind === "text" ? { custom: true } : {}),
    };
  }

  /** A result whose call is not there: its texts stay readable as the user's words. */
  #orphan(result: ToolResultBlock): TextBlock[] {
    if (this.#strict) {
      invalid(
        result.path,
        "unexpected `tool_use_id` found in `tool_result` blocks: " + result.callId.slice(0, 64),
      );
    }
    this.#notes.add(result.path);
    return result.content
      .filter((block) => block.type === "text")
      .map((block) => ({ type: "text", text: `Tool result: ${block.text}`, path: result.path }));
  }
}

function emptyTurn(beside: Turn): Turn {
  return { role: "user", blocks: [], path: beside.path };
}
