/**
 * Requests beyond a model's context window: how providers report them, and the wording that clients get.
 *
 * Agent clients compact their conversation when they read `prompt is too long: N tokens > M maximum`, and some compute
 * from N and M how much to cut. They lower `max_tokens` when they read that input and `max_tokens` together exceed the
 * limit. Errors quote what the client sent, so that only what a text begins with, in a wording of a known vendor, tells
 * which of the two it is.
 */

/** A count of tokens as providers write it, at most 12 digits. */
const count = String.raw`\d[\d,]{0,14}`;
const used = `(?<used>${count})`;
const cap = `(?<cap>${count})`;
const most = `(?<most>${count})`;

/** What libraries and vendors write before their texts: `litellm.BadRequestError: OpenAIException - `, `<400> …: `. */
const lead =
  /^(?:<\d{3}>\s*)?(?:[A-Za-z_][\w.]*(?:Error|Exception|InvalidParameter)\w*\s*(?::|-)\s*|Invalid request: |Request [\w-]{1,64}: |Input validation error: |invalid params, |The model returned the following errors: )*/;

/** Begins a pattern at the beginning of a text. */
const begins = (form: string) => new RegExp(`^(?:the |your )?${form}`, "i");

/** Wordings with both numbers, each with a vendor or server that uses it. */
const promptForms: readonly RegExp[] = [
  // Anthropic, also behind other hosts.
  `prompt is too long: ${used} tokens > ${most} maximum`,
  // OpenAI, Azure, DeepSeek, vLLM, OpenRouter.
  `(?:this (?:model|endpoint)'s |model's )?maximum context length (?:is|of) ${most} tokens.{0,60}?(?:resulted in|requested(?: about| a total of)?) ${used} tokens`,
  `(?:input tokens )?exceed the configured limit of ${most} tokens.{0,40}?resulted in ${used} tokens`,
  // vLLM.
  `You passed ${used} input tokens.{0,200}?maximum input length of ${most} tokens`,
  `(?:decoder )?prompt \\(length ${used}\\) is longer than the maximum model length of ${most}`,
  // SGLang.
  `requested token count exceeds the model's maximum context length of ${most} tokens\\. You requested a total of ${used} tokens`,
  `input \\(${used} tokens\\) is longer than the model's context length \\(${most} tokens\\)`,
  // Gemini.
  `input token count \\(${used}\\) exceeds the maximum number of tokens allowed \\(${most}\\)`,
  `unable to submit request because the input token count is ${used} but model only supports up to ${most}`,
  // Mistral.
  `prompt contains ${used} tokens.{0,60}?too large for model with ${most} maximum context length`,
  // xAI.
  `(?:this model's )?maximum prompt length is ${most} but the request contains ${used} tokens`,
  // Fireworks.
  `prompt is too long: ${used}, model maximum context length: ${most}`,
  // Cerebras.
  `please reduce the length of the messages or completion\\. Current length is ${used} while limit is ${most}`,
  // GitHub Copilot.
  `prompt token count of ${used} exceeds the limit of ${most}`,
  // Moonshot.
  `request exceeded model token limit: ${most} \\(requested: ${used}\\)`,
  // llama.cpp.
  `request \\(${used} tokens\\) exceeds the available context size \\(${most} tokens\\)`,
  // Text Generation Inference, Together.
  `\`inputs\` must have less than ${most} tokens\\. Given: ${used}`,
].map(begins);

/**
 * Wordings that tell the prompt from the cap on output, whose sum is beyond the window. The prompt alone may fit.
 */
