/**
 * Encrypts a stream of any length in chunks with AES-256-GCM, by the STREAM construction (Hoang, Reyhanitabar, Rogaway,
 * Vizár: "Online Authenticated-Encryption and its Nonce-Reuse Misuse-Resistance", 2015), as the format `age` uses it.
 *
 * The nonce of a chunk is its number and whether it is the last one. A chunk that is changed, moved, repeated or missing,
 * an end that is cut off and bytes after the end therefore fail to decrypt. Each stream has a key of its own, derived
 * from the given key and a random salt, so numbers may serve as nonces.
 *
 *     "UMGB" version(1) salt(16) { AES-GCM(up to 65,536 bytes) tag(16) }*
 */

/** Plain bytes of a chunk. Every chunk but the last one has as many. */
const chunkBytes = 65_536;
const tagBytes = 16;
const saltBytes = 16;

/** The first bytes of a sealed stream: its name and the version of this format. */
const magic = new Uint8Array([...new TextEncoder().encode("UMGB"), 1]);

const purpose = new TextEncoder().encode("model gateway backup 1");

/** Thrown if a stream is not what was sealed with this key. */
export class SealedStreamError extends Error {
  override name = "SealedStreamError";
}

async function streamKey(key: Uint8Array<ArrayBuffer>, salt: Uint8Array<ArrayBuffer>) {
  const base = await crypto.subtle.importKey("raw", key, "HKDF", false, ["deriveKey"]);
  return await crypto.subtle.deriveKey(
    { name: "HKDF", hash: "SHA-256", salt, info: purpose },
    base,
    { name: "AES-GCM", length: 256 },
    false,
    ["encrypt", "decrypt"],
  );
}

function algorithm(chunk: number, isLast: boolean): AesGcmParams {
  const iv = new Uint8Array(12);
  const view = new DataView(iv.buffer);
  view.setBigUint64(3, BigInt(chunk));
  view.setUint8(11, isLast ? 1 : 0);
  return { name: "AES-GCM", iv, additionalData: magic };
}

/**
 * Cuts a stream into chunks of one size; the last one may be shorter, or empty if there is nothing else. A chunk is
 * overwritten by the next one: its reader is done with it before.
 */
async function* chunksOf(
  bytes: AsyncIterable<Uint8Array>,
  size: number,
): AsyncGenerator<{ readonly chunk: Uint8Array<ArrayBuffer>; readonly isLast: boolean }> {
  const buffer = new Uint8Array(size);
  let length = 0;
  for await (const part of bytes) {
    for (let at = 0; at < part.length;) {
      // A full chunk is passed on when a byte follows, since only then it is not the last one.
      if (length === size) {
        yield { chunk: buffer, isLast: false };
        length = 0;
      }
      const piece = part.subarray(at, at + size - length);
      buffer.set(piece, length);
      length += piece.length;
      at += piece.length;
    }
  }
  yield { chunk: buffer.slice(0, length), isLast: true };
}

/**
 * Encrypts a stream.
 *
 * @param key 32 bytes
 */
export async function* sealStream(
  plain: AsyncIterable<Uint8Array>,
  key: Uint8Array<ArrayBuffer>,
): AsyncGenerator<Uint8Array> {
  const salt = crypto.getRandomValues(new Uint8Array(saltBytes));
  const derived = await streamKey(key, salt);
  yield new Uint8Array([...magic, ...salt]);
  let number = 0;
  for await (const { chunk, isLast } of chunksOf(plain, chunkBytes)) {
    yield new Uint8Array(await crypto.subtle.encrypt(algorithm(number++, isLast), derived, chunk));
  }
}

/** Separates the first bytes of a stream from the rest. */
async function splitHead(
  bytes: AsyncIterable<Uint8Array>,
  size: number,
): Promise<{ readonly head: Uint8Array<ArrayBuffer>; readonly rest: AsyncGenerator<Uint8Array> }> {
  const parts = bytes[Symbol.asyncIterator]();
  let head = new Uint8Array();
  while (head.length < size) {
    const { done, value } = await parts.next();
    if (done === true) break;
    head = new Uint8Array([...head, ...value]);
  }
  async function* rest() {
    yield head.subarray(size);
    yield* { [Symbol.asyncIterator]: () => parts };
  }
  return { head: head.slice(0, size), rest: rest() };
}

/**
 * Decrypts what {@linkcode sealStream} made. What it yields is authentic, but only the end proves that nothing is
 * missing.
 *
 * @throws {SealedStreamError} if the stream was changed or cut, or sealed with another key
 */
export async function* openStream(
  sealed: AsyncIterable<Uint8Array>,
  key: Uint8Array<ArrayBuffer>,
): AsyncGenerator<Uint8Array> {
  const { head, rest } = await splitHead(sealed, magic.length + saltBytes);
  if (magic.some((byte, at) => head[at] !== byte) || head.length < magic.length + saltBytes) {
    throw new SealedStreamError("This is not a backup that this version can read");
  }
  const derived = await streamKey(key, head.slice(magic.length));
  let number = 0;
  for await (const { chunk, isLast } of chunksOf(rest, chunkBytes + tagBytes)) {
    try {
      const plain = await crypto.subtle.decrypt(algorithm(number, isLast), derived, chunk);
      yield new Uint8Array(plain);
    } catch {
      throw new SealedStreamError(
        number === 0
          ? "The backup cannot be decrypted: GATEWAY_BACKUP_KEY is another key, or the file is damaged"
          : "The backup is damaged or not whole",
      );
    }
    number++;
  }
}
