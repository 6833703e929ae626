/** Entries of `include` that mean something in other styles too. */

/** Reasoning that the client can send back. */
export const encryptedReasoning = "reasoning.encrypted_content";

/** How likely each token of the text was. */
export const textLogprobs = "message.output_text.logprobs";
