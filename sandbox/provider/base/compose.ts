/** Composes what the sandbox answers, independent of the wire style. */
import { hashBase62 } from "../../../core/lib/hash/short_hash.ts";
import type { SandboxRequest, SandboxTool } from "./request.ts";
import { exampleOf } from "./schema_example.ts";
import { countTokens, takeTokens } from "./tokens.ts";

/** One part of an answer, in the order in which a model produces them. */
export type AnswerPart =
  | { readonly kind: "reasoning" | "text" | "refusal"; readonly text: string }
  | {
    readonly kind: "call";
    readonly tool: SandboxTool;
    /** The hash that call ids end with; each style has its own prefix. */
    readonly id: string;
    /** JSON text, or plain text of a custom tool; cut short when the token limit was reached. */
    readonly arguments: string;
  };

export type StopCause = "end" | "length" | "stop_sequence" | "calls" | "refusal";

export interface SandboxAnswer {
  readonly parts: readonly AnswerPart[];
  readonly stop: StopCause;
  /** The stop sequence that was met. */
  readonly stopSequence: string | undefined;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
}

/** Characters of the prompt that an answer repeats: enough to show that the prompt arrived. */
const echoedChars = 400;

/** Composes the answer to a request. It depends on the request alone. `choice` counts from 0. */
export function compose(request: SandboxRequest, choice = 0): SandboxAnswer {
  const { triggers } = request;
  if (triggers.empty) return finish(request, [], "end");
  if (triggers.refusal) {
    return finish(request, [{ kind: "refusal", text: "I cannot help with that." }], "refusal");
  }
  const parts: AnswerPart[] = [];
  if (request.reasoning || triggers.reasoning) {
    const about = request.text === "" ? "the tool results" : `"${request.text.slice(0, 80)}"`;
    parts.push({ kind: "reasoning", text: `The user turn is ${about}. I answer in one sentence.` });
  }
  const calls = wantedCalls(request);
  if (calls.length > 0) {
    // As from a real model, a forced call comes without text.
    if (request.toolChoice.type === "auto") {
      const names = calls.map((tool) => tool.name).join(" and ");
      parts.push({ kind: "text", text: `Calling ${names}.` });
    }
    for (const [index, tool] of calls.entries()) parts.push(callOf(request, tool, index, choice));
    return finish(request, parts, "calls");
  }
  parts.push({ kind: "text", text: answerText(request, choice) });
  return finish(request, parts, "end");
}

function answerText(request: SandboxRequest, choice: number): string {
  const { format, triggers } = request;
  if (triggers.lengthTokens !== undefined) return filler(triggers.lengthTokens);
  if (format.type === "json") return JSON.stringify(exampleOf(format.schema));
  const which = choice === 0 ? "" : ` (choice ${choice + 1})`;
  const seen = request.attachments === 0 ? "" : ` [${request.attachments} attached]`;
  const said = request.text.slice(0, echoedChars);
  if (request.toolResults.length > 0) {
    const results = request.toolResults.map((result) => `"${result.slice(0, echoedChars)}"`);
    const about = said === "" ? "" : ` about "${said}"`;
    return `The tools said ${results.join(" and ")}${about}${seen}.${which}`;
  }
  return `You said: ${said}${seen}${which}`;
}

const fillerWords = ["one ", "two ", "six ", "ten ", "and ", "now ", "all ", "but "];

/** Returns a text of exactly so many tokens. */
function filler(tokens: number): string {
  let text = "";
  for (let i = 0; i < tokens; i++) text += fillerWords[i % fillerWords.length];
  return text.length > 0 ? `${text.slice(0, -1)}.` : "";
}

/** Selects the tools to call: forced ones, or those that the turn asks for (`call NAME`, `use the tool`, `call all tools`). */
function wantedCalls(request: SandboxRequest): readonly SandboxTool[] {
  const { tools, toolChoice } = request;
  if (tools.length === 0 || toolChoice.type === "none") return [];
  if (toolChoice.type === "tool") return tools.filter((tool) => tool.name === toolChoice.name);
  const asked = request.parallelTools ? askedTools(request) : askedTools(request).slice(0, 1);
  if (asked.length > 0 || toolChoice.type === "auto") return asked;
  return tools.slice(0, 1);
}

function askedTools({ text, tools }: SandboxRequest): readonly SandboxTool[] {
  const words = text.toLowerCase();
  if (words.includes("call all tools")) return tools;
  const named = tools.filter((tool) => words.includes(`call ${tool.name.toLowerCase()}`));
  if (named.length > 0) return named;
  return words.includes("use the tool") ? tools.slice(0, 1) : [];
}

function callOf(
  request: SandboxRequest,
  tool: SandboxTool,
  index: number,
  choice: number,
): AnswerPart {
  const id = stableId(request.seed, `call ${choice} ${index}`);
  const input = tool.custom ? request.text : JSON.stringify(exampleOf(tool.schema));
  return { kind: "call", tool, id, arguments: input };
}

/** Derives an id of 24 characters from the request and the purpose. */
export function stableId(seed: string, purpose: string): string {
  return [1, 2, 3].map((part) => hashBase62(`${seed} ${purpose} ${part}`, 8)).join("");
}

/** Applies the stop sequences to the text and the token limit to all parts, and counts the tokens. */
function finish(
  request: SandboxRequest,
  wanted: readonly AnswerPart[],
  cause: StopCause,
): SandboxAnswer {
  const parts: AnswerPart[] = [];
  let left = request.maxTokens;
  let stop = cause;
  let stopSequence: string | undefined;
  let outputTokens = 0;
  let reasoningTokens = 0;
  for (const part of wanted) {
    const said = part.kind === "call" ? part.arguments : part.text;
    const met = part.kind === "text" ? firstStop(said, request.stopSequences) : undefined;
    const whole = met === undefined ? said : said.slice(0, met.at);
    const text = takeTokens(whole, left);
    const tokens = countTokens(text);
    const cut = text.length < whole.length;
    if (text !== "" || !cut) {
      parts.push(part.kind === "call" ? { ...part, arguments: text } : { ...part, text });
    }
    left -= tokens;
    outputTokens += tokens;
    if (part.kind === "reasoning") reasoningTokens += tokens;
    if (cut) stop = "length";
    else if (met !== undefined) {
      stop = "stop_sequence";
      stopSequence = met.sequence;
    }
    if (cut || met !== undefined) break;
  }
  if (request.maxTokens === 0) stop = "length";
  return { parts, stop, stopSequence, outputTokens, reasoningTokens };
}

function firstStop(
  text: string,
  sequences: readonly string[],
): { readonly at: number; readonly sequence: string } | undefined {
  let first: { at: number; sequence: string } | undefined;
  for (const sequence of sequences) {
    const at = sequence === "" ? -1 : text.indexOf(sequence);
    if (at >= 0 && (first === undefined || at < first.at)) first = { at, sequence };
  }
  return first;
}
