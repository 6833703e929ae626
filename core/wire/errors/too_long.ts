/**
 * Prompts beyond a model's context window: how providers report them, and the one wording that clients get.
 *
 * Agent clients compact their conversation when they read `prompt is too long: N tokens > M maximum`, and some compute
 * from N and M how much to cut. The two numbers are therefore taken only from known wordings, never from other numbers
 * of an error text (an id, an error code, a cap on output).
 */

/** A count of tokens as providers write it, at most 12 digits. */
const count = String.raw`\d[\d,]{0,14}`;
const used = `(?<used>${count})`;
const most = `(?<most>${count})`;

/** Wordings with both numbers, each with a vendor or server that uses it. */
const forms: readonly RegExp[] = [
  // Anthropic, also behind other hosts.
  `prompt is too long: ${used} tokens > ${most} maximum`,
  // OpenAI, Azure, DeepSeek, vLLM, OpenRouter, SGLang.
  `maximum context length (?:is|of) ${most} tokens.{0,60}?(?:resulted in|requested(?: about| a total of)?) ${used} tokens`,
  `exceed the configured limit of ${most} tokens.{0,40}?resulted in ${used} tokens`,
  // vLLM.
  `You passed ${used} input tokens.{0,200}?maximum input length of ${most} tokens`,
  `prompt \\(length ${used}\\) is longer than the maximum model length of ${most}`,
  // SGLang.
  `input \\(${used} tokens\\) is longer than the model's context length \\(${most} tokens\\)`,
  // Gemini.
  `input token count \\(${used}\\) exceeds the maximum number of tokens allowed \\(${most}\\)`,
  // Mistral.
  `Prompt contains ${used} tokens.{0,60}?too large for model with ${most} maximum context length`,
  // xAI.
  `maximum prompt length is ${most} but the request contains ${used} tokens`,
  // Fireworks.
  `prompt is too long: ${used}, model maximum context length: ${most}`,
  // Cerebras.
  `Current length is ${used} while limit is ${most}`,
  // GitHub Copilot.
  `prompt token count of ${used} exceeds the limit of ${most}`,
  // Moonshot.
  `exceeded model token limit: ${most} \\(requested: ${used}\\)`,
  // llama.cpp.
  `request \\(${used} tokens\\) exceeds the available context size \\(${most} tokens\\)`,
  // Text Generation Inference, Together.
  `\`inputs\` must have less than ${most} tokens\\. Given: ${used}`,
].map((form) => new RegExp(form, "i"));

/** Wordings without both numbers. */
const words =
  /prompt is too long|maximum (?:context|prompt) length|context (?:window|length)|available context size|input token count|input tokens exceed|too many input tokens|input is too long for requested model|exceeded model token limit/i;

/** vLLM's wording for a cap on output that does not fit the window: the prompt is not too long. */
const capTooLarge = /max_(?:completion_)?tokens['"\x60]? is too large/i;

/** Whether an error text reports a prompt beyond the context window. */
export function saysTooLong(message: string): boolean {
  if (capTooLarge.test(message)) return false;
  return words.test(message) || forms.some((form) => form.test(message));
}

/**
 * Returns the text for the client. Without numbers of a known wording the provider's text follows unchanged.
 *
 * @example
 * ```ts
 * import { tooLongText } from "./too_long.ts";
 * const told = tooLongText("This model's maximum prompt length is 131072 but the request contains 140000 tokens.");
 * if (told !== "prompt is too long: 140000 tokens > 131072 maximum") throw new Error(told);
 * const bare = tooLongText("Request 4f2b-9981: context window exceeded (2013)");
 * if (bare !== "prompt is too long: Request 4f2b-9981: context window exceeded (2013)") throw new Error(bare);
 * ```
 */
export function tooLongText(message: string): string {
  for (const form of forms) {
    const groups = form.exec(message)?.groups;
    if (groups === undefined) continue;
    const [prompt, window] = [countOf(groups["used"]), countOf(groups["most"])];
    // The sum of prompt and cap may exceed the window although the prompt does not.
    if (prompt > window) return `prompt is too long: ${prompt} tokens > ${window} maximum`;
  }
  return /prompt is too long/i.test(message) ? message : `prompt is too long: ${message}`;
}

function countOf(digits: string | undefined): number {
  return Number((digits ?? "").replaceAll(",", ""));
}
