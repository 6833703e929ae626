/**
 * Seals what one instance asks another about a kept turn, and the answer: the network between them learns neither ids
 * nor content, and a sender without a master key gets nothing.
 *
 * A question is sealed with the newest master key, for the address that it goes to. It has its time and a new key with
 * which its answer is encrypted. So an answer opens for its own question only, and who plays a question again could not
 * read the answer.
 */
import type { AccountId } from "../../lib/ids/ids.ts";
import type { Clock } from "../../lib/time/clock.ts";
import { isJsonObject } from "../../lib/json/json.ts";
import { decodeBase64Url, encodeBase64Url } from "../../lib/runtime/built_ins.ts";
import { type MasterKeys, open, seal } from "../../people/api_keys/seal.ts";
import { type KeptResponse, outputOf } from "./kept_responses.ts";

/** A question about one turn of an account. */
export interface TurnQuestion {
  readonly act: "read" | "remove";
  readonly account: AccountId;
  readonly id: string;
}

/** A question of which the answer can be sealed, or opened. */
export interface KeyedQuestion extends TurnQuestion {
  readonly answerKey: CryptoKey;
}

/** Milliseconds by which the clocks of two instances may differ, and the way between them. */
export const maxQuestionAgeMs = 15_000;

/** Questions that are remembered, so that none is answered twice: 1,600 a second while they are valid, some 8 MB. */
const maxRemembered = 50_000;

const keyBytes = 32;
const ivBytes = 12;
const lengthBytes = 4;

const ownerOf = (address: string) => `peer/${address}` as const;

async function answerKeyOf(raw: Uint8Array<ArrayBuffer>): Promise<CryptoKey> {
  return await crypto.subtle.importKey("raw", raw, "AES-GCM", false, ["encrypt", "decrypt"]);
}

/** Seals a question for the instance at an address. */
export async function sealQuestion(
  keys: MasterKeys,
  question: TurnQuestion,
  { address, nowMs }: { readonly address: string; readonly nowMs: number },
): Promise<KeyedQuestion & { readonly sealed: string }> {
  const raw = crypto.getRandomValues(new Uint8Array(keyBytes));
  const text = JSON.stringify({ ...question, atMs: nowMs, key: encodeBase64Url(raw) });
  const sealed = await seal(keys, text, ownerOf(address));
  return { ...question, sealed, answerKey: await answerKeyOf(raw) };
}

/** Opens the questions that come to an address, each once. */
export class QuestionReader {
  readonly #keys: MasterKeys;
  readonly #address: string;
  readonly #clock: Pick<Clock, "nowMs" | "monotonicMs">;
  /** Keys of questions, with the time from which none of that age is taken; in the order of arrival. */
  readonly #seen = new Map<string, number>();

  constructor(keys: MasterKeys, address: string, clock: Pick<Clock, "nowMs" | "monotonicMs">) {
    this.#keys = keys;
    this.#address = address;
    this.#clock = clock;
  }

  /** Opens a question; `undefined` for any other text, for one that is too old, and for one that came before. */
  async read(sealed: string): Promise<KeyedQuestion | undefined> {
    const text = await open(this.#keys, sealed, ownerOf(this.#address));
    const read: unknown = text === undefined ? undefined : JSON.parse(text);
    if (!isJsonObject(read)) return undefined;
    const { act, account, id, atMs, key } = read;
    if (act !== "read" && act !== "remove") return undefined;
    if (typeof account !== "string" || typeof id !== "string") return undefined;
    if (typeof atMs !== "number" || typeof key !== "string") return undefined;
    const raw = decodeBase64Url(key);
    if (raw?.length !== keyBytes || !this.#isNew(key, atMs)) return undefined;
    // The seal says that another instance wrote it, which had the account from a key.
    return { act, account: account as AccountId, id, answerKey: await answerKeyOf(raw) };
  }

  #isNew(key: string, atMs: number): boolean {
    if (Math.abs(this.#clock.nowMs() - atMs) > maxQuestionAgeMs) return false;
    const nowMs = this.#clock.monotonicMs();
    for (const [other, untilMs] of this.#seen) {
      if (untilMs > nowMs) break;
      this.#seen.delete(other);
    }
    if (this.#seen.has(key) || this.#seen.size >= maxRemembered) return false;
    this.#seen.set(key, nowMs + 2 * maxQuestionAgeMs);
    return true;
  }
}

/** The answer to a question. */
export interface TurnAnswer {
  /** Whether the turn is there, or was until it was removed. */
  readonly isThere: boolean;
  /** The turn that was to be read. */
  readonly turn?: KeptResponse | undefined;
}

/** Seals the answer to a question. */
export async function sealAnswer(
  { answerKey }: KeyedQuestion,
  { isThere, turn }: TurnAnswer,
): Promise<Uint8Array<ArrayBuffer>> {
  // The last of the items is the output, a part of the response.
  const parts = turn === undefined ? [] : [turn.response, ...turn.items.slice(0, -1)];
  const bytes = parts.reduce((sum, part) => sum + lengthBytes + part.length, 1);
  const plain = new Uint8Array(bytes);
  const view = new DataView(plain.buffer);
  plain[0] = isThere ? 1 : 0;
  let at = 1;
  for (const part of parts) {
    view.setUint32(at, part.length);
    plain.set(part, at + lengthBytes);
    at += lengthBytes + part.length;
  }
  const iv = crypto.getRandomValues(new Uint8Array(ivBytes));
  const ciphertext = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, answerKey, plain);
  const sealed = new Uint8Array(ivBytes + ciphertext.byteLength);
  sealed.set(iv);
  sealed.set(new Uint8Array(ciphertext), ivBytes);
  return sealed;
}

/** Opens the answer to a question; `undefined` for bytes that are not its answer. */
export async function openAnswer(
  { act, answerKey }: KeyedQuestion,
  bytes: Uint8Array,
): Promise<TurnAnswer | undefined> {
  const iv = bytes.slice(0, ivBytes);
  let plain: Uint8Array;
  try {
    const sealed = bytes.slice(ivBytes);
    plain = new Uint8Array(
      await crypto.subtle.decrypt({ name: "AES-GCM", iv }, answerKey, sealed),
    );
  } catch {
    return undefined; // changed, or the answer to another question
  }
  if (plain[0] !== 1 || act === "remove") return { isThere: plain[0] === 1 };
  const [response, ...items] = partsOf(plain.subarray(1));
  const output = response && outputOf(response);
  return output && { isThere: true, turn: { response, items: [...items, output] } };
}

function partsOf(bytes: Uint8Array): Uint8Array[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const parts: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const start = at + lengthBytes;
    at = start + view.getUint32(at);
    parts.push(bytes.subarray(start, at));
  }
  return parts;
}
