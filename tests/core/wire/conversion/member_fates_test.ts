/** Each encoder does with each member of the typed form what the table of fates says. */
import { assertEquals } from "../../../support/assert.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import type {
  ProviderStyle,
  RouteCapabilities,
  Style,
} from "../../../../core/wire/contract/contract.ts";
import { dialectOf, providerDialectOf } from "../../../../core/wire/convert/dialects.ts";
import type {
  Answer,
  AnswerText,
  Block,
  Conversation,
  Stop,
  Tool,
  ToolCallBlock,
} from "../../../../core/wire/conversation/mod.ts";
import {
  answerFates,
  type AnswerParts,
  type Fate,
  requestFates,
  type RequestParts,
} from "../../../../core/wire/fields/member_fates.ts";
import { context } from "./converting.ts";

/** What an encoder gave: a body and the paths that it named, or its refusal. */
interface Outcome {
  readonly body: string;
  readonly named: string;
  readonly refused: boolean;
}

/**
 * A part with every member, where it stands, and another value of each member; `undefined` leaves it out. A member counts
 * as written if any case of its part shows it.
 */
interface Case<Whole, Part> {
  readonly part: Part;
  readonly place: (part: Part) => Whole;
  readonly other: { readonly [Member in MemberName<Part>]: Part[Member] | undefined };
  /** What the route has beyond its style. */
  readonly capabilities?: RouteCapabilities;
}

type MemberName<Part> = Exclude<keyof Part, "type" | "path" | "cache" | PathName>;
type PathName = "titlePath" | "strictPath" | "effortPath";

type Cases<Whole, Parts> = {
  readonly [Name in keyof Parts]-?: readonly Case<Whole, Required<Parts[Name]>>[];
};

const path = "place";
const request: Conversation = {
  from: "gemini",
  model: "any",
  system: [],
  turns: [],
  tools: [],
  sampling: {},
  maxTokens: 32_000,
  stream: false,
  streamUsage: false,
  extras: [],
  warnings: [],
};

function asked(...blocks: readonly Block[]): Conversation {
  return { ...request, turns: [{ role: "user", blocks, path }] };
}

const question: Block = { type: "text", text: "What is it?", path };
const call: ToolCallBlock = {
  type: "tool_call",
  id: "call_1",
  name: "read",
  input: { kind: "object", value: { a: 1 } },
  path,
};

/** A tool loop: its call and result are the blocks given. */
function loop(called: readonly Block[], result: Block): Conversation {
  return {
    ...offering({ type: "function", name: "read", path }),
    turns: [
      { role: "user", blocks: [question], path },
      { role: "assistant", blocks: called, path },
      { role: "user", blocks: [result], path },
    ],
  };
}

const result: Block = {
  type: "tool_result",
  callId: "call_1",
  content: [{ type: "text", text: "It is.", path }],
  isError: false,
  path,
};

function offering(tool: Tool): Conversation {
  return { ...asked(question), tools: [tool] };
}

const schema = { type: "object", properties: {}, required: [], additionalProperties: false };
const png = { kind: "base64", mediaType: "image/png", data: "AAAA" } as const;
const pdf = { kind: "base64", mediaType: "application/pdf", data: "AAAA" } as const;

const documentOther = {
  source: { kind: "text", text: "another" },
  title: "other.pdf",
  context: "other context",
  citations: undefined,
} as const;

const reasoningCase = (proof: NonNullable<RequestParts["reasoning"]["proof"]>) => ({
  part: { type: "reasoning", text: "I think.", proof, path, cache: { path } } as const,
  place: (part: RequestParts["reasoning"]) => loop([part, call], result),
  other: { text: "I thought.", proof: undefined },
  capabilities: { reasoning_signer: "us", reasoning_replay: "details" } as const,
});

type Reasoning = RequestParts["reasoningRequest"];

const reasoningRequest: Required<Reasoning> = {
  mode: "on",
  effort: "high",
  budgetTokens: 4_096,
  display: { word: "detailed", path: "display" },
  encrypted: true,
  path,
  effortPath: path,
};

