/**
 * Stages of a chat call: what is known of it after each step of its way.
 *
 * | stage      | is known                                                        | made by                          |
 * | ---------- | --------------------------------------------------------------- | -------------------------------- |
 * | `Arrived`  | who calls, since when, with which bytes                         | `serveChat`                      |
 * | `Read`     | the body in the form of its style, preferences taken out of it  | `readChat`                       |
 * | `Admitted` | the model, the terms, what the call can cost                    | `admitChat`                      |
 * | `Funded`   | the money that is held, and the settlement that will end it     | `fundChat`, `passTo` for a model |
 * | `Answered` | the route that answered, with its first output                  | `findRoute`                      |
 * | `Failed`   | why no route answered                                           | `findRoute`                      |
 *
 * Then `chat_delivery.ts` settles the call, and its `Receipt` is the last stage. A stage is made from the one before, and
 * never changed by a later step.
 */
import type { BufferedAnswer } from "../../../core/lib/bytes/answer_budget.ts";
import type { BufferedBody } from "../../../core/lib/bytes/body_budget.ts";
import type { GatewayError } from "../../../core/lib/errors/errors.ts";
import type { CallTags } from "../../../core/billing/usage/call_tags.ts";
import type { Attempt } from "../../../core/billing/usage/receipt.ts";
import type { StartedStream, WholeAnswer } from "../../../core/calls/attempts/attempt.ts";
import type { AttemptLoopResult } from "../../../core/calls/attempts/attempt_loop.ts";
import type { JsonBody } from "../../../core/calls/body/json_body.ts";
import type { ChatBounds } from "../../../core/calls/bounds/chat_bounds.ts";
import type { ChatCall, ChatExchange } from "../../../core/calls/exchange/chat_call.ts";
import type { GeminiPath } from "../../../core/calls/exchange/gemini_body.ts";
import type { TurnDraft, TurnInput } from "../../../core/calls/request/kept_responses.ts";
import type { RemoteDocuments } from "../../../core/calls/request/remote_documents.ts";
import type { RoutePreferences } from "../../../core/calls/request/route_preferences.ts";
import type { Model } from "../../../core/catalog/catalog.ts";
import type { FetchedUrl } from "../../../core/net/remote/fetched_urls.ts";
import type { Style } from "../../../core/wire/contract/contract.ts";
import type { CallStart, Terms } from "../call/admission.ts";
import type { CallSettlement } from "../call/call_settlement.ts";
import type { AuthenticatedRequest, Incoming } from "../call/incoming.ts";
import type { OutputLimitNotice } from "../call/response_headers.ts";
import type { RunningCall } from "../gateway/access_watch.ts";
import type { Gateway } from "../gateway/gateway.ts";
import type { ChatSettlement, PaidRounds } from "./chat_settlement.ts";

/** A chat call whose caller is known and whose bytes have arrived. */
export interface ArrivedChat extends AuthenticatedRequest {
  readonly gateway: Gateway;
  readonly incoming: Incoming;
  readonly style: Style;
  readonly start: CallStart;
  /** Facts in the path of a Gemini request. */
  readonly path?: GeminiPath | undefined;
  /** The conversation is compacted. */
  readonly compacts?: true | undefined;
  /** Set if the call is part of another one, which holds money until it ends: with the tags of that one. */
  readonly nested?: { readonly tags: CallTags | undefined } | undefined;
}

/** A chat call whose body was parsed. */
export interface ReadChat {
  readonly arrived: ArrivedChat;
  /** The body as it was sent, without preferences of the route. */
  readonly sent: JsonBody;
  /** The body in the form of its style. */
  readonly body: JsonBody;
  /** Fields that this form could not carry. */
  readonly dropped: readonly string[];
  /** Of the Responses style: what a turn that is kept of it has. */
  readonly turn: TurnInput | undefined;
  /** Of the Responses style: the turn that the request continues. */
  readonly continues: string | undefined;
  /** The preset that the request calls, with its version. */
  readonly preset: string | undefined;
  readonly preferences: RoutePreferences | undefined;
  /** The client wants the cost in the answer. */
  readonly tellsCost: boolean;
}

/** A chat call that a model can serve, by the terms and bounds of that model. Nothing is reserved for it yet. */
export interface AdmittedChat {
  readonly terms: Terms;
  readonly call: ChatCall;
  readonly bounds: ChatBounds;
  readonly urls: readonly FetchedUrl[];
  /** Runs the searches of the model, which can run none itself. */
  readonly searchModel?: Model | undefined;
  /** Part of the call that is kept for later turns; absent: none. */
  readonly turn?: TurnInput | undefined;
  /** Set if the provider gets a lower limit of output than the client's, because no more is paid for. */
  readonly outputLimit?: OutputLimitNotice | undefined;
  /** Preferences of the route, which bind searches, too. */
  readonly preferences?: RoutePreferences | undefined;
  /** The same call for other models, in the order to try. */
  readonly fallbacks?: readonly AdmittedChat[];
}

/** The part of a funded call that depends on the model which serves it. */
export interface ModelOffer {
  readonly call: ChatCall;
  readonly settlement: ChatSettlement;
  /** Pays for the rounds of a model for which tools run; absent for one request. */
  readonly rounds: PaidRounds | undefined;
  /** Output tokens that were reserved when the call began. */
  readonly paidTokens: number;
  readonly outputLimit: OutputLimitNotice | undefined;
}

/** A chat call that holds its money. */
export interface FundedChat extends ModelOffer {
  readonly gateway: Gateway;
  /** The one settlement of the call, whichever of its models answers. */
  readonly settled: CallSettlement;
  /** The turn that is kept once the call is settled. */
  readonly draft: TurnDraft | undefined;
  readonly control: RunningCall;
  /** The models to try, in this order, when one fails before its first output. */
  readonly fallbacks: readonly AdmittedChat[];
  /** The counted memory of the request's body, which is kept as long as routes are tried. */
  readonly bufferedBody: BufferedBody | undefined;
  /** URLs in the request that its provider would fetch. */
  readonly urls: readonly FetchedUrl[];
  /** Documents that the request only names; absent where it names none. */
  readonly documents: RemoteDocuments | undefined;
  /** Counts the memory of a whole answer; absent for a stream. */
  readonly bufferedAnswer: BufferedAnswer | undefined;
}

/** The result of the attempts on the routes of one model. */
export type ChatAttemptResult = AttemptLoopResult<ChatExchange, StartedStream | WholeAnswer>;

/** A chat call with the route that answered and its first output. */
export type AnsweredChat = Extract<ChatAttemptResult, { readonly ok: true }> & {
  /** The call as the model serves it that answered. */
  readonly funded: FundedChat;
};

/** A chat call that no route has answered. It is not settled yet. */
export interface FailedChat {
  readonly ok: false;
  readonly error: GatewayError;
  readonly attempts: readonly Attempt[];
  /** The call as the last model would have served it. */
  readonly funded: FundedChat;
}
