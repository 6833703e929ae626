/** One try of an image route: a whole answer, or a stream up to its first picture. */
import { attemptStream, type StartedStream } from "../call/attempt.ts";
import { providerRequest } from "../call/provider_request.ts";
import { readWhole } from "../call/read_whole.ts";
import { readProviderError } from "../dialects/provider_error.ts";
import { GatewayError } from "../errors.ts";
import { limits } from "../limits.ts";
import type { MediaTry } from "../media/attempts.ts";
import { parseJson } from "../media/refusal.ts";
import type { UpstreamBodyTools } from "../media/upstream_body.ts";
import { readImageAnswer } from "./answer.ts";
import type { ImageRequest } from "./request.ts";
import { createImagePipe, type ImagePipe } from "./stream.ts";
import { imageUpstreamBody } from "./upstream_body.ts";

export type ImageResult =
  | { readonly kind: "answer"; readonly bytes: Uint8Array; readonly images: number }
  | { readonly kind: "stream"; readonly started: StartedStream; readonly images: ImagePipe };

export interface ImageAttemptInput {
  readonly request: ImageRequest;
  readonly requestId: string;
  readonly tools: UpstreamBodyTools;
}

/**
 * Asks one route.
 *
 * @throws {GatewayError | UpstreamFailure} when this route gave no usable answer
 */
export async function attemptImages(
  input: ImageAttemptInput,
  try_: MediaTry,
): Promise<ImageResult> {
  const { request } = input;
  const { route, access } = try_;
  const body = await imageUpstreamBody(request, route, input.tools);
  const exchange = try_.open(providerRequest({
    provider: access.provider,
    style: "images",
    subpath: `/${request.endpoint}`,
    secret: access.secret,
    body: body.bytes,
    contentType: body.contentType,
    stream: request.stream,
    clientHeader: () => undefined,
  }));
  if (request.stream) {
    const images = createImagePipe(request.count, input.requestId);
    const started = await attemptStream({
      exchange,
      createPipe: () => images.pipe,
      readAnswer: (value) => ({
        usage: undefined,
        usageRejected: false,
        empty: true,
        outputBytes: 0,
        stopReason: undefined,
        error: readProviderError(value),
      }),
      decodeError: (status, text) =>
        readProviderError(parseJson(new TextEncoder().encode(text)), status),
      toClient: (answer) => answer.bytes,
      onStatus: access.onStatus,
    }, try_);
    return { kind: "stream", started, images };
  }
  const response = await try_.respond(exchange);
  const bytes = await readWhole(response.body, limits.imageAnswerBytes);
  const reading = readImageAnswer(bytes);
  if (reading === undefined) {
    throw new GatewayError("upstream_unreachable", "The provider of this model sent no JSON");
  }
  if (reading.hasError) throw readProviderError(parseJson(bytes));
  return { kind: "answer", bytes, images: reading.images };
}
