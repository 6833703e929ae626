import type {
  ByteReader,
  Transport,
  UpstreamRequest,
} from "../../../../core/net/transport/transport.ts";
import { concat } from "./bytes.ts";

/** Reads without the driver's own promise, where it can. */
function readByReceiver(body: ByteReader): Promise<Uint8Array | null> {
  if (body.readTo === undefined) return body.read();
  return new Promise((resolve, reject) => body.readTo?.({ onPiece: resolve, onFailure: reject }));
}

/** Reads to the clean end and copies every view before the next read; in turns with a promise and with a receiver. */
export async function readWhole(body: ByteReader): Promise<Uint8Array<ArrayBuffer>> {
  const pieces: Uint8Array[] = [];
  for (;;) {
    const piece = pieces.length % 2 === 0 ? await readByReceiver(body) : await body.read();
    if (piece === null) return concat(pieces);
    pieces.push(piece.slice());
  }
}

export interface WholeAnswer {
  readonly status: number;
  readonly body: Uint8Array<ArrayBuffer>;
  header(name: string): string | undefined;
}

/** Makes one call and reads it to its end. The request may be sent a second time unless `request` forbids it. */
export async function call(
  transport: Transport,
  request: Partial<UpstreamRequest> & { readonly url: string },
): Promise<WholeAnswer> {
  const { response: answered } = transport.open({
    method: "POST",
    headers: [],
    body: null,
    onSentAgain: () => {},
    ...request,
  });
  const response = await answered;
  return {
    status: response.status,
    header: (name) => response.header(name),
    body: await readWhole(response.body),
  };
}
