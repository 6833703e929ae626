/** Every recorded answer converts to what a strict client of every other style accepts, and means the same there. */
import { assertEquals } from "@std/assert";
import type { Style } from "../../core/dialects/contract.ts";
import { convertAnswer } from "../../core/dialects/convert.ts";
import { isJsonObject, type JsonObject } from "../../core/json.ts";
import { context, list, readWhole } from "./clients.ts";
import { describeRecordings, otherStyles } from "./recordings.ts";

/** What an answer says, in one form for all styles. */
interface Gist {
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

function gistOf(style: Style, answer: JsonObject): Gist {
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

/** A Messages client has one place for text and refusal; the other two keep them apart. */
function comparable(gist: Gist, styles: readonly Style[]): unknown {
  const { text, refusal, calls, ...rest } = gist;
  const together = styles.includes("messages");
  const legacy = calls.some((one) => one.startsWith(" "));
  return {
    ...rest,
    ...(together ? {} : { text, refusal }),
    calls: legacy ? calls.map((one) => one.replace(/^\S* /, "")) : calls,
  };
}

describeRecordings("recorded answers", (recordings) => {
  for (const { name, style, status, answer } of recordings) {
    if (!isJsonObject(answer) || status !== 200 || "input_tokens" in answer) continue;
    for (const to of otherStyles(style)) {
      Deno.test(`${name}: the answer means the same to a strict ${to} client`, () => {
        const converted = readWhole(to, convertAnswer(style, to, answer, context, {}));
        const [there, here] = [gistOf(to, converted), gistOf(style, answer)];
        const both = [style, to];
        if (here.calls.some((one) => one.startsWith(" "))) {
          // The old form has no ids; the client gets one.
          assertEquals(there.calls.map((one) => one.replace(/^\S+ /, " ")), here.calls);
          assertEquals(there.tokens, here.tokens);
          return;
        }
        assertEquals(comparable(there, both), comparable(here, both));
        if (here.refusal === "") assertEquals(there.text, here.text);
      });
    }
  }
});
