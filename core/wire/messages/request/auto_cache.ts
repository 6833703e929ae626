/**
 * Places cache marks for clients whose style has none. A Messages vendor caches only up to a mark: without marks every
 * turn of an agent's conversation would be charged in full for all earlier turns.
 *
 * The marks follow the order in which the vendor caches (tools, system, messages). One is after tools and instructions,
 * which all conversations of a client share. One is at the end of each of the last two user turns: the next request
 * reads what this one wrote, and this one what the previous one wrote.
 */
import { isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";

/**
 * Shorter prompts get no marks. No vendor caches below 1,024 tokens, at about four characters each; a mark on less would
 * be ignored.
 */
const leastChars = 4_096;

const markedTurns = 2;

const mark = { cache_control: { type: "ephemeral" } };

/** Blocks that may have a mark. */
const markable: ReadonlySet<string> = new Set([
  "text",
  "image",
  "document",
  "search_result",
  "tool_use",
  "tool_result",
]);

/** Adds marks to a request of the Messages style that has none. */
export function placeCacheMarks(body: JsonObject): void {
  const { tools, system, messages } = body;
  if (!holdsChars([tools, system, messages])) return;
  if (Array.isArray(system) && markLast(system)) {
    // Tools come before the instructions, so one mark covers both.
  } else if (Array.isArray(tools)) {
    markLast(tools);
  }
  if (!Array.isArray(messages)) return;
  // A single question without tools or history is not repeated: writing it to the cache would only cost.
  if (tools === undefined && messages.length < 2) return;
  let left = markedTurns;
  for (let at = messages.length - 1; at >= 0 && left > 0; at--) {
    const message = messages[at];
    if (!isJsonObject(message) || message["role"] !== "user") continue;
    left--;
    const content = contentOf(message);
    if (markLast(content)) message["content"] = content;
  }
}

function contentOf(message: JsonObject): Json[] {
  const content = message["content"];
  if (Array.isArray(content)) return content;
  return typeof content === "string" ? [{ type: "text", text: content }] : [];
}

/** Marks the last entry if it can have a mark; a tool has no block type. */
function markLast(entries: Json[]): boolean {
  const last = entries.at(-1);
  if (!isJsonObject(last) || !canHold(last)) return false;
  entries[entries.length - 1] = { ...last, ...mark };
  return true;
}

function canHold(entry: JsonObject): boolean {
  const { type, text } = entry;
  if (type === "text") return typeof text === "string" && text.trim() !== "";
  return entry["input_schema"] !== undefined || markable.has(String(type));
}

/** Whether the strings within these values have enough characters; stops once they have. */
function holdsChars(values: readonly (Json | undefined)[]): boolean {
  let chars = 0;
  const rest: (Json | undefined)[] = [...values];
  while (rest.length > 0 && chars < leastChars) {
    const value = rest.pop();
    if (typeof value === "string") chars += value.length;
    else if (Array.isArray(value)) { for (const element of value) rest.push(element); }
    else if (isJsonObject(value)) {
      for (const [name, member] of Object.entries(value)) {
        chars += name.length;
        rest.push(member);
      }
    }
  }
  return chars >= leastChars;
}
