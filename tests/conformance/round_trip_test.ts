/**
 * What the tables of conversion call lossless survives conversion to another style and back: once for every recorded
 * request and every recorded answer.
 */
import { assert, assertEquals, assertNotEquals } from "../support/assert.ts";
import type { RouteCapabilities, Style } from "../../core/wire/contract/contract.ts";
import type { Block, Conversation } from "../../core/wire/conversation/mod.ts";
import { normalizeTurns } from "../../core/wire/fields/normalize_turns.ts";
import { convertAnswer, convertRequest } from "../../core/wire/convert/convert.ts";
import { dialectOf } from "../../core/wire/convert/dialects.ts";
import { isJsonObject, type JsonObject } from "../../core/lib/json/json.ts";
import { context, list, readWhole } from "./clients.ts";
import { gistOf } from "./gist.ts";
import { describeRecordings, otherStyles } from "./recordings.ts";

const capabilities: Record<Style, RouteCapabilities> = {
  messages: { mid_system: true, thinking: "budget" },
  chat: { custom_tools: true },
  responses: { custom_tools: true },
  gemini: { images: "url" },
};

function convert(from: Style, to: Style, body: JsonObject): JsonObject | undefined {
  const options = { capabilities: capabilities[to], upstreamModel: "m", maxOutputTokens: 128_000 };
  const conversion = convertRequest(from, to, body, options);
  return conversion.ok ? conversion.request.body : undefined;
}

/** Returns what must be equal: text, pictures, calls, results, tools and limits. */
function lossless(style: Style, body: JsonObject): JsonObject {
  const conversation = normalizeTurns(dialectOf(style).decodeRequest(body));
  const ids = new Map<string, number>();
  return {
    system: conversation.system.map((block) => block.text).join("\n\n"),
    turns: conversation.turns.map(({ role, blocks }) => ({
      role,
      ...(role === "assistant" ? assistantTurn(blocks, ids) : { parts: userParts(blocks, ids) }),
    })),
    tools: conversation.tools.filter((tool) => tool.type !== "hosted").map(toolOf),
    ...limitsOf(conversation),
  };
}

function numberOf(id: string, ids: Map<string, number>): number {
  const known = ids.get(id);
  if (known !== undefined) return known;
  ids.set(id, ids.size);
  return ids.size - 1;
}

/** Returns a turn of the assistant as Chat has it: one text followed by the calls, without their order. */
function assistantTurn(blocks: readonly Block[], ids: Map<string, number>): JsonObject {
  const text = blocks.map((block) => block.type === "text" ? block.text : "").join("");
  const calls = blocks.flatMap((block): JsonObject[] => {
    if (block.type !== "tool_call") return [];
    const { input } = block;
    const value = input.kind === "object"
      ? input.value
      : input.kind === "text"
      ? { input: input.text }
      : JSON.parse(input.text || "{}");
    return [{ call: numberOf(block.id, ids), name: block.name, value }];
  });
  return { text: text.trimEnd(), calls };
}

function userParts(blocks: readonly Block[], ids: Map<string, number>): JsonObject[] {
  return blocks.flatMap((block): JsonObject[] => {
    switch (block.type) {
      case "text":
        return [{ text: block.text }];
      case "image":
        return [{ image: { ...block.source } }];
      case "document":
        return [{ document: JSON.stringify(block.source), title: block.title ?? null }];
      case "tool_result":
        return [{
          result: numberOf(block.callId, ids),
          content: userParts(block.content, ids),
        }];
      default:
        return [];
    }
  });
}

function toolOf(tool: Conversation["tools"][number]): JsonObject {
  if (tool.type !== "function") return { name: tool.type === "custom" ? tool.name : "" };
  const { name, description, schema } = tool;
  return {
    name,
    description: description ?? "",
    schema: { type: "object", properties: {}, ...schema },
  };
}

