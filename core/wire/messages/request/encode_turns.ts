/** Arranges the turns of a conversation in the order that Messages requires. */
import type { JsonObject } from "../../../lib/json/json.ts";
import { mergeTurns } from "../../fields/normalize_turns.ts";
import type { Conversation, Turn } from "../../conversation/mod.ts";
import type { ResolvedCapabilities } from "../../contract/capabilities.ts";
import { invalid } from "../../fields/fields.ts";
import type { Warnings } from "../../contract/warnings.ts";
import { systemAsUser } from "../../content/mid_system.ts";
import { requirePrefill } from "../../fields/prefill.ts";
import type { BlockWriter } from "./encode_blocks.ts";

/** Writes all messages of a conversation, without the leading instructions, which are in `system`. */
export function encodeMessagesTurns(
  conversation: Pick<Conversation, "from" | "turns">,
  capabilities: ResolvedCapabilities,
  writer: BlockWriter,
  warnings: Warnings,
): JsonObject[] {
  const placed = capabilities.mid_system
    ? placeSystem(conversation.turns, warnings)
    : conversation.turns.map((turn) =>
      turn.role === "system" ? systemAsUser(turn, warnings) : turn
    );
  const written: { role: Turn["role"]; path: string; content: JsonObject[] }[] = [];
  for (const turn of mergeTurns(placed)) {
    const blocks = turn.blocks.map((block) => writer.block(block));
    const content = blocks.filter((block) => block !== undefined);
    const previous = written.at(-1);
    if (content.length === 0) continue;
    // A turn that lost all its blocks leaves two neighbours of one role.
    if (previous !== undefined && previous.role === turn.role) previous.content.push(...content);
    else written.push({ role: turn.role, path: turn.path, content: resultsFirst(content) });
  }
  const last = written.at(-1);
  if (last === undefined) {
    invalid(conversation.from === "responses" ? "input" : "messages", "hold nothing to answer");
  }
  if (last.role === "assistant") trimPrefill(last, capabilities);
  const messages = written
    .filter((turn) => turn.content.length > 0)
    .map(({ role, content }): JsonObject => ({ role, content: plainest(content) }));
  if (messages[0]?.role === "assistant") {
    warnings.add(written[0]?.path ?? "messages");
    messages.unshift({ role: "user", content: opening });
  }
  return messages;
}

/** A first user turn for conversations that begin with the assistant: older APIs require one. */
const opening = "(The conversation begins with your message.)";

/** Writes a single text as a string, as the vendor's examples do. */
function plainest(content: JsonObject[]): string | JsonObject[] {
  const [first] = content;
  if (content.length !== 1 || first?.type !== "text" || first.cache_control !== undefined) {
    return content;
  }
  return typeof first.text === "string" ? first.text : content;
}

function resultsFirst(content: JsonObject[]): JsonObject[] {
  if (content[0]?.type === "tool_result" || content.every((b) => b.type !== "tool_result")) {
    return content;
  }
  return [
    ...content.filter((block) => block.type === "tool_result"),
    ...content.filter((block) => block.type !== "tool_result"),
  ];
}

/** Trims the end of a final assistant text, which may not end in white space. */
function trimPrefill(
  last: { path: string; content: JsonObject[] },
  capabilities: ResolvedCapabilities,
): void {
  requirePrefill(last.path, capabilities);
  const block = last.content.at(-1);
  if (block?.type !== "text" || typeof block.text !== "string") return;
  block.text = block.text.trimEnd();
}

/**
 * Arranges system turns: each must follow a user turn, be last or before an assistant turn, and never follow another.
 */
function placeSystem(turns: readonly Turn[], warnings: Warnings): Turn[] {
  const out: Turn[] = [];
  for (let i = 0; i < turns.length; i++) {
    const turn = turns[i];
    if (turn === undefined) continue;
    if (turn.role !== "system") {
      out.push(turn);
      continue;
    }
    const blocks = [...turn.blocks];
    // Neighbouring instructions become one; user turns that follow go before it.
    const users: Turn[] = [];
    for (
      let next = turns[i + 1];
      next !== undefined && next.role !== "assistant";
      next = turns[i + 1]
    ) {
      if (next.role === "system") blocks.push(...next.blocks);
      else users.push(next);
      i++;
    }
    out.push(...users);
    const afterUser = out.at(-1)?.role === "user";
    out.push(afterUser ? { ...turn, blocks } : systemAsUser({ ...turn, blocks }, warnings));
  }
  return out;
}
