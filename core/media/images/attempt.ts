/**
 * One attempt on an image route: a whole answer, or a stream up to its first picture.
 *
 * - Folder `core/media/images/`: image calls: requests, provider bodies, answers whole or streamed,
 *   charges.
 * - In: a read image request and one route.
 * - Out: images as the provider sent them, counted, and what they cost.
 * - Never: decodes the pixels of an image, or settles the call.
 */
import { isEventStream, type StartedStream, startStream } from "../../calls/attempts/attempt.ts";
import { providerRequest } from "../../calls/exchange/provider_request.ts";
import { readWhole } from "../../net/transport/read_whole.ts";
import { GatewayError } from "../../lib/errors/errors.ts";
import { type MediaExchange, type MediaWork, readNoResult } from "../base/exchange.ts";
import { answerAsStream, createImagePipe, type ImagePipe, readImageAnswer } from "./answer.ts";
import type { ImageRequest } from "./request.ts";
import { imageUpstreamBody } from "./upstream_body.ts";

/** Bytes of a whole image answer: ten pictures of some 4 MB as base64. */
export const maxImageAnswerBytes = 64 * 1024 * 1024;

/** The answer of an image route: whole, or a stream that has begun. */
export type ImageResult =
  | { readonly kind: "answer"; readonly bytes: Uint8Array; readonly images: number }
  | { readonly kind: "stream"; readonly started: StartedStream; readonly images: ImagePipe };

/** Needs of an attempt of an image call. */
export interface ImageWorkInput {
  readonly request: ImageRequest;
  readonly requestId: string;
  readonly nowSeconds: number;
}

/** Describes an image call for its routes. */
export function imageWork(input: ImageWorkInput): MediaWork<ImageResult> {
  const { request } = input;
  return {
    async prepare(route, tools) {
      const body = await imageUpstreamBody(request, route, tools);
      return ({ provider, secret }) =>
        providerRequest({
          provider,
          style: "images",
          model: route.upstreamModel,
          subpath: `/${request.endpoint}`,
          secret,
          body: body.bytes,
          contentType: body.contentType,
          stream: request.stream,
          clientHeader: () => undefined,
        });
    },
    receive: (asked) => request.stream ? receiveStream(input, asked) : receiveAnswer(asked),
  };
}

async function receiveStream(input: ImageWorkInput, asked: MediaExchange): Promise<ImageResult> {
  const { request, requestId, nowSeconds } = input;
  const { exchange } = asked;
  const response = await asked.answered();
  if (isEventStream(response)) {
    const images = createImagePipe(request.count, requestId);
    return { kind: "stream", started: await startStream(exchange, response, images.pipe), images };
  }
  const bytes = await readWhole(response, maxImageAnswerBytes, asked.counter);
  imagesOf(bytes);
  const { body } = response;
  const stream = answerAsStream({ bytes, request, requestId, nowSeconds, exchange, body });
  if (stream === undefined) {
    throw new GatewayError("upstream_unreachable", "The provider of this model sent no picture");
  }
  return { kind: "stream", ...stream };
}

async function receiveAnswer(asked: MediaExchange): Promise<ImageResult> {
  const response = await asked.answered();
  const bytes = await readWhole(response, maxImageAnswerBytes, asked.counter);
  return { kind: "answer", bytes, images: imagesOf(bytes) };
}

/** @throws {GatewayError} when the bytes are no image answer */
function imagesOf(bytes: Uint8Array): number {
  const reading = readImageAnswer(bytes);
  if (reading?.isUsable !== true || reading.hasError) throw readNoResult(bytes, "no picture");
  return reading.images;
}
