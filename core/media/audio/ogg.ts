/** The length of Ogg files (RFC 3533) with Opus or FLAC: their packets are counted, not their positions. */
import { asciiAt, viewOf } from "./bytes.ts";
import { flacFrameSamples, flacStream, maxFlacHeaderBytes } from "./flac.ts";
import { opusHertz, opusPacketSamples } from "./opus.ts";

/** Bytes of a packet that are read: the first one of FLAC has 51 before its frames. */
const headBytes = 64;

/** One logical stream of a file. */
interface Stream {
  /** Beginning of the packet that is being put together. */
  readonly head: Uint8Array;
  headLength: number;
  packets: number;
  rate: number;
  codec: "opus" | "flac" | undefined;
  samples: number;
}

function newStream(): Stream {
  return {
    head: new Uint8Array(headBytes),
    headLength: 0,
    packets: 0,
    rate: 0,
    codec: undefined,
    samples: 0,
  };
}

function identify(stream: Stream): void {
  const { head } = stream;
  if (asciiAt(head, 0, "OpusHead")) {
    stream.codec = "opus";
    stream.rate = opusHertz;
  } else if (asciiAt(head, 0, "\x7fFLAC") && asciiAt(head, 9, "fLaC")) {
    const found = flacStream(head, 17);
    if (found === undefined) return;
    stream.codec = "flac";
    stream.rate = found.rate;
  }
}

function addPacket(stream: Stream): void {
  const { head, headLength } = stream;
  if (stream.packets === 0) identify(stream);
  else if (stream.codec === "opus" && headLength > 0 && !asciiAt(head, 0, "OpusTags")) {
    stream.samples += opusPacketSamples(head[0]!, headLength > 1 ? head[1]! : 0);
  } else if (stream.codec === "flac") {
    // One byte more than a header, whose check needs a byte after it.
    stream.samples += flacFrameSamples(head.subarray(0, maxFlacHeaderBytes + 1), 0) ?? 0;
  }
  stream.packets++;
  stream.headLength = 0;
}

function addBytes(stream: Stream, bytes: Uint8Array): void {
  const part = bytes.subarray(0, headBytes - stream.headLength);
  stream.head.set(part, stream.headLength);
  stream.headLength += part.length;
}

/** Returns the seconds of all streams together; `undefined` if one has another encoding. */
export function measureOgg(bytes: Uint8Array): number | undefined {
  const view = viewOf(bytes);
  const streams: Stream[] = [];
  const current = new Map<number, Stream>();
  let at = 0;
  while (at + 27 <= bytes.length && asciiAt(bytes, at, "OggS")) {
    const serial = view.getUint32(at + 14);
    let stream = current.get(serial);
    const begins = (bytes[at + 5]! & 2) !== 0;
    if (stream === undefined || begins) {
      stream = newStream();
      streams.push(stream);
      current.set(serial, stream);
    }
    const segments = bytes[at + 26]!;
    let body = at + 27 + segments;
    for (let i = 0; i < segments; i++) {
      const length = bytes[at + 27 + i] ?? 0;
      addBytes(stream, bytes.subarray(body, body + length));
      body += length;
      if (length < 255) addPacket(stream);
    }
    at = body;
  }
  let seconds = 0;
  for (const stream of streams) {
    if (stream.codec === undefined) return undefined;
    seconds += stream.samples / stream.rate;
  }
  return seconds;
}
