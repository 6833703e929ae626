/** The length of WebM and Matroska files (RFC 9559) with Opus: their packets are counted, not their time stamps. */
import { opusHertz, opusPacketSamples } from "./opus.ts";

/** Elements that contain others; all others are skipped. */
const containers: ReadonlySet<number> = new Set([
  0x18538067, // Segment
  0x1f43b675, // Cluster
  0x1654ae6b, // Tracks
  0xae, // TrackEntry
  0xa0, // BlockGroup
]);
const trackEntry = 0xae;
const trackNumber = 0xd7;
const trackType = 0x83;
const codecId = 0x86;
/** Frames that are compressed or encrypted, so that their first bytes say nothing. */
const contentEncodings = 0x6d80;
const blocks: ReadonlySet<number> = new Set([0xa3, 0xa1]);
const audioType = 2;

interface Track {
  number: number;
  type: number;
  codec: string;
  isPlain: boolean;
  samples: number;
}

interface Vint {
  readonly value: number;
  readonly bytes: number;
  /** All bits of the value are set: the length of a live recording. */
  readonly isUnknown: boolean;
}

function vintAt(bytes: Uint8Array, at: number, keepsMark: boolean): Vint | undefined {
  const first = bytes[at] ?? 0;
  const length = Math.clz32(first) - 23;
  if (first === 0 || length > 8 || at + length > bytes.length) return undefined;
  const mark = 0x80 >> (length - 1);
  let value = keepsMark ? first : first & (mark - 1);
  let isUnknown = (first & (mark - 1)) === mark - 1;
  for (let i = 1; i < length; i++) {
    value = value * 256 + bytes[at + i]!;
    isUnknown &&= bytes[at + i] === 0xff;
  }
  return { value, bytes: length, isUnknown };
}

function unsigned(bytes: Uint8Array): number {
  return bytes.reduce((sum, byte) => sum * 256 + byte, 0);
}

/** Counts the packet of a block; returns whether it could be counted. */
function addBlock(tracks: readonly Track[], block: Uint8Array): boolean {
  const number = vintAt(block, 0, false);
  if (number === undefined) return false;
  const track = tracks.find((one) => one.number === number.value);
  if (track === undefined || track.type !== audioType) return true;
  const head = number.bytes + 3;
  // Several packets in one block: no recorder writes Opus so.
  if (((block[number.bytes + 2] ?? 0) & 6) !== 0) return false;
  if (block.length > head) track.samples += opusPacketSamples(block[head]!, block[head + 1] ?? 0);
  return true;
}

function describe(track: Track, id: number, body: Uint8Array): void {
  if (id === trackNumber) track.number = unsigned(body);
  else if (id === trackType) track.type = unsigned(body);
  else if (id === codecId) track.codec = String.fromCharCode(...body.subarray(0, 32));
  else if (id === contentEncodings) track.isPlain = false;
}

/** Returns the seconds of the longest audio track; `undefined` if one has another encoding. */
export function measureWebm(bytes: Uint8Array): number | undefined {
  const tracks: Track[] = [];
  for (let at = 0; at < bytes.length;) {
    const id = vintAt(bytes, at, true);
    const size = id && vintAt(bytes, at + id.bytes, false);
    if (size === undefined) break;
    const start = at + id!.bytes + size.bytes;
    if (containers.has(id!.value)) {
      if (id!.value === trackEntry) {
        tracks.push({ number: 0, type: 0, codec: "", isPlain: true, samples: 0 });
      }
      at = start;
      continue;
    }
    if (size.isUnknown) return undefined;
    const body = bytes.subarray(start, start + size.value);
    const last = tracks.at(-1);
    if (blocks.has(id!.value)) {
      if (!addBlock(tracks, body)) return undefined;
    } else if (last !== undefined) describe(last, id!.value, body);
    at = start + size.value;
  }
  const audio = tracks.filter(({ type }) => type === audioType);
  if (audio.some(({ codec, isPlain }) => codec !== "A_OPUS" || !isPlain)) return undefined;
  return audio.length === 0
    ? undefined
    : Math.max(...audio.map(({ samples }) => samples / opusHertz));
}
