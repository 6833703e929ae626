/** The provider's side of an exchange: how a request goes out, and how what comes back is told to the client. */
import type { ByteParts } from "../../lib/bytes/byte_parts.ts";
import type { Route } from "../../catalog/catalog.ts";
import { inClientTerms } from "../../wire/stream/client_model.ts";
import type {
  AnswerReading,
  ConversionMemory,
  PipeContext,
  ProviderStyle,
  Style,
} from "../../wire/contract/contract.ts";
import { collectAnswer } from "../../wire/convert/collected_answer.ts";
import { sortBetas, type SortedBetas } from "../../wire/billable_features/asked_for.ts";
import { decodeProviderError } from "../../wire/convert/provider_errors.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { stringifyExactly } from "../../lib/runtime/mod.ts";
import type { AttemptHandlers, WholeAnswer } from "../attempts/attempt.ts";
import { type CloudBodyChanges, cloudBodyChanges } from "../../clouds/request_form.ts";
import { providerRequest } from "./provider_request.ts";
import { defined } from "../../lib/base/defined.ts";
import type { ChatCall, ChatRouteAccess } from "./chat_call.ts";

/** Encodes bodies and answers. */
export const encoder = new TextEncoder();

/** Follows the path of Responses calls. */
const compactPath = "/compact";

/** What the pipe of an answer needs to know of its call. */
export function pipeContext(call: ChatCall, route: Route): PipeContext {
  return {
    clientModel: call.request.model,
    upstreamModel: route.upstreamModel,
    requestId: call.requestId,
    clientWantsUsage: call.request.wantsUsage,
    nowSeconds: call.nowSeconds,
  };
}

/** Reads refusals of a provider: in the words of the client's own style (`native`) or of another one. */
export function refusalReader(
  style: ProviderStyle,
  context: PipeContext,
  native: boolean,
): AttemptHandlers["decodeError"] {
  return (status, text, waitSeconds) => {
    const options = { native, ...defined({ retryAfterSeconds: waitSeconds }) };
    return inClientTerms(decodeProviderError(style, status, text, options), context);
  };
}

/** Puts the client's name of the model into the error of a reading, if there is one. */
export function clientReading(reading: AnswerReading, context: PipeContext): AnswerReading {
  const { error } = reading;
  return error === undefined ? reading : { ...reading, error: inClientTerms(error, context) };
}

/** How answers of a provider become those of the client. */
export interface AnswerWay {
  readonly style: ProviderStyle;
  readonly clientStyle: Style;
  readonly context: PipeContext;
  readonly memory: ConversionMemory;
  readonly onLost?: (what: string) => void;
}

/** Collects a stream to the whole answer that the client asked for. */
export function collected(
  { style, clientStyle, context, memory, onLost }: AnswerWay,
  bytes: Uint8Array,
): Omit<WholeAnswer, "kind"> {
  const { body, reading } = collectAnswer(style, clientStyle, bytes, context, memory, onLost);
  return { clientBytes: encoder.encode(stringifyExactly(body)), reading };
}

/** Selects the client's betas that a route of the Messages style gets. */
export function betasFor(call: ChatCall, route: Route, style: ProviderStyle): SortedBetas {
  const header = style === "messages" ? call.clientHeader("anthropic-beta") : undefined;
  return header === undefined ? { kept: undefined, dropped: [] } : sortBetas(header, route.allow);
}

/**
 * Refuses a call whose client wants no field dropped, if one would be.
 *
 * @throws {GatewayError} `conversion_refused`, naming the fields
 */
export function refuseDropping(
  { strict }: Pick<ChatCall, "strict">,
  dropped: readonly string[],
): void {
  if (!strict || dropped.length === 0) return;
  throw new GatewayError(
    "conversion_refused",
    `This model cannot carry: ${dropped.join(", ")}. Leave x-gateway-strict out to drop them`,
    { param: dropped[0] ?? "" },
  );
}

/** What the cloud of a provider changes in a body that is otherwise in the plain form of its style. */
export function cloudChanges(
  { provider }: ChatRouteAccess,
  style: ProviderStyle,
  betas: SortedBetas,
): CloudBodyChanges | undefined {
  const cloud = provider.kind === "http" ? provider.cloud : undefined;
  return cloudBodyChanges(cloud, style, betas.kept);
}

/** Sends the request to the provider. */
export function open(
  call: ChatCall,
  route: Route,
  style: ProviderStyle,
  access: ChatRouteAccess,
  { body, betas }: { readonly body: ByteParts; readonly betas: SortedBetas },
) {
  return access.transport.open(providerRequest({
    provider: access.provider,
    style,
    model: route.upstreamModel,
    secret: access.secret,
    body,
    ...(call.request.compacts === true && { subpath: compactPath }),
    stream: call.request.stream,
    clientHeader: (name) => name === "anthropic-beta" ? betas.kept : call.clientHeader(name),
    onSentAgain: access.onSentAgain,
  }));
}
