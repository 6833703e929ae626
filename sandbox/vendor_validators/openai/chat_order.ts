/**
 * Checks that span several fields: the order of Chat messages, and fields that need or exclude each other
 * (docs/internals/WIRE_FORMATS.md#chat-request, docs/internals/WIRE_FORMATS.md#chat-messages). Each check
 * returns the vendor's refusal or `undefined`.
 */
import type { ChatMessage } from "./chat_messages.ts";
import type { ChatRequest } from "./chat_schema.ts";

type Check = (request: ChatRequest) => string | undefined;

function callIds(message: ChatMessage | undefined): string[] {
  return message?.role === "assistant" ? (message.tool_calls ?? []).map((call) => call.id) : [];
}

/** Checks that tool messages directly follow the assistant message with their calls, one for each call. */
const toolMessagesInPlace: Check = ({ messages }) => {
  let open: string[] = [];
  for (const [at, message] of messages.entries()) {
    if (message.role === "tool") {
      const place = `messages[${at}].tool_call_id`;
      if (!follows(messages, at)) {
        return `Invalid parameter: messages with role 'tool' must be a response to a preceeding ` +
          `message with 'tool_calls' (messages[${at}]).`;
      }
      if (!open.includes(message.tool_call_id)) {
        return `Invalid '${place}': '${message.tool_call_id}' is not an open call of the ` +
          "preceding 'tool_calls'.";
      }
      open = open.filter((id) => id !== message.tool_call_id);
      continue;
    }
    if (open.length > 0) return unanswered(open);
    const ids = callIds(message);
    if (new Set(ids).size < ids.length) {
      return `Invalid 'messages[${at}].tool_calls': duplicate value for 'id'.`;
    }
    open = ids;
  }
  return open.length > 0 ? unanswered(open) : undefined;
};

/** Whether the tool messages before `at` lead back to an assistant message with calls. */
function follows(messages: readonly ChatMessage[], at: number): boolean {
  const before = messages.slice(0, at).findLast((message) => message.role !== "tool");
  return callIds(before).length > 0;
}

function unanswered(ids: readonly string[]): string {
  return "An assistant message with 'tool_calls' must be followed by tool messages responding to " +
    "each 'tool_call_id'. The following tool_call_ids did not have response messages: " +
    ids.join(", ");
}

const needsPartner: Check = (request) => {
  if (request.stream_options && request.stream !== true) {
    return "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
  }
  if (request.tools === undefined) {
    if (request.tool_choice !== undefined) {
      return "Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.";
    }
    if (request.parallel_tool_calls !== undefined) {
      return "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when 'tools' are specified.";
    }
  }
  if (request.function_call !== undefined && request.functions === undefined) {
    return "Invalid value for 'function_call': 'function_call' is only allowed when 'functions' are specified.";
  }
  if (request.top_logprobs && request.logprobs !== true) {
    return "Invalid 'top_logprobs': 'logprobs' must be true.";
  }
  if (request.metadata && request.store !== true) {
    return "The 'metadata' parameter is only allowed when 'store' is enabled.";
  }
  if (typeof request.max_tokens === "number" && typeof request.max_completion_tokens === "number") {
    return "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.";
  }
  return undefined;
};

const choiceNamesTool: Check = ({ tools = [], tool_choice }) => {
  if (tool_choice === undefined || typeof tool_choice === "string") return undefined;
  const wanted = tool_choice.type === "allowed_tools"
    ? tool_choice.allowed_tools.tools
    : [tool_choice];
  const names = tools.map(nameOf);
  const missing = wanted.map(nameOf).find((name) => !names.includes(name));
  return missing === undefined
    ? undefined
    : `Invalid 'tool_choice': Tool choice '${missing}' not found in 'tools' parameter.`;
};

type Named =
  | { readonly type: "function"; readonly function: { readonly name: string } }
  | { readonly type: "custom"; readonly custom: { readonly name: string } };

function nameOf(tool: Named): string {
  return tool.type === "function" ? tool.function.name : tool.custom.name;
}

const jsonIsAskedFor: Check = ({ response_format, messages }) => {
  if (response_format?.type !== "json_object") return undefined;
  const says = messages.some((message) => /json/i.test(JSON.stringify(message.content ?? "")));
  return says
    ? undefined
    : "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.";
};

/** All checks, in the order in which the vendor reports. */
export const chatChecks: readonly Check[] = [
  needsPartner,
  choiceNamesTool,
  jsonIsAskedFor,
  toolMessagesInPlace,
];