const sumForms: readonly RegExp[] = [
  // OpenAI, DeepSeek, vLLM, OpenRouter.
  `(?:this (?:model|endpoint)'s )?maximum context length is ${most} tokens.{0,120}?\\(${used} (?:in the messages|of text input|in your prompt)[^)]{0,120}?${cap} (?:in|for) the (?:completion|output)\\)`,
  // SGLang.
  `requested token count exceeds the model's maximum context length of ${most} tokens.{0,60}?${used} tokens from the input messages and ${cap} tokens for the completion`,
  // vLLM.
  `(?:['"\`]?max_tokens['"\`]? or )?['"\`]?max_(?:completion_)?tokens['"\`]? is too large: ${cap}\\. This model's maximum context length is ${most} tokens and your request has ${used} input tokens`,
  `You passed ${used} input tokens and requested ${cap} output tokens.{0,60}?context length is only ${most} tokens`,
  // Text Generation Inference.
  `\`inputs\` tokens \\+ \`max_new_tokens\` must be <= ${most}\\. Given: ${used} \`inputs\` tokens and ${cap}`,
  // Anthropic.
  `input length and \`max_tokens\` exceed context limit: ${used} \\+ ${cap} > ${most}`,
].map(begins);

/** The same without numbers, where the cap is the fault. */
const capWords = begins(
  String
    .raw`(?:['"\x60]?max_tokens['"\x60]? or )?['"\x60]?max_(?:completion_|output_)?tokens['"\x60]?:? `,
);

/** Wordings without both numbers. */
const promptWords = begins(
  `(?:prompt is too long|prompt exceeds max length|input is too long|input exceeds the context window|` +
    `context (?:window|length) exceed|(?:this (?:model|endpoint)'s )?maximum (?:context|prompt) length|` +
    `range of input length should be|input token count|input tokens exceed|too many input tokens|` +
    `request \\(?${count} tokens\\)? exceeds|requested token count exceeds|exceeded model token limit|` +
    `please reduce the length of the messages)`,
);

/** What a text says of a request beyond the window. */
export type WindowExcess =
  /** The prompt alone is too long, in the one wording that clients get. */
  | { readonly kind: "prompt"; readonly text: string }
  /** The prompt fits, but not together with the cap on output. */
  | { readonly kind: "cap"; readonly text: string };

/**
 * Reads the text of a request beyond the window. Without numbers of a known wording the provider's text follows unchanged.
 *
 * @param isCoded whether the error's code says so already, so that any text is one of a window
 *
 * @example
 * ```ts
 * import { readWindowExcess } from "./too_long.ts";
 * const long = "This model's maximum prompt length is 131072 but the request contains 140000 tokens.";
 * if (readWindowExcess(long, false)?.text !== "prompt is too long: 140000 tokens > 131072 maximum") throw new Error();
 * const quoted = "Invalid schema for 'x': missing 'context length'";
 * if (readWindowExcess(quoted, false) !== undefined) throw new Error("a quoted name decided");
 * ```
 */
export function readWindowExcess(message: string, isCoded: boolean): WindowExcess | undefined {
  const text = message.replace(lead, "");
  for (const form of sumForms) {
    const groups = form.exec(text)?.groups;
    if (groups === undefined) continue;
    const [prompt, output, window] = [groups["used"], groups["cap"], groups["most"]].map(countOf);
    if (prompt === undefined || output === undefined || window === undefined) continue;
    return prompt > window ? tooLong(prompt, window) : {
      kind: "cap",
      text: `input length and \`max_tokens\` exceed context limit: ${prompt} + ${output} > ` +
        `${window}, decrease input length or \`max_tokens\` and try again`,
    };
  }
  for (const form of promptForms) {
    const groups = form.exec(text)?.groups;
    if (groups === undefined) continue;
    const [prompt, window] = [groups["used"], groups["most"]].map(countOf);
    if (prompt !== undefined && window !== undefined && prompt > window) {
      return tooLong(prompt, window);
    }
  }
  if (capWords.test(text)) return undefined;
  if (!isCoded && !promptWords.test(text)) return undefined;
  const isWorded = /^(?:the |your )?prompt is too long/i.test(message);
  return { kind: "prompt", text: isWorded ? message : `prompt is too long: ${message}` };
}

function tooLong(prompt: number, window: number): WindowExcess {
  return { kind: "prompt", text: `prompt is too long: ${prompt} tokens > ${window} maximum` };
}

function countOf(digits: string | undefined): number | undefined {
  return digits === undefined ? undefined : Number(digits.replaceAll(",", ""));
}
