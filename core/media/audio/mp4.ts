/** The length of MP4 files (ISO/IEC 14496-12), whole or in fragments, with AAC or ALAC: their samples are counted. */
import { asciiAt, BitReader, opusHertz, opusPacketSamples, viewOf } from "./mp3.ts";

// The length of WebM and Matroska files (RFC 9559) with Opus: their packets are counted, not their time stamps.

/** Elements that contain others; all others are skipped. */
const containerElements: ReadonlySet<number> = new Set([
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

interface WebmTrack {
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
function addBlock(tracks: readonly WebmTrack[], block: Uint8Array): boolean {
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

function describe(track: WebmTrack, id: number, body: Uint8Array): void {
  if (id === trackNumber) track.number = unsigned(body);
  else if (id === trackType) track.type = unsigned(body);
  else if (id === codecId) track.codec = String.fromCharCode(...body.subarray(0, 32));
  else if (id === contentEncodings) track.isPlain = false;
}

/** Returns the seconds of the longest audio track; `undefined` if one has another encoding. */
export function measureWebm(bytes: Uint8Array): number | undefined {
  const tracks: WebmTrack[] = [];
  for (let at = 0; at < bytes.length;) {
    const id = vintAt(bytes, at, true);
    const size = id && vintAt(bytes, at + id.bytes, false);
    if (size === undefined) break;
    const start = at + id!.bytes + size.bytes;
    if (containerElements.has(id!.value)) {
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

/** Boxes that contain others, with the bytes before the first one. */
const containerBoxes: ReadonlyMap<string, number> = new Map([
  ["moov", 0],
  ["trak", 0],
  ["mdia", 0],
  ["minf", 0],
  ["stbl", 0],
  ["moof", 0],
  ["traf", 0],
  ["stsd", 8],
]);

/** Levels of boxes: a sample entry is 7 deep. */
const maxDepth = 12;

/** Samples per second by their index in the description of AAC. */
const aacRates = [
  ...[96_000, 88_200, 64_000, 48_000, 44_100, 32_000],
  ...[24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350],
];

interface Track {
  id: number;
  isAudio: boolean;
  /** Seconds of one sample, once its encoding is known. */
  sampleSeconds: number | undefined;
  samples: number;
}

interface Walk {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly tracks: Track[];
  /** The track of the fragment that is being read. */
  fragmentOf: Track | undefined;
}

/** Returns the seconds of one frame of AAC by its description (ISO/IEC 14496-3 section 1.6.2.1). */
function aacSampleSeconds(config: Uint8Array): number | undefined {
  const bits = new BitReader(config);
  const readType = () => {
    const type = bits.read(5);
    return type === 31 ? 32 + bits.read(6) : type;
  };
  const readRate = () => {
    const index = bits.read(4);
    return index === 15 ? bits.read(24) : aacRates[index];
  };
  let type = readType();
  const rate = readRate();
  bits.read(4); // channels
  if (type === 5 || type === 29) {
    readRate(); // of the extension: twice the samples in the same time
    type = readType();
  }
  if (rate === undefined || rate === 0) return undefined;
  const isShort = bits.read(1) === 1;
  // Main, LC, SSR, LTP and their error resilient forms; then those of low delay.
  if ([1, 2, 3, 4, 17, 19].includes(type)) return (isShort ? 960 : 1_024) / rate;
  if (type === 23 || type === 39) return (isShort ? 480 : 512) / rate;
  return undefined;
}

/** Returns the description of AAC in an `esds` box; `undefined` if it describes something else. */
function aacConfig(esds: Uint8Array): Uint8Array | undefined {
  let at = 4;
  while (at + 2 <= esds.length) {
    const tag = esds[at++]!;
    let size = 0;
    for (let more = true; more && at < esds.length; at++) {
      size = size * 128 + (esds[at]! & 0x7f);
      more = (esds[at]! & 0x80) !== 0;
    }
    if (tag === 3) {
      const flags = esds[at + 2] ?? 0;
      at += 3 + ((flags & 0x80) === 0 ? 0 : 2) + ((flags & 0x20) === 0 ? 0 : 2);
      if ((flags & 0x40) !== 0) at += 1 + (esds[at] ?? 0);
    } else if (tag === 4) {
      // MPEG-4 audio, and the AAC profiles of MPEG-2.
      if (![0x40, 0x66, 0x67, 0x68].includes(esds[at] ?? 0)) return undefined;
      at += 13;
    } else if (tag === 5) return esds.subarray(at, at + size);
    else at += size;
  }
  return undefined;
}

/** Finds a box among the bytes of a sample entry, whose fixed part has three lengths. */
function findBox(entry: Uint8Array, type: string): Uint8Array | undefined {
  const view = viewOf(entry);
  for (let at = 36; at + 8 <= entry.length; at++) {
    if (!asciiAt(entry, at + 4, type)) continue;
    const size = view.getUint32(at);
    if (size >= 8 && at + size <= entry.length) return entry.subarray(at + 8, at + size);
  }
  return undefined;
}

function sampleSecondsOf(type: string, entry: Uint8Array): number | undefined {
  if (type === "mp4a") {
    const esds = findBox(entry, "esds");
    const config = esds && aacConfig(esds);
    return config && aacSampleSeconds(config);
  }
  const alac = type === "alac" ? findBox(entry, "alac") : undefined;
  if (alac === undefined || alac.length < 28) return undefined;
  const view = viewOf(alac);
  return view.getUint32(4) / view.getUint32(24);
}

/** Reads one box that contains no others. */
function readBox(walk: Walk, type: string, start: number, end: number): void {
  const { view, bytes } = walk;
  const track = walk.tracks.at(-1);
  const length = end - start;
  if (track === undefined) return;
  if (type === "tkhd" && length >= 24) {
    track.id = view.getUint32(start + (bytes[start] === 1 ? 20 : 12));
  } else if (type === "hdlr" && length >= 12) {
    if (asciiAt(bytes, start + 8, "soun")) track.isAudio = true;
  } else if ((type === "stsz" || type === "stz2") && length >= 12) {
    track.samples += view.getUint32(start + 8);
  } else if (type === "tfhd" && length >= 8) {
    const id = view.getUint32(start + 4);
    walk.fragmentOf = walk.tracks.find((one) => one.id === id);
  } else if (type === "trun" && length >= 8 && walk.fragmentOf !== undefined) {
    walk.fragmentOf.samples += view.getUint32(start + 4);
  }
}

function readBoxes(walk: Walk, from: number, to: number, parent: string, depth: number): void {
  const { bytes, view } = walk;
  for (let at = from; at + 8 <= to;) {
    const type = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    let size = view.getUint32(at);
    let start = at + 8;
    if (size === 1 && at + 16 <= to) {
      size = Number(view.getBigUint64(start));
      start += 8;
    }
    const end = size === 0 ? to : Math.min(at + size, to);
    if (end < start) return;
    const skipped = containerBoxes.get(type);
    if (parent === "stsd") {
      const track = walk.tracks.at(-1);
      const entry = bytes.subarray(at, end);
      if (track !== undefined) track.sampleSeconds ??= sampleSecondsOf(type, entry);
    } else if (skipped !== undefined && depth < maxDepth) {
      if (type === "trak") {
        walk.tracks.push({ id: 0, isAudio: false, sampleSeconds: undefined, samples: 0 });
      }
      readBoxes(walk, start + skipped, end, type, depth + 1);
    } else readBox(walk, type, start, end);
    at = end;
  }
}

/** Returns the seconds of the longest audio track; `undefined` if one has another encoding. */
export function measureMp4(bytes: Uint8Array): number | undefined {
  const walk: Walk = { bytes, view: viewOf(bytes), tracks: [], fragmentOf: undefined };
  readBoxes(walk, 0, bytes.length, "", 0);
  let longest: number | undefined;
  for (const { isAudio, sampleSeconds, samples } of walk.tracks) {
    if (!isAudio) continue;
    if (sampleSeconds === undefined) return undefined;
    longest = Math.max(longest ?? 0, samples * sampleSeconds);
  }
  return longest;
}