/** A request for reasoning at a model that thinks in one way; `without` leaves out what hides another member. */
const reasoningRequestCase = (
  thinking: "budget" | "adaptive",
  display: Reasoning["display"],
  without: (requested: Reasoning) => Reasoning = (requested) => requested,
) => ({
  part: reasoningRequest,
  place: (requested: Reasoning) => ({ ...asked(question), reasoning: without(requested) }),
  other: {
    mode: "off",
    effort: "low",
    budgetTokens: 8_192,
    display,
    encrypted: undefined,
  } as const,
  capabilities: { reasoning_field: "thinking", thinking } as const,
});

const requestCases: Cases<Conversation, RequestParts> = {
  turn: [{
    part: { role: "user", blocks: [question], path },
    place: (turn) => ({
      ...asked(question),
      turns: [{ role: "assistant", blocks: [question], path }, turn],
    }),
    other: { role: "assistant", blocks: [{ ...question, text: "Why?" }] },
    capabilities: { prefill: "plain" },
  }],
  text: [{
    part: { type: "text", text: "Hi", refusal: true, path, cache: { path, ttl: "5m" } },
    place: asked,
    other: { text: "Ho", refusal: undefined },
  }],
  image: [{
    part: { type: "image", source: png, detail: "low", path, cache: { path } },
    place: (part) => asked(question, part),
    other: { source: { ...png, data: "BBBB" }, detail: "high" },
  }],
  audio: [{
    part: {
      type: "audio",
      source: { mediaType: "audio/wav", data: "AAAA" },
      path,
      cache: { path },
    },
    place: (part) => asked(question, part),
    other: { source: { mediaType: "audio/wav", data: "BBBB" } },
  }],
  document: [pdf, { kind: "text", text: "words" } as const].map((source) => ({
    part: {
      type: "document",
      source,
      title: "a.pdf",
      titlePath: path,
      context: "context",
      citations: true,
      path,
      cache: { path },
    },
    place: (part) => asked(question, part),
    other: documentOther,
  })),
  searchResult: [{
    part: {
      type: "search_result",
      source: "https://example.com",
      title: "Title",
      texts: ["a"],
      citations: true,
      path,
      cache: { path },
    },
    place: (part) => asked(question, part),
    other: { source: "https://example.org", title: "Other", texts: ["b"], citations: undefined },
  }],
  reasoning: [
    reasoningCase({ kind: "signature", signer: "us", signature: "sig" }),
    reasoningCase({ kind: "item", signer: "us", id: "rs_1", encryptedContent: "x" }),
    reasoningCase({ kind: "detail", signer: "us", detail: { type: "reasoning.text", text: "a" } }),
  ],
  toolCall: [{
    part: { ...call, itemId: "fc_1", cache: { path } },
    place: (part) => loop([part], result),
    other: {
      id: "call_2",
      name: "write",
      input: { kind: "object", value: { a: 2 } },
      itemId: undefined,
    },
  }],
  toolResult: [[call], []].map((called) => ({
    part: {
      type: "tool_result",
      callId: "call_1",
      content: [],
      isError: false,
      name: "read",
      custom: true,
      path,
      cache: { path },
    },
    place: (part) => loop([question, ...called], part),
    other: {
      callId: "call_2",
      content: [{ type: "text", text: "No.", path }],
      isError: true,
      name: "write",
      custom: undefined,
    },
  })),
  functionTool: [{
    part: {
      type: "function",
      name: "read",
      description: "Reads.",
      schema,
      strict: true,
      strictPath: "strict",
      path,
      cache: { path },
    },
    place: offering,
    other: {
      name: "write",
      description: "Writes.",
      schema: { ...schema, title: "Input" },
      strict: undefined,
    },
    capabilities: { strict_tools: true },
  }],
  customTool: [{
    part: {
      type: "custom",
      name: "read",
      description: "Reads.",
      format: { type: "text" },
      path,
      cache: { path },
    },
    place: offering,
    other: { name: "write", description: "Writes.", format: undefined },
    capabilities: { custom_tools: true },
  }],
  reasoningRequest: [
    reasoningRequestCase("budget", { word: "omitted", path: "display" }),
    reasoningRequestCase("adaptive", undefined),
    reasoningRequestCase("adaptive", undefined, ({ effort: _, ...requested }) => requested),
  ],
  schemaFormat: [{
    part: {
      type: "json_schema",
      schema,
      name: "answer",
      description: "An answer.",
      strict: true,
      strictPath: "strict",
      path,
    },
    place: (output) => ({ ...asked(question), output }),
    other: {
      schema: { ...schema, title: "Answer" },
      name: "other",
      description: "Another.",
      strict: false,
    },
  }],
};

