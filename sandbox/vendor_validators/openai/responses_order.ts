/**
 * Checks that span several fields: which Responses items belong together, and fields that need each other. Each check
 * returns the vendor's refusal or `undefined`.
 */
import type { InputItem } from "./responses_items.ts";
import type { ResponsesRequest } from "./responses_schema.ts";

type Check = (request: ResponsesRequest) => string | undefined;

function items(request: ResponsesRequest): readonly InputItem[] {
  return Array.isArray(request.input) ? request.input : [];
}

/** Checks that every call has an output and every output a call; the vendor does not require them to be neighbours. */
const callsAnswered: Check = (request) => {
  const hasOldTurns = Boolean(request.previous_response_id ?? request.conversation);
  const open = new Map<string, "function" | "custom tool">();
  const seen = new Set<string>();
  for (const item of items(request)) {
    if (item.type === "function_call" || item.type === "custom_tool_call") {
      open.set(item.call_id, item.type === "function_call" ? "function" : "custom tool");
      seen.add(item.call_id);
    } else if (item.type === "function_call_output" || item.type === "custom_tool_call_output") {
      if (!seen.has(item.call_id) && !hasOldTurns) {
        const kind = item.type === "function_call_output" ? "function" : "custom tool";
        return `No tool call found for ${kind} call output with call_id ${item.call_id}.`;
      }
      open.delete(item.call_id);
    }
  }
  for (const [id, kind] of open) return `No tool output found for ${kind} call ${id}.`;
  return undefined;
};

/** Checks that reasoning is followed by the output that it belongs to, and that the vendor can read it. */
const reasoningInPlace: Check = (request) => {
  for (const [at, item] of items(request).entries()) {
    if (item.type !== "reasoning") continue;
    const next = items(request)[at + 1];
    if (next === undefined || !isModelOutput(next)) {
      return `Item '${item.id}' of type 'reasoning' was provided without its required following item.`;
    }
    if (request.store === false && !item.encrypted_content) {
      return `Item with id '${item.id}' not found. Items are not persisted when \`store\` is set to false.`;
    }
  }
  return undefined;
};

function isModelOutput(item: InputItem): boolean {
  if (item.type === undefined || item.type === "message") return item.role === "assistant";
  return !item.type.endsWith("_output");
}

const needsPartner: Check = (request) => {
  const isEmpty = request.input === undefined && !request.prompt && !request.previous_response_id &&
    !request.conversation;
  if (isEmpty) {
    return "Missing required parameter: one of 'input', 'previous_response_id', 'prompt' or 'conversation' must be provided.";
  }
  if (request.stream_options && request.stream !== true) {
    return "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
  }
  if (request.previous_response_id && request.conversation) {
    return "Mutually exclusive parameters: 'previous_response_id' and 'conversation'.";
  }
  if (request.background === true && request.store === false) {
    return "Background mode requires 'store' to be true.";
  }
  return undefined;
};

const choiceNamesTool: Check = ({ tools = [], tool_choice }) => {
  if (tool_choice === undefined || tool_choice === "auto" || tool_choice === "none") {
    return undefined;
  }
  if (tools.length === 0) return "Tool choices other than 'auto' require 'tools' to be provided.";
  if (typeof tool_choice === "string" || !("name" in tool_choice)) return undefined;
  const found = tools.some((tool) => "name" in tool && tool.name === tool_choice.name);
  return found
    ? undefined
    : `Tool choice '${String(tool_choice.name)}' not found in 'tools' parameter.`;
};

/** All checks, in the order in which the vendor reports. */
export const responsesChecks: readonly Check[] = [
  needsPartner,
  choiceNamesTool,
  reasoningInPlace,
  callsAnswered,
];
