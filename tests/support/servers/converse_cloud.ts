/**
 * A Bedrock that answers Converse: the sandbox thinks, and AWS's own codec frames what it says. The cloud in front checks
 * the signature.
 */
import { EventStreamCodec } from "@smithy/eventstream-codec";
import { systemClock } from "../../../core/lib/time/clock.ts";
import { SseSplitter } from "../../../core/lib/sse/frame.ts";
import { type ByteReader, UpstreamFailure } from "../../../core/net/transport/transport.ts";
import { timerDelay } from "../../../sandbox/provider/base/reply.ts";
import { createSandboxTransport } from "../../../sandbox/provider/transport.ts";
import { validateRequest } from "../../../sandbox/vendor_validators/validators.ts";
import type { CloudAnswer } from "./fake_cloud.ts";

const codec = new EventStreamCodec(
  (bytes) => typeof bytes === "string" ? bytes : new TextDecoder().decode(bytes),
  (text) => new TextEncoder().encode(text),
);

/** One frame, encoded by AWS's own code. */
export function eventFrame(
  headers: Readonly<Record<string, string>>,
  body: string,
): Uint8Array<ArrayBuffer> {
  return new Uint8Array(codec.encode({
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, { type: "string", value }]),
    ),
    body: new TextEncoder().encode(body),
  }));
}

/** A frame with an event of Converse. */
export function converseFrame(kind: string, payload: object): Uint8Array<ArrayBuffer> {
  return eventFrame({
    ":event-type": kind,
    ":content-type": "application/json",
    ":message-type": "event",
  }, JSON.stringify(payload));
}

/** A frame with an exception. */
export function exceptionFrame(name: string, message: string): Uint8Array<ArrayBuffer> {
  return eventFrame(
    { ":exception-type": name, ":message-type": "exception", ":content-type": "application/json" },
    JSON.stringify({ message }),
  );
}

/** A whole stream of frames. */
export function streamOfFrames(frames: readonly Uint8Array<ArrayBuffer>[]): Response {
  return new Response(new Blob([...frames]), {
    headers: { "content-type": "application/vnd.amazon.eventstream" },
  });
}

const sandbox = createSandboxTransport({
  clock: systemClock,
  delay: timerDelay(),
  validate: validateRequest,
});

/** The sandbox's answer, as the vendor sends it. */
export const converseCloud: CloudAnswer = async ({ url, text }) => {
  const response = await sandbox.open({
    method: "POST",
    url: url.href,
    headers: [],
    body: new TextEncoder().encode(text),
  }).response;
  if (response.status >= 400) return await refusal(response.status, response.body);
  if (!response.header("content-type")?.startsWith("text/event-stream")) {
    return new Response(await wholeText(response.body), {
      headers: { "content-type": "application/json" },
    });
  }
  return new Response(framed(response.body), {
    headers: { "content-type": "application/vnd.amazon.eventstream" },
  });
};

const names = new Map([[400, "ValidationException"], [429, "ThrottlingException"]]);

async function refusal(status: number, body: ByteReader): Promise<Response> {
  const { error } = JSON.parse(await wholeText(body));
  const name = names.get(status) ?? "ServiceUnavailableException";
  return Response.json({ message: error.message }, {
    status,
    headers: { "x-amzn-errortype": `${name}:http://internal.amazon.com/coral/` },
  });
}

async function wholeText(body: ByteReader): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for (let bytes = await body.read(); bytes !== null; bytes = await body.read()) {
    text += decoder.decode(bytes, { stream: true });
  }
  return text;
}

function framed(body: ByteReader): ReadableStream<Uint8Array<ArrayBuffer>> {
  const splitter = new SseSplitter(1 << 20);
  return new ReadableStream({
    async pull(controller) {
      try {
        const bytes = await body.read();
        if (bytes === null) return controller.close();
        splitter.push(bytes, ({ event, data }) => {
          const frame = event === "error"
            ? exceptionFrame("serviceUnavailableException", "Try again")
            : converseFrame(event, JSON.parse(data));
          controller.enqueue(frame);
          return true;
        });
      } catch (error) {
        if (!(error instanceof UpstreamFailure)) throw error;
        controller.error(error);
      }
    },
  });
}
