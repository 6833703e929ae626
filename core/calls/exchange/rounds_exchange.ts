/** A chat call for whose model the gateway runs tools, in rounds. */
import type { Route } from "../../catalog/catalog.ts";
import { readAnswer } from "../../wire/convert/answer_reading.ts";
import type {
  ConversionMemory,
  ConvertedRequest,
  PipeContext,
  ProviderStyle,
  Style,
} from "../../wire/contract/contract.ts";
import { answerFrames } from "../../wire/stream/answer_frames.ts";
import { echoMemory, readConversation, writeConversation } from "../../wire/convert/convert.ts";
import { collectEvents, createEventPipe } from "../rounds/event_stream.ts";
import { offerSearch, SearchRunner, type WebSearcher } from "../rounds/search_function.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { invariant } from "../../lib/base/assert.ts";
import { stringifyExactly } from "../../lib/runtime/built_ins.ts";
import type { WholeAnswer } from "../attempts/attempt.ts";
import { type RoundPayer, ToolRounds } from "../rounds/tool_rounds.ts";
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

/**
 * Starts a call for whose model the gateway runs tools: see `rounds/tool_rounds.ts`. The request is
 * converted also for a route of the client's own style, since its history grows with every round.
 */
export function startRounds(
  call: ChatCall,
  route: Route,
  style: ProviderStyle,
  access: ChatRouteAccess,
  searcher: WebSearcher,
): ChatExchange {
  const clientStyle = call.request.style;
  refuseLosing(call, route, "web_search");
  const options = conversionOptions(call, route);
  const value = limitedBody(call);
  const asked = readConversation(clientStyle, value, options);
  const offered = offerSearch({ ...asked, stream: true, streamUsage: true });
  invariant(offered !== undefined, "no search is asked for");
  const streamed = { ...call, request: { ...call.request, stream: true } };
  const context = pipeContext(call, route);
  let first: ConvertedRequest | undefined;
  const dropped: string[] = [];
  const rounds = new ToolRounds({
    style,
    conversation: offered.conversation,
    tools: [new SearchRunner(offered, searcher)],
    before: [],
    time: searcher.time,
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
  // Thinking is separated within each round.
  const { thinkTags: _, ...kept } = first?.memory ?? {};
  const memory = { ...echoMemory(clientStyle, value), ...kept };
  return {
    exchange: rounds,
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
