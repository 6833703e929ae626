/** One attempt on a route that completes texts: a whole answer, or a stream up to its first text. */
import { isEventStream, type StartedStream, startStream } from "../../calls/attempts/attempt.ts";
import { withFields } from "../../calls/body/changed_body.ts";
import { providerRequest } from "../../calls/exchange/provider_request.ts";
import { readWhole } from "../../net/transport/read_whole.ts";
import type { Route } from "../../catalog/catalog.ts";
import { defined } from "../../lib/base/defined.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { isJsonObject } from "../../lib/json/json.ts";
import { readChatAnswer } from "../../wire/chat/answer/answer_reading.ts";
import { createChatNativePipe } from "../../wire/chat/stream/native_pipe.ts";
import type { AnswerReading } from "../../wire/contract/contract.ts";
import { ClientModel } from "../../wire/stream/client_model.ts";
import type { MediaExchange, MediaWork } from "../base/exchange.ts";
import { parseJson } from "../base/refusal.ts";
import type { CompletionRequest } from "./request.ts";

/** The answer of a route: whole, or a stream that has begun. */
export type CompletionResult =
  | { readonly kind: "answer"; readonly bytes: Uint8Array; readonly reading: AnswerReading }
  | { readonly kind: "stream"; readonly started: StartedStream };

/** What an attempt needs of its call. */
export interface CompletionWorkInput {
  readonly request: CompletionRequest;
  readonly requestId: string;
  readonly nowSeconds: number;
  readonly maxAnswerBytes: number;
  /** The limit that the provider gets because no more is paid for; known once money is reserved. */
  readonly outputLimit: () => number | undefined;
}

/** Whether usage has to be requested for the client, so that a stream reports it. */
function injectsUsage({ bounds }: CompletionRequest, route: Route): boolean {
  return bounds.stream && !bounds.wantsUsage && route.capabilities["include_usage"] !== false;
}

/** Describes a call for its routes. */
export function completionWork(input: CompletionWorkInput): MediaWork<CompletionResult> {
  const { body, bounds } = input.request;
  return {
    prepare(route) {
      const changes = {
        ...(bounds.model !== route.upstreamModel && { model: route.upstreamModel }),
        ...defined({ max_tokens: input.outputLimit() }),
        ...(injectsUsage(input.request, route) && {
          stream_options: { ...objectOf(body.value["stream_options"]), include_usage: true },
        }),
      };
      const bytes = withFields(body, changes);
      return Promise.resolve(({ provider, secret }) =>
        providerRequest({
          provider,
          style: "completions",
          secret,
          body: bytes,
          stream: bounds.stream,
          clientHeader: () => undefined,
        })
      );
    },
    receive: (asked) => bounds.stream ? receiveStream(input, asked) : receiveAnswer(input, asked),
  };
}

const objectOf = (value: unknown) => isJsonObject(value) ? value : {};

async function receiveStream(
  { request, requestId, nowSeconds }: CompletionWorkInput,
  asked: MediaExchange,
): Promise<CompletionResult> {
  const { exchange, route } = asked;
  const response = await asked.answered();
  if (!isEventStream(response)) {
    throw new GatewayError("upstream_unreachable", "The provider of this model sent no stream");
  }
  const pipe = createChatNativePipe({
    clientModel: request.bounds.model,
    upstreamModel: route.upstreamModel,
    requestId,
    nowSeconds,
    clientWantsUsage: request.bounds.wantsUsage,
    injectedUsage: injectsUsage(request, route),
    readsText: true,
  });
  return { kind: "stream", started: await startStream(exchange, response, pipe) };
}

async function receiveAnswer(
  { request, maxAnswerBytes }: CompletionWorkInput,
  asked: MediaExchange,
): Promise<CompletionResult> {
  const response = await asked.answered();
  const bytes = await readWhole(response, maxAnswerBytes, asked.counter);
  const value = parseJson(bytes);
  const reading = isJsonObject(value) ? readChatAnswer(value) : undefined;
  if (reading?.error !== undefined) throw reading.error;
  if (reading === undefined || !isJsonObject(value) || !Array.isArray(value["choices"])) {
    throw new GatewayError("upstream_unreachable", "The provider of this model sent no completion");
  }
  return {
    kind: "answer",
    bytes: ClientModel.of(request.bounds.model).inAnswer(bytes),
    reading,
  };
}
