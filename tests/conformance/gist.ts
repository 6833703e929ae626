/** What an answer says, apart from the style it is said in. */
import type { Style } from "../../core/dialects/contract.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { list } from "./clients.ts";

/** What an answer says, in one form for all styles. */
export interface Gist {
  readonly text: string;
  readonly refusal: string;
  readonly reasoning: string;
  readonly calls: readonly string[];
  readonly tokens: readonly (number | undefined)[];
}

function joined(parts: readonly (JsonObject | undefined)[], key: string): string {
  return parts.map((part) => typeof part?.[key] === "string" ? part[key] : "").join("");
}

function call(id: unknown, name: unknown, args: unknown): string {
  const input = typeof args === "string" ? JSON.parse(args === "" ? "{}" : args) : args;
  return `${String(id)} ${String(name)} ${JSON.stringify(input)}`;
}

function counts(usage: unknown, ...keys: string[]): (number | undefined)[] {
  return keys.map((key) => {
    const value = isJsonObject(usage) ? usage[key] : undefined;
    return typeof value === "number" ? value : undefined;
  });
}

/** Reads what an answer says. */
export function gistOf(style: Style, answer: JsonObject): Gist {
  const { usage } = answer;
  if (style === "messages") return messagesGist(answer);
  if (style === "chat") {
    const choice = list(answer["choices"])[0];
    const message = isJsonObject(choice?.["message"]) ? choice["message"] : {};
    const calls = list(message["tool_calls"]).map((one) => {
      const inner = isJsonObject(one["function"]) ? one["function"] : undefined;
      const custom = isJsonObject(one["custom"]) ? one["custom"] : {};
      return inner === undefined
        ? call(one["id"], custom["name"], { input: custom["input"] })
        : call(one["id"], inner["name"], inner["arguments"]);
    });
    const legacy = message["function_call"];
    if (isJsonObject(legacy)) calls.push(call("", legacy["name"], legacy["arguments"]));
    return {
      text: joined([message], "content"),
      refusal: joined([message], "refusal"),
      reasoning: joined([message], "reasoning_content") || joined([message], "reasoning"),
      calls,
      tokens: counts(usage, "prompt_tokens", "completion_tokens"),
    };
  }
  const items = list(answer["output"]);
  const parts = items.flatMap((item) => list(item["content"]));
  return {
    text: joined(parts, "text"),
    refusal: joined(parts, "refusal"),
    reasoning: joined(items.flatMap((item) => list(item["summary"])), "text"),
    calls: items.flatMap((item) => {
      const { type, call_id, name } = item;
      if (type === "custom_tool_call") return [call(call_id, name, { input: item["input"] })];
      return type === "function_call" ? [call(call_id, name, item["arguments"])] : [];
    }),
    tokens: counts(usage, "input_tokens", "output_tokens"),
  };
}

function messagesGist(answer: JsonObject): Gist {
  const blocks = list(answer["content"]);
  const texts = blocks.filter((block) => block["type"] === "text");
  const details = isJsonObject(answer["stop_details"]) ? answer["stop_details"] : {};
  const [input, written, read, output] = counts(
    answer["usage"],
    "input_tokens",
    "cache_creation_input_tokens",
    "cache_read_input_tokens",
    "output_tokens",
  );
  return {
    text: joined(texts, "text"),
    refusal: joined([details], "explanation"),
    reasoning: joined(blocks, "thinking"),
    calls: blocks.flatMap((block) =>
      block["type"] === "tool_use" ? [call(block["id"], block["name"], block["input"])] : []
    ),
    tokens: [(input ?? 0) + (written ?? 0) + (read ?? 0), output],
  };
}
