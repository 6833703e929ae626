/**
 * Keeps the contents of catalogue versions: JSON, compressed, in pieces that fit into a value of the store.
 *
 * The pieces are written before the commit that makes a version of them. That commit checks {@linkcode ContentRow}, so
 * contents that were removed meanwhile are never referred to; contents of a commit that did not come are removed later.
 */
import { sha256Hex } from "../../../core/lib/hash/sha256.ts";
import { keysPerRead, type KeyValueStore } from "../../engine/store/key_value_store.ts";
import {
  catalogContentKey,
  catalogContentsPrefix,
  catalogPieceKey,
  contentIdOf,
} from "../../engine/schema/keys.ts";
import { dayMs } from "../../../core/lib/time/durations.ts";

/** Bytes of a piece: values hold 64 KiB, less what their encoding adds. */
const pieceBytes = 60 * 1024;

/** Pieces of one catalogue: 10,000 models compress to about ten. Bounds what a reader puts together. */
const maxPieces = 256;

/** Bytes of the JSON of a catalogue: 10,000 models with long texts. A compressed text must not unfold without end. */
export const maxCatalogBytes = 32 * 1024 * 1024;

/** Milliseconds after which contents that no kept version names are removed: an editor commits within a minute. */
const orphanMs = dayMs;

/** State of the pieces of one catalogue. */
export interface ContentRow {
  readonly pieces: number;
  /** Absent: one piece holds the text as it is, so that an ordinary start compresses nothing. */
  readonly encoding?: "gzip";
  readonly writtenAtMs: number;
}

/** Contents that were written, or are there already. */
export interface WrittenContents {
  readonly contentId: string;
  /** Has to be unchanged when a version of it is committed. */
  readonly row: Deno.KvEntryMaybe<ContentRow>;
}

/** The text that is kept, and compared: JSON without spaces, and without the address of the schema. */
export function catalogText(contents: unknown): string {
  if (typeof contents !== "object" || contents === null || !("$schema" in contents)) {
    return JSON.stringify(contents);
  }
  const { $schema: _, ...rest } = contents;
  return JSON.stringify(rest);
}

/** The digest by which two catalogues are the same. */
export function catalogDigest(text: string): Promise<string> {
  return sha256Hex(text);
}

async function through(
  bytes: Uint8Array<ArrayBuffer>,
  stream: CompressionStream | DecompressionStream,
  maxBytes: number,
): Promise<Uint8Array | undefined> {
  const parts: Uint8Array[] = [];
  let length = 0;
  const body = new Response(bytes).body!.pipeThrough(stream);
  for await (const part of body) {
    parts.push(part);
    length += part.length;
    if (length > maxBytes) return undefined;
  }
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** Writes the pieces of a catalogue. */
export async function writeContents(
  kv: KeyValueStore,
  text: string,
  nowMs: number,
): Promise<WrittenContents> {
  const plain = new TextEncoder().encode(text);
  const isPacked = plain.length > pieceBytes;
  const packed = isPacked
    ? await through(plain, new CompressionStream("gzip"), maxCatalogBytes)
    : plain;
  const pieces = Math.ceil((packed?.length ?? Infinity) / pieceBytes);
  if (packed === undefined || plain.length > maxCatalogBytes || pieces > maxPieces) {
    throw new RangeError(`a catalogue of ${plain.length} bytes is too large`);
  }
  const contentId = crypto.randomUUID();
  for (let at = 0; at < pieces; at++) {
    const piece = packed.slice(at * pieceBytes, (at + 1) * pieceBytes);
    await kv.set(catalogPieceKey(contentId, at), piece);
  }
  const row: ContentRow = { pieces, writtenAtMs: nowMs, ...(isPacked && { encoding: "gzip" }) };
  await kv.set(catalogContentKey(contentId), row);
  return await knownContents(kv, contentId);
}

/** State of contents that a version names. */
export async function knownContents(
  kv: KeyValueStore,
  contentId: string,
): Promise<WrittenContents> {
  return { contentId, row: await kv.get<ContentRow>(catalogContentKey(contentId)) };
}

/** Reads a catalogue; `undefined` if it is not there or not what the digest says. */
export async function readContents(
  kv: KeyValueStore,
  { contentId, digest }: { readonly contentId: string; readonly digest: string },
): Promise<unknown> {
  const { row } = await knownContents(kv, contentId);
  if (row.value === null || row.value.pieces > maxPieces) return undefined;
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for (let from = 0; from < row.value.pieces; from += keysPerRead) {
    const count = Math.min(keysPerRead, row.value.pieces - from);
    const keys = Array.from({ length: count }, (_, i) => catalogPieceKey(contentId, from + i));
    for (const { value } of await kv.getMany<Uint8Array<ArrayBuffer>[]>(keys)) {
      if (value === null) return undefined;
      parts.push(value);
    }
  }
  try {
    const packed = new Uint8Array(await new Blob(parts).arrayBuffer());
    const plain = row.value.encoding === undefined
      ? packed
      : await through(packed, new DecompressionStream("gzip"), maxCatalogBytes);
    const text = plain && new TextDecoder().decode(plain);
    return text !== undefined && await catalogDigest(text) === digest
      ? JSON.parse(text)
      : undefined;
  } catch {
    // Not what was compressed.
    return undefined;
  }
}

/** Removes contents that are not among `kept` and not just being written. */
export async function removeContents(
  kv: KeyValueStore,
  kept: ReadonlySet<string>,
  nowMs: number,
): Promise<void> {
  const rows = kv.list<ContentRow>({ prefix: catalogContentsPrefix() });
  for await (const entry of rows) {
    const contentId = contentIdOf(entry.key);
    if (kept.has(contentId) || nowMs - entry.value.writtenAtMs < orphanMs) continue;
    const removed = await kv.atomic().check(entry).delete(entry.key).commit();
    if (!removed.ok) continue;
    for (let at = 0; at < Math.min(entry.value.pieces, maxPieces); at++) {
      await kv.delete(catalogPieceKey(contentId, at));
    }
  }
}
