/** Writes a conversation as a Chat request (wire notes, table A). */
import type { JsonObject } from "../../json.ts";
import type { ConversionOptions } from "../contract.ts";
import type { Conversation } from "../conversation.ts";
import type { EncodedRequest } from "../dialect.ts";
import { effortOf, nearestEffort } from "../effort.ts";
import { carryExtras, jsonInWords, schemaInWords, stopPath } from "../extras.ts";
import { type ResolvedFacts, resolveFacts } from "../facts.ts";
import { refuse } from "../fields.ts";
import { allowsStrictChat } from "../json_schema.ts";
import { Notes } from "../notes.ts";
import { hashHex } from "../short_hash.ts";
import { encodeChatMessages } from "./encode_messages.ts";
import { encodeChatTools } from "./encode_tools.ts";

export function encodeChatRequest(
  conversation: Conversation,
  options: ConversionOptions,
): EncodedRequest {
  const facts = resolveFacts("chat", options.facts);
  const notes = new Notes();
  const body: JsonObject = { model: options.upstreamModel };
  const format = encodeFormat(conversation, facts, notes);
  body.messages = encodeChatMessages(conversation, facts, notes, format.instructions);
  const cap = Math.min(facts.max_output ?? Infinity, options.maxOutputTokens);
  if (conversation.maxTokens !== undefined) {
    body[facts.max_tokens_field] = Math.min(conversation.maxTokens, cap);
  }
  encodeChatTools(conversation, facts, notes, body);
  encodeSampling(conversation, facts, notes, body);
  encodeReasoning(conversation, facts, notes, body);
  if (format.field !== undefined) body.response_format = format.field;
  encodeIdentity(conversation, facts, body);
  carryExtras(conversation, facts.extra_fields, body, notes);
  if (facts.prefill === "continue_final_message" && endsWithAssistant(conversation)) {
    body.continue_final_message = true;
    body.add_generation_prompt = false;
  }
  if (conversation.stream) {
    body.stream = true;
    if (facts.include_usage) body.stream_options = { include_usage: true };
  }
  return {
    body,
    notes: notes.list(),
    memory: { reasoningSigner: facts.reasoning_signer },
  };
}

function endsWithAssistant(conversation: Conversation): boolean {
  return conversation.turns.at(-1)?.role === "assistant";
}

function encodeSampling(
  conversation: Conversation,
  facts: ResolvedFacts,
  notes: Notes,
  body: JsonObject,
): void {
  const { temperature, topP, topK, stop } = conversation.sampling;
  const fixed = facts.sampling === "fixed";
  if (temperature !== undefined) {
    if (!fixed) body.temperature = temperature;
    else if (temperature !== 1) notes.add("temperature");
  }
  if (topP !== undefined) {
    const excluded = facts.temp_top_p_exclusive && temperature !== undefined;
    if (!fixed && !excluded) body.top_p = topP;
    else if (topP !== 1) notes.add("top_p");
  }
  if (topK !== undefined) {
    if (!fixed && facts.extra_fields.includes("top_k")) body.top_k = topK;
    else notes.add("top_k");
  }
  if (stop === undefined || stop.length === 0) return;
  if (facts.stop_max === 0) notes.add(stopPath(conversation));
  else if (stop.length > facts.stop_max) {
    refuse(stopPath(conversation), `this model takes at most ${facts.stop_max} stop sequences`);
  } else body.stop = [...stop];
}

function encodeReasoning(
  conversation: Conversation,
  facts: ResolvedFacts,
  notes: Notes,
  body: JsonObject,
): void {
  const { reasoning } = conversation;
  const withTools = body.tools !== undefined && facts.effort_with_tools === "none" &&
    facts.efforts.length > 0;
  const wanted = reasoning === undefined ? undefined : effortOf(reasoning);
  if (withTools) {
    // Leaving the field out is not enough: the vendor's default trips over tools too.
    body.reasoning_effort = "none";
    if (reasoning !== undefined && wanted !== "none") notes.add(reasoning.path);
    return;
  }
  if (reasoning === undefined || wanted === undefined) return;
  const effort = nearestEffort(wanted, facts.efforts);
  if (effort !== undefined) body.reasoning_effort = effort;
  else if (wanted !== "none") notes.add(reasoning.path);
}

interface EncodedFormat {
  readonly field?: JsonObject;
  /** Said in the system text where the route has no field for it. */
  readonly instructions: readonly string[];
}

function encodeFormat(
  conversation: Conversation,
  facts: ResolvedFacts,
  notes: Notes,
): EncodedFormat {
  const { output } = conversation;
  if (output === undefined) return { instructions: [] };
  if (output.type === "json_schema" && facts.structured === "format") {
    const { schema, name, description, strict } = output;
    const json_schema = {
      name: name ?? "output",
      ...(description === undefined ? {} : { description }),
      schema,
      strict: strict ?? allowsStrictChat(schema),
    };
    return { field: { type: "json_schema", json_schema }, instructions: [] };
  }
  const words = output.type === "json_schema" ? schemaInWords(output.schema) : jsonInWords;
  if (facts.structured === "none" || facts.structured === "tool") {
    notes.add(output.path);
    return { instructions: [words] };
  }
  if (output.type === "json_object") return { field: { type: "json_object" }, instructions: [] };
  notes.add(output.path);
  return { field: { type: "json_object" }, instructions: [words] };
}

/** Who the client's user is and how fast it should go: only where the route asks for it. */
function encodeIdentity(
  conversation: Conversation,
  facts: ResolvedFacts,
  body: JsonObject,
): void {
  const { endUser, serviceTier } = conversation;
  if (endUser !== undefined) {
    const field = ["safety_identifier", "user"].find((name) => facts.extra_fields.includes(name));
    // Agents put long ids here; the vendor takes 64 characters.
    if (field !== undefined) {
      body[field] = endUser.id.length <= 64 ? endUser.id : hashHex(endUser.id);
    }
  }
  if (serviceTier !== undefined && facts.extra_fields.includes("service_tier")) {
    body.service_tier = serviceTier.tier;
  }
}
