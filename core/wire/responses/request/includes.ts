/** Values of `include` that have a meaning in other styles. */
import type { Json } from "../../../lib/json/json.ts";

/** The value of `include` for reasoning that the client can send back. */
export const encryptedReasoning = "reasoning.encrypted_content";

/** Values of `include` for results of searches and of code, which other styles send by default. */
export const searchSources = "web_search_call.action.sources";
/** The value of `include` for the outputs of hosted code. */
export const codeOutputs = "code_interpreter_call.outputs";

/** The value of `include` for log probabilities of the text. */
export const textLogprobs = "message.output_text.logprobs";

/** Whether every converted answer fulfils a value of `include`. */
export function isMet(entry: Json): boolean {
  return entry === encryptedReasoning || entry === textLogprobs || entry === searchSources ||
    entry === codeOutputs;
}
