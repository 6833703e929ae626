/** A chat call for whose model the gateway runs tools, in rounds. */
import type { Route } from "../../catalog/catalog.ts";
import { readAnswer } from "../../wire/convert/answer_reading.ts";
import type {
  ConversionMemory,
  ConversionOptions,
  ConvertedRequest,
  PipeContext,
  ProviderStyle,
  Style,
} from "../../wire/contract/contract.ts";
import { answerFrames } from "../../wire/stream/answer_frames.ts";
import { echoMemory, readConversation, writeConversation } from "../../wire/convert/convert.ts";
import { collectEvents, createEventPipe } from "../rounds/event_stream.ts";
import { offerSearch, SearchRunner } from "../rounds/search_function.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { invariant } from "../../lib/base/assert.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import type { WholeAnswer } from "../attempts/attempt.ts";
import {
  type ResultRoute,
  type RoundPayer,
  type RunTools,
  ToolRounds,
} from "../rounds/tool_rounds.ts";
import type { Conversation, ImageBlock } from "../../wire/conversation/mod.ts";
import { checkedConversation } from "../../wire/tools/request_checks.ts";
import type { UpstreamExchange } from "../../net/transport/transport.ts";
import type { ChatCall, ChatExchange, ChatRouteAccess } from "./chat_call.ts";
import {
  clientReading,
  conversionOptions,
  encoder,
  limitedBody,
  open,
  outgoing,
  pipeContext,
  refusalReader,
  refuseDropping,
  refuseLosing,
} from "./converted_exchange.ts";

/** Collects the joined stream of all rounds. */
function collectedEvents(
  clientStyle: Style,
  bytes: Uint8Array,
  context: PipeContext,
  memory: ConversionMemory,
): Omit<WholeAnswer, "kind"> {
  const { body, reading } = collectEvents(clientStyle, bytes, context, memory);
  return { clientBytes: encoder.encode(stringifyExactly(body)), reading };
}

/** For a request that is only tried, and not sent. */
const unpaid: RoundPayer = { pay: () => Promise.resolve(false), note() {} };

/** Styles whose answers have no place for a search and what it found. */
const withoutSearches: ReadonlySet<Style> = new Set<Style>(["chat", "gemini"]);

/** The conversation of a call, with functions in place of the tools that the gateway runs, and who runs them. */
function offeredTools(call: ChatCall, asked: Conversation, route: ResultRoute): {
  readonly conversation: Conversation;
  readonly tools: readonly RunTools[];
} {
  const { searcher, mcp } = call;
  const withMcp = mcp === undefined ? asked : mcp.offered(asked, route);
  const tools: RunTools[] = mcp === undefined ? [] : [mcp];
  const search = searcher === undefined ? undefined : offerSearch(withMcp);
  if (searcher === undefined || search === undefined) return { conversation: withMcp, tools };
  return {
    conversation: search.conversation,
    tools: [...tools, new SearchRunner(search, searcher)],
  };
}

/** Whether a route takes an image of a result: if it would take one of the user. */
function carriesImage(
  image: ImageBlock,
  { toolChoice: _, ...conversation }: Conversation,
  style: ProviderStyle,
  options: ConversionOptions,
): boolean {
  const turns = [{ role: "user", path: "", blocks: [image] }] as const;
  try {
    writeConversation(checkedConversation({ ...conversation, tools: [], turns }), style, options);
    return true;
  } catch (error) {
    if (error instanceof GatewayError) return false;
    throw error;
  }
}

/** The error of a call that fails after tools had run: no other route runs them again. */
function lostAfterRun(cause: unknown): GatewayError {
  return new GatewayError(
    "mcp_server_failed",
    "The model failed after tools of MCP servers had run; they may not run twice, so the call was not repeated",
    { cause, marks: "nothing" },
  );
}

/**
 * Starts a call for whose model the gateway runs tools: see `rounds/tool_rounds.ts`. The request is converted also for a
 * route of the client's own style, since its history grows with every round.
 */
export function startRounds(
  call: ChatCall,
  route: Route,
  style: ProviderStyle,
  access: ChatRouteAccess,
): ChatExchange {
  const { mcp, searcher } = call;
  const clientStyle = call.request.style;
  refuseLosing(call, route, [
    ...(searcher === undefined ? [] : ["web_search"] as const),
    ...(mcp === undefined ? [] : ["mcp"] as const),
  ]);
  const options = conversionOptions(call, route);
  const limited = limitedBody(call);
  const value = mcp === undefined ? limited : mcp.rewritten(limited);
  const asked = readConversation(clientStyle, value, options);
  const dropped: string[] = [];
  const results: ResultRoute = {
    carries: (image) => call.model.vision && carriesImage(image, asked, style, options),
    warn: (path) => dropped.includes(path) || dropped.push(path),
  };
  const { conversation, tools } = offeredTools(
    call,
    { ...asked, stream: true, streamUsage: true },
    results,
  );
  const time = mcp?.time ?? searcher?.time;
  invariant(time !== undefined && tools.length > 0, "no tool is asked for");
  const streamed = { ...call, request: { ...call.request, stream: true } };
  const context = pipeContext(call, route);
  let first: ConvertedRequest | undefined;
  const rounds = new ToolRounds({
    style,
    conversation,
    tools,
    before: clientStyle === "responses" ? mcp?.before ?? [] : [],
    time,
    route: results,
    payer: call.rounds ?? unpaid,
    citesSources: withoutSearches.has(clientStyle),
    send(conversation) {
      const request = writeConversation(conversation, style, options);
      const sent = outgoing(call, route, style, access, request);
      if (first === undefined) {
        first = request;
        dropped.push(...sent.dropped);
        refuseDropping(call, dropped);
      }
      const exchange = open(streamed, route, style, access, sent);
      return { exchange, memory: request.memory };
    },
    handlers: {
      readAnswer: (answer) => clientReading(readAnswer(style, answer), context),
      asStream: (body) => encoder.encode(answerFrames(style, body)),
      decodeError: refusalReader(style, context, false),
      onStatus: access.onStatus,
    },
  });
  const { stream } = call.request;
  const ranBefore = mcp?.calls.length ?? 0;
  // A stream stays on its route from its first output on.
  const exchange = mcp === undefined || stream
    ? rounds
    : failingWith(rounds, (cause) => mcp.calls.length > ranBefore ? lostAfterRun(cause) : cause);
  // Thinking is separated within each round.
  const { thinkTags: _, ...kept } = first?.memory ?? {};
  const memory = { ...echoMemory(clientStyle, value), ...kept };
  return {
    exchange,
    createPipe: () => createEventPipe(clientStyle, context, memory),
    fromStream: (bytes) => collectedEvents(clientStyle, bytes, context, memory),
    readAnswer: (answer) => readAnswer(style, answer),
    // The rounds are always events, and refusals were read by them.
    toClient: () => {
      throw new GatewayError("upstream_unreachable", "The provider sent no event stream");
    },
    decodeError: () => new GatewayError("upstream_unreachable", "The provider failed"),
    mayRepeat: access.mayRepeat,
    dropped,
  };
}

/** An exchange with other failures of its body. */
function failingWith(
  exchange: UpstreamExchange,
  failureOf: (cause: unknown) => unknown,
): UpstreamExchange {
  const response = exchange.response.then((answer) => ({
    ...answer,
    body: {
      read: () =>
        answer.body.read().catch((cause: unknown) => {
          throw failureOf(cause);
        }),
    },
  }));
  // After `cancel` no reader may be left, and the rejection would be an unhandled one.
  response.catch(() => {});
  return { response, cancel: () => exchange.cancel() };
}
