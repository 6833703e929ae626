/** Joins the events of the scripted model into answers for clients that do not stream. */
import { isJsonObject, type Json, type JsonObject } from "../../core/lib/json/json.ts";
import { objects } from "./messages_script.ts";
import type { ScriptedEvent } from "./scripted_turn.ts";

function member(value: Json | undefined, name: string): JsonObject {
  const found = isJsonObject(value) ? value[name] : undefined;
  return isJsonObject(found) ? found : {};
}

export function wholeMessages(events: readonly ScriptedEvent[]): JsonObject {
  const message: JsonObject = {};
  const content: JsonObject[] = [];
  for (const { name, value } of events) {
    const open = content.at(-1);
    if (name === "message_start") {
      Object.assign(message, member(value, "message"));
    }
    if (name === "content_block_start") {
      content.push({ ...member(value, "content_block") });
    }
    if (name === "message_delta") {
      Object.assign(message, member(value, "delta"), {
        usage: member(value, "usage"),
      });
    }
    if (name !== "content_block_delta" || open === undefined) continue;
    const { type, ...delta } = member(value, "delta");
    if (type === "input_json_delta") {
      open["input"] = JSON.parse(String(delta["partial_json"]));
    } else {for (const key of Object.keys(delta)) {
        open[key] = `${open[key] ?? ""}${delta[key]}`;
      }}
  }
  return { ...message, content };
}

export function wholeChat(events: readonly ScriptedEvent[]): JsonObject {
  const message: JsonObject = { role: "assistant", content: "" };
  const calls: JsonObject[] = [];
  let envelope: JsonObject = {};
  let finish: Json = null;
  for (const { value } of events) {
    if (!isJsonObject(value)) continue;
    const { choices, ...rest } = value;
    envelope = { ...envelope, ...rest };
    const choice = Array.isArray(choices) ? choices[0] : undefined;
    if (!isJsonObject(choice)) continue;
    finish = choice["finish_reason"] ?? finish;
    const delta = member(choice, "delta");
    for (const key of ["content", "reasoning_content"]) {
      if (delta[key] !== undefined) {
        message[key] = `${message[key] ?? ""}${delta[key]}`;
      }
    }
    const call = Array.isArray(delta["tool_calls"]) ? delta["tool_calls"][0] : undefined;
    if (!isJsonObject(call)) continue;
    if (call["id"] !== undefined) calls.push(call);
    else {Object.assign(
        member(calls.at(-1), "function"),
        member(call, "function"),
      );}
  }
  if (calls.length > 0) message["tool_calls"] = calls;
  const choice = { index: 0, message, logprobs: null, finish_reason: finish };
  return { ...envelope, object: "chat.completion", choices: [choice] };
}

export function wholeResponses(events: readonly ScriptedEvent[]): JsonObject {
  return member(events.at(-1)?.value, "response");
}

export function wholeGemini(events: readonly ScriptedEvent[]): JsonObject {
  const chunks = events.flatMap(({ value }) => isJsonObject(value) ? [value] : []);
  const candidates = chunks.flatMap(({ candidates }) => objects(candidates));
  const parts = candidates.flatMap(({ content }) =>
    objects(member({ content }, "content")["parts"])
  );
  const candidate = { ...candidates.at(-1), content: { parts, role: "model" } };
  return { ...chunks.at(-1), candidates: [candidate] };
}