const answerText: AnswerText = { type: "text", text: "Hi", path };
const stop: Stop = { reason: "end" };
const usage = { input: 1, cacheRead: 0, cacheWrite: 0, output: 2, reasoning: 0 };
const token = { token: "Hi", logprob: -1, bytes: [72, 105], top_logprobs: [] };

const answerCases: Cases<Answer, AnswerParts> = {
  answer: [{
    part: {
      id: "upstream",
      index: 0,
      blocks: [answerText],
      stop,
      others: [{ index: 1, blocks: [answerText], stop }],
      usage,
      serviceTier: "priority",
      moderation: { input: { flagged: false }, output: { flagged: false } },
    },
    place: (answer) => answer,
    other: {
      id: "other",
      index: 2,
      blocks: [{ ...answerText, text: "Ho" }],
      stop: { reason: "length" },
      others: undefined,
      usage: { ...usage, output: 3 },
      serviceTier: undefined,
      moderation: undefined,
    },
  }],
  answerText: [{
    part: {
      type: "text",
      text: "Hi",
      refusal: true,
      citations: [{ url: "https://example.com", title: "T" }],
      logprobs: [token],
      path,
      cache: { path },
    },
    place: (block) => ({ blocks: [block], stop }),
    other: { text: "Ho", refusal: undefined, citations: undefined, logprobs: undefined },
  }, {
    part: {
      type: "text",
      text: "Hi",
      refusal: true,
      citations: [{ url: "https://example.com", title: "T" }],
      logprobs: [token],
      path,
      cache: { path },
    },
    // As text like any other, beside which it has its sources.
    place: ({ refusal: _, ...block }) => ({ blocks: [block], stop }),
    other: { text: "Ho", refusal: undefined, citations: undefined, logprobs: undefined },
  }],
  stop: (["unknown", "refusal", "stop_sequence"] as const).flatMap((reason) => {
    const part = { reason, name: "odd", sequence: "END", explanation: "No." };
    const other = {
      reason: "length" as const,
      name: undefined,
      sequence: undefined,
      explanation: undefined,
    };
    const place = (stop: Stop): Answer => ({ blocks: [answerText], stop });
    const unexplained = ({ explanation: _, ...stop }: Stop) => place(stop);
    return [{ part, place, other }, { part, place: unexplained, other }] as const;
  }),
};

function requestOutcome(
  to: ProviderStyle,
  conversation: Conversation,
  capabilities: RouteCapabilities,
): Outcome {
  const options = { capabilities, upstreamModel: "m", maxOutputTokens: 64_000 };
  try {
    const { body, warnings } = providerDialectOf(to).encodeRequest(conversation, options);
    return { body: JSON.stringify(body), named: warnings.join(), refused: false };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    assertEquals(error.code, "conversion_refused", error.message);
    return { body: "", named: error.message, refused: true };
  }
}

function answerOutcome(to: Style, answer: Answer): Outcome {
  return {
    body: JSON.stringify(dialectOf(to).encodeAnswer(answer, context, {})),
    named: "",
    refused: false,
  };
}

/** The fates in rising order of what is seen of them: of several cases the last one counts. */
const seen = ["dropped", "named", "refused", "written"] as const satisfies readonly Fate[];

