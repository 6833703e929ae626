/**
 * Brings the messages of a native Chat request into the form that its route is known to take: texts instead of lists of
 * them, ids of calls, and the field for earlier reasoning. Only what the route's capabilities say is changed.
 */
import {
  isJsonObject,
  type Json,
  type JsonObject,
  type Outline,
  type OutlineObject,
} from "../../../lib/json/json.ts";
import type { RouteCapabilities } from "../../contract/contract.ts";
import { Warnings } from "../../contract/warnings.ts";
import { toolIdFor } from "../../tools/tool_preparation.ts";

/** Messages in the form of a route, and the paths of what was changed. */
export interface NativeForm {
  readonly messages: readonly Json[];
  readonly changed: readonly string[];
}

/** Fields with the text of earlier reasoning. */
const reasoningFields = ["reasoning_content", "reasoning"] as const;

/**
 * Whether some message has another form than the route takes. Reads the outline, so that a request that fits is not
 * parsed.
 */
export function needsNativeForm(messages: Outline | undefined, route: RouteCapabilities): boolean {
  if (!Array.isArray(messages) || !asksForForm(route)) return false;
  return messages.some((message) =>
    isJsonObject(message) &&
    (hasListOfTexts(message, route) || hasOtherId(message, route) ||
      hasOtherReasoning(message, route))
  );
}

function asksForForm(
  { text_parts, tool_id = "any", reasoning_replay }: RouteCapabilities,
): boolean {
  return text_parts === false || tool_id !== "any" || reasoning_replay !== undefined;
}

function hasListOfTexts({ content }: OutlineObject, { text_parts }: RouteCapabilities): boolean {
  return text_parts === false && Array.isArray(content) && content.length > 0 &&
    content.every((part) => isJsonObject(part) && part["type"] === "text");
}

function callsOf({ tool_calls: calls }: OutlineObject): OutlineObject[] {
  return Array.isArray(calls) ? calls.filter(isJsonObject) : [];
}

function hasOtherId(message: OutlineObject, { tool_id: rule = "any" }: RouteCapabilities): boolean {
  if (rule === "any") return false;
  const ids = [message["tool_call_id"], ...callsOf(message).map((call) => call["id"])];
  return ids.some((id) => typeof id === "string" && toolIdFor(rule, id) !== id);
}

/**
 * Whether earlier reasoning is there for a route that refuses it, or is missing in a turn with calls at one that wants
 * it back: such servers refuse the turn without the field, which may be empty
 * (https://api-docs.deepseek.com/guides/thinking_mode).
 */
function hasOtherReasoning(
  message: OutlineObject,
  { reasoning_replay: replay }: RouteCapabilities,
): boolean {
  if (message["role"] !== "assistant" || replay === undefined) return false;
  const has = (name: string) => message[name] !== undefined && message[name] !== null;
  if (replay === "none") return reasoningFields.some(has);
  if (replay !== "reasoning_content" && replay !== "reasoning") return false;
  return !has(replay) && (callsOf(message).length > 0 || reasoningFields.some(has));
}

/**
 * Returns the messages as the route takes them.
 *
 * @example
 * ```ts
 * import { nativeForm } from "./native_form.ts";
 * const content = [{ type: "text", text: "a" }, { type: "text", text: "b" }];
 * const { messages, changed } = nativeForm([{ role: "user", content }], { text_parts: false });
 * if (JSON.stringify(messages) !== '[{"role":"user","content":"a\\n\\nb"}]') throw new Error(JSON.stringify(messages));
 * if (changed.join() !== "messages.0.content") throw new Error(changed.join());
 * ```
 */
export function nativeForm(messages: readonly Json[], route: RouteCapabilities): NativeForm {
  const warnings = new Warnings();
  const written = messages.map((message, i) => {
    if (!isJsonObject(message)) return message;
    const path = `messages.${i}`;
    return withReasoning(withIds(withText(message, path), path), path);
  });
  return { messages: written, changed: warnings.list() };

  function withText(message: JsonObject, path: string): JsonObject {
    const { content } = message;
    if (!hasListOfTexts(message, route) || !Array.isArray(content)) return message;
    warnings.add(`${path}.content`);
    const texts = content.map((part) => isJsonObject(part) ? String(part["text"] ?? "") : "");
    return { ...message, content: texts.join("\n\n") };
  }

  function withIds(message: JsonObject, path: string): JsonObject {
    const { tool_id: rule = "any" } = route;
    if (!hasOtherId(message, route)) return message;
    const mapped = (id: Json | undefined, at: string): Json | undefined => {
      if (typeof id !== "string" || toolIdFor(rule, id) === id) return id;
      warnings.add(at);
      return toolIdFor(rule, id);
    };
    const { tool_calls: calls, tool_call_id: id } = message;
    return {
      ...message,
      ...(id === undefined ? {} : { tool_call_id: mapped(id, `${path}.tool_call_id`) }),
      ...(Array.isArray(calls)
        ? {
          tool_calls: calls.map((call, i) =>
            isJsonObject(call)
              ? { ...call, id: mapped(call["id"], `${path}.tool_calls.${i}.id`) }
              : call
          ),
        }
        : {}),
    };
  }

  function withReasoning(message: JsonObject, path: string): JsonObject {
    const { reasoning_replay: replay } = route;
    if (!hasOtherReasoning(message, route)) return message;
    const { reasoning_content, reasoning, ...rest } = message;
    const given = reasoning_content ?? reasoning;
    if (replay !== "reasoning_content" && replay !== "reasoning") {
      for (const name of reasoningFields) {
        if (message[name] !== undefined) warnings.add(`${path}.${name}`);
      }
      return rest;
    }
    warnings.add(`${path}.${replay}`);
    return { ...rest, [replay]: typeof given === "string" ? given : "" };
  }
}
