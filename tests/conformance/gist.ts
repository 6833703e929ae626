/** Reads the content of an answer independently of its style. */
import type { Style } from "../../core/wire/contract/contract.ts";
import { isJsonObject, type JsonObject } from "../../core/lib/json/json.ts";
import { list } from "./clients.ts";

/** The content of an answer, in one form for all styles. */
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

/** Returns the text of a Chat message. Some servers write a list of parts, which may include thinking. */
function chatWords({ content }: JsonObject): { readonly text: string; readonly thinking: string } {
  if (typeof content === "string") return { text: content, thinking: "" };
  const parts = list(content);
  const thoughts = parts.flatMap((part) => list(part["thinking"]));
  return { text: joined(parts, "text"), thinking: joined(thoughts, "text") };
}

/** Whether a call has a name. Servers that write every member of their SDK also write empty calls. */
function isNamed({ name }: JsonObject): boolean {
  return typeof name === "string" && name !== "";
}

function call(id: unknown, name: unknown, args: unknown = ""): string {
  const input = typeof args === "string" ? JSON.parse(args === "" ? "{}" : args) : args;
  return `${String(id)} ${String(name)} ${JSON.stringify(input)}`;
}

function counts(usage: unknown, ...keys: string[]): (number | undefined)[] {
  return keys.map((key) => {
    const value = isJsonObject(usage) ? usage[key] : undefined;
    return typeof value === "number" ? value : undefined;
  });
}

/** Reads the content of an answer. */
export function gistOf(style: Style, answer: JsonObject): Gist {
  const { usage } = answer;
  if (style === "messages") return messagesGist(answer);
  if (style === "gemini") return geminiGist(answer);
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
    if (isJsonObject(legacy) && isNamed(legacy)) {
      calls.push(call("", legacy["name"], legacy["arguments"]));
    }
    const words = chatWords(message);
    return {
      text: words.text,
      refusal: joined([message], "refusal"),
      reasoning: joined([message], "reasoning_content") || joined([message], "reasoning") ||
        words.thinking,
      calls,
      tokens: chatTokens(usage),
    };
  }
  const items = list(answer["output"]);
  const parts = items.filter(({ type }) => type === "message")
    .flatMap((item) => list(item["content"]));
  return {
    text: joined(parts, "text"),
    refusal: joined(parts, "refusal"),
    reasoning: joined(items.filter(({ type }) => type === "reasoning").flatMap(thoughtsOf), "text"),
    calls: items.flatMap((item) => {
      const { type, call_id, name } = item;
      if (type === "custom_tool_call") return [call(call_id, name, { input: item["input"] })];
      return type === "function_call" ? [call(call_id, name, item["arguments"])] : [];
    }),
    tokens: counts(usage, "input_tokens", "output_tokens"),
  };
}

/** Returns the parts of a reasoning item: its summary, or its content from servers that show all of it. */
function thoughtsOf(item: JsonObject): JsonObject[] {
  const summary = list(item["summary"]);
  return summary.length > 0 ? summary : list(item["content"]);
}

function geminiGist(answer: JsonObject): Gist {
  const candidate = list(answer["candidates"])[0] ?? {};
  const content = isJsonObject(candidate["content"]) ? candidate["content"] : {};
  const parts = list(content["parts"]);
  const usage = isJsonObject(answer["usageMetadata"]) ? answer["usageMetadata"] : undefined;
  const [input, said, thoughts] = counts(
    usage,
    "promptTokenCount",
    "candidatesTokenCount",
    "thoughtsTokenCount",
  );
  return {
    text: joined(parts.filter(({ thought }) => thought !== true), "text"),
    refusal: candidate["finishReason"] === "SAFETY" ? joined([candidate], "finishMessage") : "",
    reasoning: joined(parts.filter(({ thought }) => thought === true), "text"),
    calls: parts.flatMap(({ functionCall: made }) =>
      isJsonObject(made) ? [call(made["id"], made["name"], made["args"])] : []
    ),
    tokens: [input, said === undefined ? undefined : said + (thoughts ?? 0)],
  };
}

/** Returns the tokens of a Chat answer. Some servers count reasoning in the total only. */
function chatTokens(usage: unknown): (number | undefined)[] {
  const [input, output, total] = counts(
    usage,
    "prompt_tokens",
    "completion_tokens",
    "total_tokens",
  );
  const reasoned = output !== undefined && total !== undefined;
  return [input, reasoned ? Math.max(output, total - (input ?? 0)) : output];
}

function messagesGist(answer: JsonObject): Gist {
  const blocks = list(answer["content"]);
  const texts = blocks.filter((block) => block["type"] === "text");
  const details = isJsonObject(answer["stop_details"]) ? answer["stop_details"] : {};
  const { usage } = answer;
  const rounds = isJsonObject(usage) ? list(usage["iterations"]) : [];
  const told = (rounds.length > 0 ? rounds : [usage]).map((one) =>
    counts(
      one,
      "input_tokens",
      "cache_creation_input_tokens",
      "cache_read_input_tokens",
      "output_tokens",
    )
  );
  const sum = (column: number) =>
    told.reduce((total, columns) => total + (columns[column] ?? 0), 0);
  return {
    text: joined(texts, "text"),
    refusal: joined([details], "explanation"),
    reasoning: joined(blocks, "thinking"),
    calls: blocks.flatMap((block) =>
      block["type"] === "tool_use" ? [call(block["id"], block["name"], block["input"])] : []
    ),
    tokens: [sum(0) + sum(1) + sum(2), sum(3)],
  };
}
