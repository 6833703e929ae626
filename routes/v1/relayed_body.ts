/** A binary answer on its way to the client: one pull stream, no buffer but the chunk in hand. */
import { asGatewayError } from "../../core/call/attempt.ts";
import type { CallControl } from "../../core/call/call_control.ts";
import type { ByteReader, UpstreamExchange } from "../../core/upstream/transport.ts";

export interface RelayedBodyInput {
  readonly exchange: UpstreamExchange;
  readonly body: ByteReader;
  /** Read already, to see that there is something; sent first. */
  readonly firstChunk?: Uint8Array;
  readonly control: CallControl;
  /** Called once, before the end is released: nothing that ends the stream leaves while it is pending. */
  readonly onEnd: (outcome: "completed" | "broken" | "client_gone") => Promise<void>;
}

/** Makes the body. A break upstream breaks the client's connection: binary data has no other way to say so. */
export function relayedBody(input: RelayedBodyInput): ReadableStream<Uint8Array> {
  const { exchange, body, control } = input;
  const cancelUpstream = () => exchange.cancel();
  let { firstChunk } = input;
  let ended = false;
  const end = async (outcome: "completed" | "broken" | "client_gone") => {
    if (ended) return;
    ended = true;
    control.detach(cancelUpstream);
    if (outcome !== "completed") exchange.cancel();
    await input.onEnd(outcome);
  };
  control.attach(cancelUpstream);
  return new ReadableStream({
    async pull(controller) {
      if (firstChunk !== undefined) {
        controller.enqueue(firstChunk);
        firstChunk = undefined;
        return;
      }
      let chunk: Uint8Array | null;
      try {
        chunk = await body.read();
      } catch (failure) {
        if (ended) return; // the client left while we waited
        await end("broken");
        controller.error(asGatewayError(failure));
        return;
      }
      if (ended) return;
      if (chunk !== null) return controller.enqueue(chunk.slice()); // the driver reuses its buffer
      await end("completed");
      controller.close();
    },
    cancel: () => end("client_gone"),
  }, { highWaterMark: 0 });
}
