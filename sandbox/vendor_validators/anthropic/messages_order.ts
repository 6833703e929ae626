/**
 * Checks that span several fields: the order of turns and blocks, and fields that exclude each other
 * (docs/internals/WIRE_FORMATS.md#messages-roles-and-order). Each check returns the vendor's refusal or `undefined`.
 */
import type { AssistantBlock, UserBlock } from "./messages_blocks.ts";
import type { MessagesMessage, MessagesRequest } from "./messages_schema.ts";

type Check = (request: MessagesRequest) => string | undefined;

function userBlocks(message: MessagesMessage | undefined): readonly UserBlock[] {
  return message?.role === "user" && typeof message.content !== "string" ? message.content : [];
}

function assistantBlocks(message: MessagesMessage | undefined): readonly AssistantBlock[] {
  return message?.role === "assistant" && typeof message.content !== "string"
    ? message.content
    : [];
}

function toolUseIds(message: MessagesMessage | undefined): string[] {
  return assistantBlocks(message).flatMap((block) => block.type === "tool_use" ? [block.id] : []);
}

function toolResultIds(message: MessagesMessage | undefined): string[] {
  return userBlocks(message).flatMap((block) =>
    block.type === "tool_result" ? [block.tool_use_id] : []
  );
}

const contentNotEmpty: Check = ({ messages }) => {
  for (const [at, { role, content }] of messages.entries()) {
    const isPrefill = role === "assistant" && at === messages.length - 1;
    if (content.length === 0 && !isPrefill) {
      return `messages.${at}: all messages must have non-empty content except for the optional ` +
        "final assistant message";
    }
    if (typeof content === "string" && content !== "" && content.trim() === "") {
      return "messages: text content blocks must contain non-whitespace text";
    }
  }
  return undefined;
};

const toolUseIdsUnique: Check = ({ messages }) => {
  const seen = new Set<string>();
  for (const [at, message] of messages.entries()) {
    for (const id of toolUseIds(message)) {
      if (seen.has(id)) return `messages.${at}: \`tool_use\` ids must be unique: ${id}`;
      seen.add(id);
    }
  }
  return undefined;
};

/** Checks that the next message answers every call once, before any other block. */
const toolResultsInPlace: Check = ({ messages }) => {
  for (const [at, message] of messages.entries()) {
    const answered = leadingResults(messages[at + 1]);
    const missing = toolUseIds(message).filter((id) => !answered.includes(id));
    if (missing.length > 0) {
      return `messages.${at}: \`tool_use\` ids were found without \`tool_result\` blocks ` +
        `immediately after: ${missing.join(", ")}. Each \`tool_use\` block must have a ` +
        "corresponding `tool_result` block in the next message.";
    }
    const asked = toolUseIds(messages[at - 1]);
    const results = toolResultIds(message);
    const stray = results.findIndex((id) => !asked.includes(id));
    if (stray >= 0) {
      return `messages.${at}.content.${stray}: unexpected \`tool_use_id\` found in ` +
        `\`tool_result\` blocks: ${results[stray]}. Each \`tool_result\` block must have a ` +
        "corresponding `tool_use` block in the previous message.";
    }
    const repeated = results.find((id, i) => results.indexOf(id) !== i);
    if (repeated !== undefined) {
      return `messages.${at}: each tool_use must have a single result. Found multiple ` +
        `\`tool_result\` blocks with id: ${repeated}`;
    }
    if (leadingResults(message).length < results.length) {
      return `messages.${at}: \`tool_result\` blocks must come before any other content`;
    }
  }
  return undefined;
};

function leadingResults(message: MessagesMessage | undefined): string[] {
  const blocks = userBlocks(message);
  const end = blocks.findIndex((block) => block.type !== "tool_result");
  const leading = end < 0 ? blocks : blocks.slice(0, end);
  return leading.flatMap((block) => block.type === "tool_result" ? [block.tool_use_id] : []);
}

/** Checks that a system turn follows a user turn and is last or before an assistant turn. */
const systemTurnsInPlace: Check = ({ messages }) => {
  for (const [at, { role }] of messages.entries()) {
    if (role !== "system") continue;
    const before = messages[at - 1]?.role;
    const after = messages[at + 1]?.role;
    if (before !== "user" || (after !== undefined && after !== "assistant")) {
      return `messages.${at}: role 'system' must directly follow a user turn and be last or be ` +
        "followed by an assistant turn";
    }
  }
  return undefined;
};

