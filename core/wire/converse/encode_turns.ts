/**
 * Writes system texts and turns as Converse messages.
 *
 * See docs/internals/WIRE_FORMATS.md#converse-messages.
 */
import type { JsonObject } from "../../lib/json/json.ts";
import type { ResolvedCapabilities } from "../contract/capabilities.ts";
import type { Conversation, Turn } from "../conversation/mod.ts";
import { systemAsUser } from "../content/mid_system.ts";
import { requirePrefill } from "../fields/prefill.ts";
import { mergeTurns } from "../fields/normalize_turns.ts";
import type { Warnings } from "../contract/warnings.ts";
import type { BlockWriter } from "./encode_blocks.ts";

/** A first user turn for conversations that begin with the assistant: the vendor requires one. */
const opening = "(The conversation begins with your message.)";

/** Text beside documents: the vendor refuses a message that has only documents. */
const besideDocuments = "See the attached document.";

/** Writes the instructions before the first turn. */
export function encodeSystem(
  { system }: Pick<Conversation, "system">,
  writer: BlockWriter,
): JsonObject[] {
  return system.flatMap((block) => writer.blocks(block));
}

/**
 * Writes all messages, without the leading instructions.
 *
 * @param hasTools whether tools go out: without them the vendor refuses calls and results, which become text
 */
export function encodeTurns(
  { turns }: Pick<Conversation, "turns">,
  capabilities: ResolvedCapabilities,
  writer: BlockWriter,
  warnings: Warnings,
  hasTools: boolean,
): JsonObject[] {
  const end = turns.at(-1);
  if (end?.role === "assistant") requirePrefill(end.path, capabilities);
  const asked = turns.map((turn) => turn.role === "system" ? systemAsUser(turn, warnings) : turn);
  const messages: { role: "user" | "assistant"; content: JsonObject[] }[] = [];
  for (const turn of mergeTurns(asked)) {
    const role = turn.role === "assistant" ? "assistant" : "user";
    const content = contentOf(turn, writer, hasTools);
    const last = messages.at(-1);
    if (content.length === 0) continue;
    // A turn that lost all its blocks leaves two neighbours of one role.
    if (last?.role === role) last.content.push(...content);
    else messages.push({ role, content });
  }
  if (messages[0]?.role !== "user") {
    warnings.add(turns[0]?.path ?? "messages");
    messages.unshift({ role: "user", content: [{ text: opening }] });
  }
  trimEnd(messages.at(-1));
  return messages.map(({ role, content }): JsonObject => ({
    role,
    content: hasOnlyDocuments(content) ? [...content, { text: besideDocuments }] : content,
  }));
}

function contentOf(turn: Turn, writer: BlockWriter, hasTools: boolean): JsonObject[] {
  return turn.blocks.flatMap((block) => {
    const isCall = block.type === "tool_call" || block.type === "tool_result";
    return isCall && !hasTools ? writer.callAsText(block) : writer.blocks(block);
  });
}

function hasOnlyDocuments(content: readonly JsonObject[]): boolean {
  return content.some((block) => block.document !== undefined) &&
    content.every((block) => block.text === undefined);
}

/** Trims the end of a final text of the assistant, which may not end in white space. */
function trimEnd(last: { readonly role: string; readonly content: JsonObject[] } | undefined) {
  if (last?.role !== "assistant") return;
  const block = last.content.at(-1);
  if (typeof block?.text === "string") block.text = block.text.trimEnd();
}
