/** Entries of `include` that mean something in other styles too. */
import type { Json } from "../../lib/json/json.ts";

/** Reasoning that the client can send back. */
export const encryptedReasoning = "reasoning.encrypted_content";

/** The pages that a search found, and what code printed: other styles tell both unasked. */
export const searchSources = "web_search_call.action.sources";
/** The value of `include` for the outputs of hosted code. */
export const codeOutputs = "code_interpreter_call.outputs";

/** How likely each token of the text was. */
export const textLogprobs = "message.output_text.logprobs";

/** Whether an entry is met by every model whose answers are converted. */
export function isMet(entry: Json): boolean {
  return entry === encryptedReasoning || entry === textLogprobs || entry === searchSources ||
    entry === codeOutputs;
}