function limitsOf({ maxTokens, sampling, toolChoice, stream, output }: Conversation): JsonObject {
  const { temperature, topP } = sampling;
  return {
    maxTokens: maxTokens ?? null,
    temperature: temperature ?? null,
    topP: topP ?? null,
    stream,
    choice: toolChoice === undefined
      ? null
      : toolChoice.type === "tool"
      ? toolChoice.name
      : toolChoice.type,
    schema: output?.type === "json_schema" ? output.schema : null,
  };
}

/** Signatures and redacted thinking of a Messages answer, which must come back byte for byte. */
function proofs(answer: JsonObject): unknown[] {
  return list(answer["content"]).flatMap(({ signature, data }) => [signature, data])
    .filter((proof) => proof !== undefined);
}

/**
 * Directions with an intended loss, and its reason. Each is a row of the tables that is marked as lossy.
 */
const lossy: Record<string, string> = {
  "messages/tool-result-image-url chat":
    "tool messages hold only text: the image moves behind them",
  "messages/tool-result-text-document chat": "a text document becomes text",
  "messages/tool-result-text-document responses": "a text document becomes text",
  "messages/tool-result-is-error chat": "an error is told in words",
  "messages/tool-result-is-error responses": "an error is told in words",
  "messages/max-tokens-system-blocks responses": "a cap under 16 is raised to 16",
  "chat/custom-tool messages": "a free-text tool becomes a function",
  "messages/mid-conversation-system gemini": "the style has no instructions between turns",
  "messages/tool-result-image-url gemini": "the image moves behind the results",
  "messages/tool-result-text-document gemini": "a text document becomes text",
  "chat/custom-tool gemini": "a free-text tool becomes a function",
  "chat/file-pdf-tool gemini": "the name of a file becomes text before it",
  "responses/web-search gemini": "a choice is of functions only",
  "responses/web-search chat": "a hosted tool is left out, and with it the choice",
};

/** The old function form has no ids for calls, so the answer returns with generated ones. */
function withoutMadeIds(calls: readonly string[], original: readonly string[]): string[] {
  return calls.map((call, i) => original[i]?.startsWith(" ") ? call.replace(/^\S+/, "") : call);
}

describeRecordings("round trips", (recordings) => {
  for (const { name, style, status, request, answer } of recordings) {
    if (status !== 200) continue;
    for (const through of otherStyles(style)) {
      const loss = lossy[`${name} ${through}`];
      if (request !== undefined) {
        const how = loss === undefined ? "whole" : `changed: ${loss}`;
        Deno.test(`${name}: the request comes back from ${through} ${how}`, () => {
          const there = convert(style, through, request);
          if (there === undefined) return;
          const back = convert(through, style, there);
          assert(back !== undefined);
          const [before, after] = [lossless(style, request), lossless(style, back)];
          // Messages requires a token limit; the others do not.
          const uncapped = before["maxTokens"] === null;
          const comparable = uncapped ? { ...after, maxTokens: null } : after;
          if (loss === undefined) assertEquals(comparable, before);
          else assertNotEquals(comparable, before);
        });
      }
      if (!isJsonObject(answer) || "input_tokens" in answer) continue;
      Deno.test(`${name}: the answer comes back from ${through} whole`, () => {
        const there = convertAnswer(style, through, answer, context, {});
        const back = readWhole(style, convertAnswer(through, style, there, context, {}));
        const [before, after] = [gistOf(style, answer), gistOf(style, back)];
        assertEquals(withoutMadeIds(after.calls, before.calls), [...before.calls]);
        assertEquals(after.reasoning, before.reasoning);
        assertEquals(after.tokens, before.tokens);
        // A refusal is also text where the intermediate style has no other place for it.
        if (before.refusal === "") assertEquals(after.text, before.text);
        else assert(`${after.text}${after.refusal}`.includes(before.refusal));
        assertEquals(proofs(back), proofs(answer));
      });
    }
  }
});
