/**
 * Hashes passwords with salted scrypt of `node:crypto`, off the main thread and a few at a time.
 */
import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { FewAtOnce } from "../../core/lib/time/few_at_once.ts";
import { normalisePassword } from "../../core/people/accounts/password_policy.ts";

/** Password hashes computed at the same time: each takes 64 MiB and a thread for a third of a second. */
export const passwordHashesAtOnce = 2;

/** Sign-ins that may wait for a hash: the last one waits about 10 s. */
export const maxPasswordHashQueue = 64;

/** Cost of one hash: 2^logN × r × 128 bytes of memory, p times in a row. */
export interface ScryptCost {
  readonly logN: number;
  readonly r: number;
  readonly p: number;
}

/**
 * The 64 MiB row of OWASP's recommendation: as strong as its 128 MiB row (N=2^17, p=1), and two
 * hashes at a time fit a small machine.
 */
const defaultScryptCost: ScryptCost = { logN: 16, r: 8, p: 2 };

const keyBytes = 32;
const saltBytes = 16;

/** Creates and verifies encoded hashes: `scrypt$16$8$2$<salt>$<key>`. */
export interface PasswordHasher {
  hash(password: string): Promise<string>;
  /**
   * Verifies a password. With `undefined` (no such account, or one without a password) it does the
   * same work and returns `false`, so that the response time does not reveal which addresses have
   * an account.
   */
  verify(password: string, encoded: string | undefined): Promise<boolean>;
}

interface Encoded {
  readonly cost: ScryptCost;
  readonly salt: Uint8Array;
  readonly key: Uint8Array;
}

function encode({ cost, salt, key }: Encoded): string {
  return ["scrypt", cost.logN, cost.r, cost.p, salt.toBase64(), key.toBase64()].join("$");
}

function decode(text: string): Encoded {
  const match = /^scrypt\$(\d{1,2})\$(\d{1,2})\$(\d{1,2})\$([\w+/=]+)\$([\w+/=]+)$/.exec(text);
  if (match === null) throw new TypeError("Cannot read a stored password hash: unknown form");
  const [, logN, r, p, salt, key] = match;
  return {
    cost: { logN: Number(logN), r: Number(r), p: Number(p) },
    salt: Uint8Array.fromBase64(salt!),
    key: Uint8Array.fromBase64(key!),
  };
}

function deriveKey(password: string, salt: Uint8Array, cost: ScryptCost): Promise<Uint8Array> {
  const N = 2 ** cost.logN;
  const options = { N, r: cost.r, p: cost.p, maxmem: 128 * cost.r * (N + cost.p + 2) };
  return new Promise((resolve, reject) => {
    scrypt(normalisePassword(password), salt, keyBytes, options, (error, key) => {
      if (error !== null) reject(error);
      else resolve(new Uint8Array(key));
    });
  });
}

/**
 * Creates a hasher that runs at most {@linkcode passwordHashesAtOnce} hashes at a time.
 *
 * @throws {GatewayError} `overloaded` (from its methods) when too many are waiting already
 *
 * @example
 * ```ts
 * import { createPasswordHasher } from "./password_hash.ts";
 * const hasher = createPasswordHasher({ logN: 4, r: 8, p: 1 }); // the default cost is far higher
 * const encoded = await hasher.hash("correct horse battery");
 * if (!await hasher.verify("correct horse battery", encoded)) throw new Error();
 * if (await hasher.verify("wrong", encoded)) throw new Error();
 * ```
 */
export function createPasswordHasher(cost: ScryptCost = defaultScryptCost): PasswordHasher {
  const hashes = new FewAtOnce({
    most: passwordHashesAtOnce,
    maxWaiting: maxPasswordHashQueue,
    refusal: "Too many sign-ins at once; try again in a moment",
  });
  const nobodysSalt = randomBytes(saltBytes);
  return {
    async hash(password) {
      const salt = new Uint8Array(randomBytes(saltBytes));
      const key = await hashes.run(() => deriveKey(password, salt, cost));
      return encode({ cost, salt, key });
    },
    async verify(password, encoded) {
      const stored = encoded === undefined
        ? { cost, salt: nobodysSalt, key: undefined }
        : decode(encoded);
      const key = await hashes.run(() => deriveKey(password, stored.salt, stored.cost));
      return stored.key !== undefined && stored.key.length === key.length &&
        timingSafeEqual(key, stored.key);
    },
  };
}
