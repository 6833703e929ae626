/** Secrets and signatures of webhooks, as Standard Webhooks (https://www.standardwebhooks.com) defines them. */
import { decodeBase64, encodeBase64 } from "../../lib/runtime/built_ins.ts";

const secretPrefix = "whsec_";

/** Bytes of a new secret: the scheme allows 24 to 64, and the digest has as many. */
const secretBytes = 32;

/** Creates the text of a new secret. */
export function newWebhookSecret(): string {
  return secretPrefix + encodeBase64(crypto.getRandomValues(new Uint8Array(secretBytes)));
}

/** Message that one try signs. */
export interface SignedMessage {
  /** The same for every try, so that a receiver finds repeats. */
  readonly id: string;
  /** The time of this try. */
  readonly atSeconds: number;
  readonly body: string;
}

async function signatureBy(
  secret: string,
  { id, atSeconds, body }: SignedMessage,
): Promise<string> {
  const bytes = decodeBase64(secret.slice(secretPrefix.length));
  if (bytes === undefined) throw new TypeError("Not a secret of webhooks");
  const algorithm = { name: "HMAC", hash: "SHA-256" } as const;
  const key = await crypto.subtle.importKey("raw", bytes, algorithm, false, ["sign"]);
  const content = new TextEncoder().encode(`${id}.${atSeconds}.${body}`);
  const digest = await crypto.subtle.sign("HMAC", key, content);
  return `v1,${encodeBase64(new Uint8Array(digest))}`;
}

/**
 * Returns the headers that sign a message, with a signature by each secret: after a rotation two are valid for a while.
 *
 * @example
 * ```ts
 * import { signatureHeaders } from "./signature.ts";
 * const message = { id: "msg_p5jXN8AQM9LWM0D4loKWxJek", atSeconds: 1614265330, body: '{"test": 2432232314}' };
 * const headers = await signatureHeaders(["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"], message);
 * const expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
 * if (headers["webhook-signature"] !== expected) throw new Error(headers["webhook-signature"]);
 * ```
 */
export async function signatureHeaders(
  secrets: readonly string[],
  message: SignedMessage,
): Promise<{
  readonly "webhook-id": string;
  readonly "webhook-timestamp": string;
  readonly "webhook-signature": string;
}> {
  const signatures = await Promise.all(secrets.map((secret) => signatureBy(secret, message)));
  return {
    "webhook-id": message.id,
    "webhook-timestamp": String(message.atSeconds),
    "webhook-signature": signatures.join(" "),
  };
}