const assistantEnds: Check = ({ messages }) => {
  for (const [at, message] of messages.entries()) {
    const last = assistantBlocks(message).at(-1);
    if (last?.type === "thinking" || last?.type === "redacted_thinking") {
      return `messages.${at}: The final block in an assistant message cannot be \`thinking\`.`;
    }
  }
  const final = messages.at(-1);
  if (final?.role !== "assistant") return undefined;
  const last = typeof final.content === "string" ? undefined : final.content.at(-1);
  const text = typeof final.content === "string"
    ? final.content
    : last?.type === "text"
    ? last.text
    : "";
  return text !== text.trimEnd()
    ? "messages: final assistant content cannot end with trailing whitespace"
    : undefined;
};

const thinkingFits: Check = (request) => {
  const { thinking, messages } = request;
  if (thinking === undefined || thinking.type === "disabled") return undefined;
  if (request.temperature !== undefined && request.temperature !== 1) {
    return "`temperature` may only be set to 1 when thinking is enabled.";
  }
  if (request.top_p !== undefined && request.top_p < 0.95) {
    return "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.";
  }
  if (request.top_k !== undefined) return "`top_k` must be unset when thinking is enabled.";
  if (thinking.type !== "enabled") return undefined;
  if (thinking.budget_tokens >= request.max_tokens) {
    return "`max_tokens` must be greater than `thinking.budget_tokens`.";
  }
  const choice = request.tool_choice?.type;
  if (choice === "any" || choice === "tool") {
    return "Thinking may not be enabled when tool_choice forces tool use.";
  }
  return toolLoopStartsWithThinking(messages);
};

/** Checks that, with a thinking budget, the turn before the last tool results begins with thinking. */
function toolLoopStartsWithThinking(messages: readonly MessagesMessage[]): string | undefined {
  const lastUser = messages.findLastIndex((message) => message.role === "user");
  if (toolResultIds(messages[lastUser]).length === 0) return undefined;
  const at = lastUser - 1;
  const first = assistantBlocks(messages[at])[0]?.type;
  if (first === "thinking" || first === "redacted_thinking") return undefined;
  return `messages.${at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but ` +
    `found \`${first}\`. When \`thinking\` is enabled, a final \`assistant\` message must start ` +
    "with a thinking block.";
}

const toolsFit: Check = ({ tools = [], tool_choice }) => {
  const names = tools.map((tool) => "name" in tool ? tool.name : undefined);
  const repeated = names.find((name, i) => name !== undefined && names.indexOf(name) !== i);
  if (repeated !== undefined) return `tools: Tool names must be unique: ${repeated}`;
  if (tool_choice === undefined) return undefined;
  if (tools.length === 0) return "tool_choice: may only be specified while providing tools";
  if (tool_choice.type === "tool" && !names.includes(tool_choice.name)) {
    return `tool_choice.name: Tool '${tool_choice.name}' not found in provided tools`;
  }
  return undefined;
};

interface Marked {
  readonly cache_control?: { readonly ttl?: "5m" | "1h" | undefined } | null | undefined;
}

/** Returns the cache marks in the order in which the vendor reads a prompt: tools, system, messages. */
function cacheMarks(request: MessagesRequest): ("5m" | "1h")[] {
  const marks: ("5m" | "1h")[] = [];
  const note = (marked: Marked) => {
    if (marked.cache_control) marks.push(marked.cache_control.ttl ?? "5m");
  };
  for (const tool of request.tools ?? []) {
    if ("input_schema" in tool && tool.input_schema !== undefined) note(tool);
  }
  if (Array.isArray(request.system)) request.system.forEach(note);
  for (const message of request.messages) {
    if (typeof message.content === "string") continue;
    for (const block of message.content) {
      if (block.type === "thinking" || block.type === "redacted_thinking") continue;
      if (block.type === "tool_result" && Array.isArray(block.content)) {
        for (const part of block.content) if (part.type !== "browser_state") note(part);
      }
      note(block);
    }
  }
  note(request);
  return marks;
}

const cacheMarksFit: Check = (request) => {
  const marks = cacheMarks(request);
  if (marks.length > 4) {
    return `A maximum of 4 blocks with cache_control may be provided. Found ${marks.length}.`;
  }
  return marks.lastIndexOf("1h") > marks.indexOf("5m") && marks.includes("5m")
    ? "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"
    : undefined;
};

/** All checks, in the order in which the vendor reports. */
export const messagesChecks: readonly Check[] = [
  contentNotEmpty,
  systemTurnsInPlace,
  toolUseIdsUnique,
  toolResultsInPlace,
  assistantEnds,
  thinkingFits,
  toolsFit,
  cacheMarksFit,
];
