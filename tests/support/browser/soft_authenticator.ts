/**
 * An authenticator in software, with a browser around it: makes passkeys and signs with them as WebAuthn says, but for
 * what a test asks it to do wrong. Written after the specification, not after the library that verifies.
 */
import { encodeBase64Url } from "../../../core/lib/runtime/built_ins.ts";

const bytes = (text: string) => Uint8Array.fromBase64(text, { alphabet: "base64url" });
const utf8 = (text: string) => new TextEncoder().encode(text);
const sha256 = async (data: Uint8Array<ArrayBuffer>) =>
  new Uint8Array(await crypto.subtle.digest("SHA-256", data));

function concat(...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

/** CBOR (RFC 8949): the heads of values below 65,536. */
function head(major: number, value: number): Uint8Array {
  const first = major << 5;
  if (value < 24) return Uint8Array.of(first | value);
  if (value < 256) return Uint8Array.of(first | 24, value);
  return Uint8Array.of(first | 25, value >> 8, value & 255);
}
const cborBytes = (data: Uint8Array) => concat(head(2, data.length), data);
const cborText = (text: string) => concat(head(3, text.length), utf8(text));
const cborInt = (value: number) => value < 0 ? head(1, -1 - value) : head(0, value);

/** A whole number of DER, from 32 bytes. */
function derInteger(raw: Uint8Array): Uint8Array {
  const start = raw.findIndex((byte) => byte !== 0);
  const digits = raw.subarray(start < 0 ? raw.length - 1 : start);
  const padded = (digits[0] ?? 0) >= 128 ? concat(Uint8Array.of(0), digits) : digits;
  return concat(Uint8Array.of(2, padded.length), padded);
}

function derSignature(raw: Uint8Array): Uint8Array<ArrayBuffer> {
  const [r, s] = [derInteger(raw.subarray(0, 32)), derInteger(raw.subarray(32))];
  return concat(Uint8Array.of(0x30, r.length + s.length), r, s);
}

/** What a test lets it do wrong. */
export interface Deviation {
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  readonly counter?: number;
  /** Whether the person was verified, by a PIN or a finger. */
  readonly verified?: boolean;
  readonly userHandle?: string;
  readonly type?: string;
}

interface Options {
  readonly challenge: string;
}

/** A passkey of the authenticator. */
export class SoftPasskey {
  readonly id = encodeBase64Url(crypto.getRandomValues(new Uint8Array(32)));
  readonly #keys: CryptoKeyPair;
  readonly #origin: string;
  readonly #userHandle: string;
  counter = 0;

  private constructor(keys: CryptoKeyPair, origin: string, userHandle: string) {
    this.#keys = keys;
    this.#origin = origin;
    this.#userHandle = userHandle;
  }

  /** Makes a passkey for the user of the options. */
  static async make(origin: string, userHandle: string): Promise<SoftPasskey> {
    const algorithm = { name: "ECDSA", namedCurve: "P-256" };
    const keys = await crypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
    return new SoftPasskey(keys, origin, userHandle);
  }

  #clientData(type: string, { challenge }: Options, deviation: Deviation): Uint8Array<ArrayBuffer> {
    return utf8(JSON.stringify({
      type: deviation.type ?? type,
      challenge: deviation.challenge ?? challenge,
      origin: deviation.origin ?? this.#origin,
      crossOrigin: false,
    }));
  }

  async #authenticatorData(
    { rpId, counter, verified = true }: Deviation,
    attested?: Uint8Array,
  ): Promise<Uint8Array<ArrayBuffer>> {
    this.counter = counter ?? this.counter + 1;
    const flags = 1 | (verified ? 4 : 0) | (attested === undefined ? 0 : 64);
    const count = new Uint8Array(4);
    new DataView(count.buffer).setUint32(0, this.counter);
    const party = await sha256(utf8(rpId ?? new URL(this.#origin).hostname));
    return concat(party, Uint8Array.of(flags), count, attested ?? new Uint8Array());
  }

  async #attested(): Promise<Uint8Array> {
    const point = new Uint8Array(await crypto.subtle.exportKey("raw", this.#keys.publicKey));
    const cose = concat(
      head(5, 5),
      ...[[1, 2], [3, -7], [-1, 1]].flat().map(cborInt),
      cborInt(-2),
      cborBytes(point.subarray(1, 33)),
      cborInt(-3),
      cborBytes(point.subarray(33)),
    );
    const id = bytes(this.id);
    return concat(new Uint8Array(16), Uint8Array.of(0, id.length), id, cose);
  }

  /** Answers `navigator.credentials.create`. */
  async register(options: Options, deviation: Deviation = {}): Promise<string> {
    const authData = await this.#authenticatorData(deviation, await this.#attested());
    const attestation = concat(
      head(5, 3),
      cborText("fmt"),
      cborText("none"),
      cborText("attStmt"),
      head(5, 0),
      cborText("authData"),
      cborBytes(authData),
    );
    const clientData = this.#clientData("webauthn.create", options, deviation);
    return JSON.stringify({
      id: this.id,
      rawId: this.id,
      type: "public-key",
      response: {
        clientDataJSON: encodeBase64Url(clientData),
        attestationObject: encodeBase64Url(attestation),
        transports: ["internal"],
      },
    });
  }

  /** Answers `navigator.credentials.get`. */
  async sign(options: Options, deviation: Deviation = {}): Promise<string> {
    const authData = await this.#authenticatorData(deviation);
    const clientData = this.#clientData("webauthn.get", options, deviation);
    const signed = concat(authData, await sha256(clientData));
    const algorithm = { name: "ECDSA", hash: "SHA-256" };
    const raw = await crypto.subtle.sign(algorithm, this.#keys.privateKey, signed);
    return JSON.stringify({
      id: this.id,
      rawId: this.id,
      type: "public-key",
      response: {
        clientDataJSON: encodeBase64Url(clientData),
        authenticatorData: encodeBase64Url(authData),
        signature: encodeBase64Url(derSignature(new Uint8Array(raw))),
        userHandle: encodeBase64Url(utf8(deviation.userHandle ?? this.#userHandle)),
      },
    });
  }
}
