/** Carries what only some styles have: fields without a place in the conversation, and foreign blocks. */
import type { JsonObject } from "../../lib/json/json.ts";
import type { AnswerBlock, Choice, Conversation, ForeignBlock } from "../conversation/mod.ts";
import type { ResolvedCapabilities } from "../contract/capabilities.ts";
import { refuse } from "./fields.ts";
import type { Warnings } from "../contract/warnings.ts";

/**
 * Carries the fields that the route takes by name; ignores, names or refuses the others as they are marked.
 *
 * @throws {GatewayError} `conversion_refused` naming a field that must not be lost
 */
export function carryExtras(
  conversation: Pick<Conversation, "extras">,
  capabilities: ResolvedCapabilities,
  body: JsonObject,
  warnings: Warnings,
): void {
  const known: readonly string[] = [...capabilities.shared_fields, ...capabilities.extra_fields];
  for (const extra of conversation.extras) {
    if (extra.name !== undefined && known.includes(extra.name)) {
      body[extra.name] = extra.value;
    } else if (extra.otherwise === "refuse") {
      refuse(extra.path, "cannot be carried to this model");
    } else if (extra.otherwise === "warn") {
      warnings.add(extra.path);
    }
  }
}

/**
 * Renders a block that only its own style can express: as plain text, or as nothing.
 *
 * @throws {GatewayError} `conversion_refused` naming a block that must not be lost
 */
export function renderForeign(block: ForeignBlock, warnings: Warnings): string | undefined {
  if (block.text !== undefined) {
    warnings.add(block.path);
    return block.text;
  }
  if (block.otherwise === "refuse") {
    refuse(block.path, `${block.kind} cannot be carried to this model`);
  }
  if (block.otherwise === "warn") warnings.add(block.path);
  return undefined;
}

/** Kinds of blocks that are named; a provider may write anything. */
const plainKind = /^\w{1,40}$/;

/** Returns the text in place of content of an answer that no style but the provider's has. */
export function lostNote(kind: string): string {
  return `[${plainName(kind)} left out: this API has no place for it]`;
}

function plainName(kind: string): string {
  return plainKind.test(kind) ? kind : "content";
}

/** Names content that no style but the provider's has in its place in the answer; `onLost` gets its path. */
export function withLostNotes(choice: Choice, onLost: (what: string) => void): Choice {
  const isLost = (block: AnswerBlock) => block.type === "foreign" && block.otherwise === "warn";
  if (!choice.blocks.some(isLost)) return choice;
  const blocks = choice.blocks.map((block): AnswerBlock => {
    if (block.type !== "foreign" || !isLost(block)) return block;
    onLost(`answer.${plainName(block.kind)}`);
    return { type: "text", path: block.path, text: lostNote(block.kind) };
  });
  return { ...choice, blocks };
}

/** The client's name for its list of stop sequences. */
export function stopPath(conversation: Pick<Conversation, "from">): string {
  if (conversation.from === "gemini") return "generationConfig.stopSequences";
  return conversation.from === "messages" ? "stop_sequences" : "stop";
}

const geminiSampling = { temperature: "temperature", top_p: "topP", top_k: "topK" } as const;

/** The client's path of a sampling parameter. */
export function samplingPath(
  { from }: Pick<Conversation, "from">,
  field: keyof typeof geminiSampling,
): string {
  return from === "gemini" ? `generationConfig.${geminiSampling[field]}` : field;
}