function fateIn(outcomes: readonly (readonly [whole: Outcome, changed: Outcome])[]): Fate {
  const fates = outcomes.map(([whole, changed]): Fate => {
    if (whole.refused && changed.refused) return "refused";
    if (whole.body !== changed.body) return "written";
    return whole.named === changed.named ? "dropped" : "named";
  });
  return seen.findLast((fate) => fates.includes(fate)) ?? "dropped";
}

type Rows = Readonly<Record<string, Readonly<Record<string, Fate | object>>>>;

/** Lists the rows of a table for one style, each as `part.member: fate`. */
function listed(table: Rows, style: ProviderStyle): string[] {
  return Object.entries(table).flatMap(([part, members]) =>
    Object.entries(members).flatMap(([member, row]) => {
      const fate = typeof row === "string" ? row : fateOf(row, style);
      return fate === "path" ? [] : [`${part}.${member}: ${fate}`];
    })
  );
}

function fateOf(row: object, style: ProviderStyle): unknown {
  const fates = new Map<string, unknown>(Object.entries(row));
  return fates.get(style) ?? fates.get("usual");
}

interface AnyCase<Whole> {
  whole(): Whole;
  changed(member: string): Whole;
  readonly members: readonly string[];
  readonly capabilities: RouteCapabilities;
}

function anyCase<Whole, Part extends object>(given: Case<Whole, Part>): AnyCase<Whole> {
  const others = new Map<string, unknown>(Object.entries(given.other));
  return {
    whole: () => given.place(given.part),
    changed: (member) => given.place({ ...given.part, [member]: others.get(member) }),
    members: [...others.keys()],
    capabilities: given.capabilities ?? {},
  };
}

/** Lists what the encoder of a style does, in the form of {@linkcode listed}. */
function done<Whole>(
  cases: Readonly<Record<string, readonly AnyCase<Whole>[]>>,
  encode: (whole: Whole, capabilities: RouteCapabilities) => Outcome,
): string[] {
  return Object.entries(cases).flatMap(([part, ofPart]) =>
    (ofPart[0]?.members ?? []).map((member) => {
      const outcomes = ofPart.map((one) =>
        [
          encode(one.whole(), one.capabilities),
          encode(one.changed(member), one.capabilities),
        ] as const
      );
      return `${part}.${member}: ${fateIn(outcomes)}`;
    })
  );
}

/** The cases of all parts, without the types of their parts. */
const ofRequests: Record<keyof RequestParts, readonly AnyCase<Conversation>[]> = {
  turn: requestCases.turn.map(anyCase),
  text: requestCases.text.map(anyCase),
  image: requestCases.image.map(anyCase),
  audio: requestCases.audio.map(anyCase),
  document: requestCases.document.map(anyCase),
  searchResult: requestCases.searchResult.map(anyCase),
  reasoning: requestCases.reasoning.map(anyCase),
  toolCall: requestCases.toolCall.map(anyCase),
  toolResult: requestCases.toolResult.map(anyCase),
  functionTool: requestCases.functionTool.map(anyCase),
  customTool: requestCases.customTool.map(anyCase),
  reasoningRequest: requestCases.reasoningRequest.map(anyCase),
  schemaFormat: requestCases.schemaFormat.map(anyCase),
};
const ofAnswers: Record<keyof AnswerParts, readonly AnyCase<Answer>[]> = {
  answer: answerCases.answer.map(anyCase),
  answerText: answerCases.answerText.map(anyCase),
  stop: answerCases.stop.map(anyCase),
};

for (const to of ["messages", "chat", "responses", "gemini", "converse"] as const) {
  Deno.test(`each member of a request has the fate of the table: ${to}`, () => {
    const encode = (whole: Conversation, capabilities: RouteCapabilities) =>
      requestOutcome(to, whole, capabilities);
    assertEquals(done(ofRequests, encode).toSorted(), listed(requestFates, to).toSorted());
  });
}

for (const to of ["messages", "chat", "responses", "gemini"] as const) {
  Deno.test(`each member of an answer has the fate of the table: ${to}`, () => {
    const encode = (whole: Answer) => answerOutcome(to, whole);
    assertEquals(done(ofAnswers, encode).toSorted(), listed(answerFates, to).toSorted());
  });
}
