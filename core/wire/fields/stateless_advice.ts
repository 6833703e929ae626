/** Says what to do without fields that need a store: nothing is stored here, nor at the providers. */

/** The settings of widely used clients that avoid such a field. */
const settings: ReadonlyMap<string, string> = new Map([
  [
    "previous_response_id",
    "LangChain: use_previous_response_id=False; OpenAI Agents SDK: a session in place of " +
    "previous_response_id and auto_previous_response_id; AI SDK: store: false and no " +
    "previousResponseId; Pydantic AI: no openai_previous_response_id",
  ],
  [
    "conversation",
    "OpenAI Agents SDK: no conversation_id, and SQLiteSession in place of " +
    "OpenAIConversationsSession; AI SDK: no conversation",
  ],
  ["background", "OpenAI SDKs: background=False; AI SDK and LangChain: no background"],
]);

/**
 * Returns what is wrong with a field that needs a store, and which setting of a client avoids it.
 *
 * @param instead what every client can do
 *
 * @example
 * ```ts
 * import { statelessAdvice } from "./stateless_advice.ts";
 * const advice = statelessAdvice("prompt", "send the text");
 * if (advice !== "is not supported, as nothing is stored; send the text") throw new Error(advice);
 * ```
 */
export function statelessAdvice(field: string, instead: string): string {
  const setting = settings.get(field);
  const advice = setting === undefined ? "" : ` (${setting})`;
  return `is not supported, as nothing is stored; ${instead}${advice}`;
}
