/**
 * Fates of each member of the typed form in the encoders of all styles: one table, in which a row lists the
 * styles that differ. A new member does not compile until it has a row; that each encoder does what the table says is
 * held by `tests/core/wire/conversion/member_fates_test.ts`.
 *
 * The fields of a whole conversation are apart: each encoder lists the steps that read them.
 */
import type {
  Answer,
  AnswerText,
  AudioBlock,
  CustomTool,
  DocumentBlock,
  FunctionTool,
  ImageBlock,
  Placed,
  ReasoningBlock,
  ReasoningRequest,
  SearchResultBlock,
  Stop,
  TextBlock,
  ToolCallBlock,
  ToolResultBlock,
  Turn,
} from "../conversation/mod.ts";
import type { ProviderStyle, Style } from "../contract/contract.ts";
import type { SchemaFormat } from "./output_format.ts";

/** Fate of a member in an encoder. */
export type Fate =
  /** It goes out, as a member or within another, or decides what goes out. */
  | "written"
  /** It does not go out; its path is among the warnings if it asked for something. */
  | "named"
  /** It does not go out and is not named; the row says why that loses nothing. */
  | "dropped"
  /** The whole part is refused by name. */
  | "refused"
  /** It is the path of another member in the client's request, and never goes out. */
  | "path";

/** One fate at all target styles, or the usual one and the styles that differ. */
type Row<Target extends ProviderStyle> =
  | Fate
  | ({ readonly usual: Fate } & { readonly [Differing in Target]?: Fate });

/** The members of a part that need a row: all but its kind, its path and its cache mark. */
type MemberOf<Part> = Exclude<keyof Part, keyof Placed | "type">;

type FateTable<Parts, Target extends ProviderStyle> = {
  readonly [Name in keyof Parts]: { readonly [Member in MemberOf<Parts[Name]>]: Row<Target> };
};

/** The parts of a request, by their name in the table. */
export interface RequestParts {
  readonly turn: Turn;
  readonly text: TextBlock;
  readonly image: ImageBlock;
  readonly audio: AudioBlock;
  readonly document: DocumentBlock;
  readonly searchResult: SearchResultBlock;
  readonly reasoning: ReasoningBlock;
  readonly toolCall: ToolCallBlock;
  readonly toolResult: ToolResultBlock;
  readonly functionTool: FunctionTool;
  readonly customTool: CustomTool;
  readonly reasoningRequest: ReasoningRequest;
  readonly schemaFormat: SchemaFormat;
}

/** The parts of an answer, by their name in the table. */
export interface AnswerParts {
  readonly answer: Answer;
  readonly answerText: AnswerText;
  readonly stop: Stop;
}

/** Fates of the members of a request, by the style of the route. */
export const requestFates = {
  turn: { role: "written", blocks: "written" },
  text: {
    text: "written",
    // In a history a refusal is text like any other.
    refusal: "dropped",
  },
  image: {
    source: "written",
    // Styles without such a member show the model the whole image, or have resolutions of another kind.
    detail: { usual: "dropped", chat: "written", responses: "written" },
  },
  audio: { source: { usual: "refused", chat: "written", gemini: "written" } },
  document: {
    source: "written",
    // documentHeading() makes title and context text before the document where the style has no member for them.
    title: "written",
    context: "written",
    titlePath: "path",
    citations: { usual: "named", messages: "written" },
  },
  searchResult: {
    source: "written",
    title: "written",
    texts: "written",
    citations: { usual: "named", messages: "written" },
  },
  reasoning: { text: "written", proof: "written" },
  toolCall: {
    id: "written",
    name: "written",
    input: "written",
    // Of Responses only, where the vendor would require the reasoning items that belonged to it.
    itemId: "dropped",
  },
  toolResult: {
    callId: "written",
    content: "written",
    isError: "written",
    // normalizeTurns() found the call by it; Gemini names a result whose call is not in the history.
    name: { usual: "dropped", gemini: "written" },
    // Other styles write the results of all kinds of tools alike.
    custom: { usual: "dropped", responses: "written" },
  },
  functionTool: {
    name: "written",
    description: "written",
    schema: "written",
    strict: { usual: "written", gemini: "named" },
    strictPath: "path",
  },
  // prepareTools() makes it a function for styles without such tools, and puts the grammar into its description.
  customTool: {
    name: { usual: "written", gemini: "dropped", converse: "dropped" },
    description: { usual: "written", gemini: "dropped", converse: "dropped" },
    format: { usual: "dropped", chat: "written", responses: "written" },
  },
  reasoningRequest: {
    mode: "written",
    effort: "written",
    budgetTokens: "written",
    display: { usual: "written", chat: "named" },
    effortPath: "path",
    // Proofs of reasoning come unasked, or are always asked for.
    encrypted: "dropped",
  },
  schemaFormat: {
    schema: "written",
    // The formats of the others have no name.
    name: { usual: "written", messages: "dropped", gemini: "dropped" },
    description: "written",
    // The formats of the others are always enforced.
    strict: { usual: "dropped", chat: "written", responses: "written" },
    strictPath: "path",
  },
} as const satisfies FateTable<RequestParts, ProviderStyle>;

/** Fates of the members of an answer, by the style of the client. */
export const answerFates = {
  answer: {
    // Messages and Responses have one choice, and their clients cannot ask for several.
    index: { usual: "written", messages: "dropped", responses: "dropped" },
    others: { usual: "written", messages: "dropped", responses: "dropped" },
    blocks: "written",
    stop: "written",
    usage: "written",
    // Gemini reports it in a header only.
    serviceTier: { usual: "written", gemini: "dropped" },
    // Only clients of Chat and Responses can ask for it.
    moderation: { usual: "dropped", chat: "written", responses: "written" },
    // For the log; the client gets an id in its own form.
    id: "dropped",
  },
  answerText: {
    text: "written",
    // As the finish reason of Gemini.
    refusal: "written",
    citations: "written",
    // No Messages client can ask for them.
    logprobs: { usual: "written", messages: "dropped" },
  },
  stop: {
    reason: "written",
    name: "written",
    explanation: "written",
    // The others have no member for it.
    sequence: { usual: "dropped", messages: "written" },
  },
} as const satisfies FateTable<AnswerParts, Style>;

/** The fields of a conversation that no encoder of requests reads. */
export type FieldOfNoEncoder =
  // The route's own name of the model goes out.
  | "model"
  // Of the answer only: the client gets it in the form that it asked for.
  | "legacyFunctions"
  | "groupedTools"
  | "searchTool"
  | "streamUsage"
  // The caller of the encoder adds them to those of the encoder.
  | "warnings";
