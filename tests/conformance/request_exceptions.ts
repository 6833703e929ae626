/** What may be lost on its way to a provider without a word, with the reason; `docs/conversion.md` lists it too. */
import type { Style } from "../../core/wire/contract/contract.ts";

interface Exception {
  readonly reason: string;
  readonly paths: RegExp;
}

const everywhere: readonly Exception[] = [
  { reason: "the route's own name of the model goes out", paths: /^model$/ },
  {
    reason: "the client's own user: only where a route asks for it",
    paths: /^(?:user|safety_identifier|metadata\.user_id)$/,
  },
  {
    reason: "sources and probabilities of earlier answers change no answer",
    paths: /\.(?:annotations|citations|logprobs)(?:\.|$)/,
  },
  {
    reason: "a budget that a route does not take becomes a level",
    paths: /(?:budget_tokens|thinkingBudget|^reasoning\.max_tokens)$/,
  },
  {
    reason: "hosted tools have one name; one that may not be called is not sent",
    paths: /^tools\.\d+\.(?:function\.|custom\.)?name$/,
  },
  {
    reason: "models of other styles look at the whole picture",
    paths: /\.detail$/,
  },
];

const byStyle: Readonly<Record<Style, readonly Exception[]>> = {
  messages: [
    {
      reason: "thoughts and their proofs go to their maker only",
      paths: /^messages\.\d+\.content\.\d+\.(?:thinking|signature|data)$/,
    },
    { reason: "who else may call a tool", paths: /^tools\.\d+\.allowed_callers(?:\.|$)/ },
    { reason: "the schema says the same", paths: /^tools\.\d+\.input_examples(?:\.|$)/ },
    {
      reason: "lists tools of a server by name, which is on unless it says otherwise",
      paths: /^tools\.\d+\.configs(?:\.|$)/,
    },
  ],
  chat: [
    { reason: "no other style names participants", paths: /^messages\.\d+\.name$/ },
    {
      reason: "formats of other styles have no name",
      paths: /^response_format\.json_schema\.name$/,
    },
  ],
  responses: [
    { reason: "ids and states of stored items", paths: /^input\.\d+\.(?:id|status)$/ },
    {
      reason: "thoughts and their proofs go to their maker only",
      paths: /^input\.\d+\.(?:summary|encrypted_content|content\.\d+)(?:\.|$)/,
    },
    { reason: "formats of other styles have no name", paths: /^text\.format\.name$/ },
  ],
  gemini: [
    { reason: "it is in the path", paths: /^stream$/ },
    {
      reason: "the id or the order tells which call is meant",
      paths: /\.functionResponse\.(?:id|name)$/,
    },
    { reason: "notes of the client", paths: /\.partMetadata(?:\.|$)/ },
    { reason: "what a function returns", paths: /\.(?:response|responseJsonSchema)(?:\.|$)/ },
    {
      reason: "thoughts and their proofs go to their maker only",
      paths: /^contents(?:\.\d+\.parts)?(?:\.\d+\.(?:thoughtSignature|text|thought))?$/,
    },
  ],
};

/** Whether a place may be lost in silence. */
export function isException(from: Style, path: string): boolean {
  return [...everywhere, ...byStyle[from]].some(({ paths }) => paths.test(path));
}
