/** Requests access tokens by OAuth 2.0 (RFC 6749, section 4.4; RFC 7523). */
import { readWhole } from "../../net/transport/read_whole.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import { UpstreamFailure, type UpstreamRequest } from "../../net/transport/transport.ts";
import { type AuthorizerTools, CredentialFailure, type IssuedToken } from "./authorizer.ts";
import type { Clock } from "../../lib/time/clock.ts";

/**
 * Milliseconds of difference between two clocks that are ignored: signatures are accepted for five minutes, and `date`
 * has whole seconds.
 */
const ignoredOffsetMs = 60_000;

/** The time of a cloud, which refuses signatures of a clock that is wrong by minutes. */
export class ClockOffset {
  readonly #clock: Clock;
  #offsetMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds since 1970 by the clock of the cloud, as far as it is known. */
  nowMs(): number {
    return this.#clock.nowMs() + this.#offsetMs;
  }

  /** Learns from the `date` of an answer; returns whether it corrected the time. */
  corrected(date: string | undefined): boolean {
    const dateMs = Date.parse(date ?? "");
    if (Number.isNaN(dateMs) || Math.abs(dateMs - this.nowMs()) <= ignoredOffsetMs) return false;
    this.#offsetMs = dateMs - this.#clock.nowMs();
    return true;
  }
}

/** Characters of a token in a file; those of platforms have up to 4,000. */
const maxTokenChars = 64 * 1024;

/**
 * Reads the token that a platform keeps in a file and replaces before it ends.
 *
 * @throws {CredentialFailure} if there is none, which may pass: the file may be about to be written
 */
export async function readTokenFile(
  { readTextFile }: Pick<AuthorizerTools, "readTextFile">,
  path: string,
): Promise<string> {
  let text: string;
  try {
    if (readTextFile === undefined) throw new Error("no files");
    text = (await readTextFile(path)).trim();
  } catch (cause) {
    throw new CredentialFailure("token_file_not_readable", false, { cause });
  }
  // A token goes into a header or a form.
  if (text.length > maxTokenChars || !/^[\x21-\x7e]+$/.test(text)) {
    throw new CredentialFailure("token_file_without_token", false);
  }
  return text;
}

/** Milliseconds for one request of a token: issuers answer within a second. */
const tokenRequestMs = 10_000;

/** Bytes of an answer with a token; tokens have up to 4 KB. */
const maxTokenAnswerBytes = 64 * 1024;

/** The form of OAuth error codes. Whatever else an issuer says could repeat a part of the secret. */
const errorCode = /^[a-z][a-z0-9_]{0,63}$/;

/** The object in a text; empty if there is none. */
export function parsedObject(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

function failureOf(status: number, { error }: JsonObject): CredentialFailure {
  return issuerFailure(status, typeof error === "string" && errorCode.test(error) ? error : "");
}

/** Makes the failure of an issuer's answer; `word` is its own code, if it has one. */
export function issuerFailure(status: number, word: string): CredentialFailure {
  // RFC 6749, section 5.2: 400 and 401 are about the client; everything else may pass.
  const isRefusal = status >= 400 && status < 500 && status !== 408 && status !== 429;
  return new CredentialFailure(`token_refused: ${word || `status ${status}`}`, isRefusal);
}

/** Answer of an issuer of tokens. */
export interface IssuerAnswer {
  readonly status: number;
  readonly text: string;
  /** The `date` of the answer. */
  readonly date: string | undefined;
}

/**
 * Asks an issuer of tokens or keys.
 *
 * @throws {CredentialFailure} when it cannot be reached
 */
export async function askIssuer(
  { transport, deadlines }: Pick<AuthorizerTools, "transport" | "deadlines">,
  request: Pick<UpstreamRequest, "method" | "url" | "headers" | "body">,
): Promise<IssuerAnswer> {
  const exchange = transport.open({
    ...request,
    headers: [["accept-encoding", "identity"], ...request.headers],
    onSentAgain: () => {}, // a second token has no effect
  });
  const deadline = deadlines.create(() => exchange.cancel());
  deadline.arm(tokenRequestMs);
  try {
    const response = await exchange.response;
    const bytes = await readWhole(response, maxTokenAnswerBytes);
    const { status } = response;
    return { status, text: new TextDecoder().decode(bytes), date: response.header("date") };
  } catch (error) {
    exchange.cancel();
    if (!(error instanceof UpstreamFailure)) throw error;
    throw new CredentialFailure(`token_unreachable: ${error.code}`, false, { cause: error });
  } finally {
    deadline.disarm();
  }
}

/** The body and the header of a form. */
export function formRequest(
  form: Readonly<Record<string, string>>,
): Pick<UpstreamRequest, "method" | "headers" | "body"> {
  return {
    method: "POST",
    headers: [
      ["accept", "application/json"],
      ["content-type", "application/x-www-form-urlencoded"],
    ],
    body: new TextEncoder().encode(new URLSearchParams(form).toString()),
  };
}

/**
 * Requests a token.
 *
 * @param onDate called with the `date` of the answer
 * @throws {CredentialFailure} when the issuer gives none or cannot be reached
 */
export async function requestToken(
  tools: Pick<AuthorizerTools, "transport" | "deadlines">,
  url: string,
  form: Readonly<Record<string, string>>,
  onDate?: (date: string | undefined) => void,
): Promise<IssuedToken> {
  const answer = await askIssuer(tools, { url, ...formRequest(form) });
  onDate?.(answer.date);
  return readToken(answer);
}

/**
 * Reads the token of an answer.
 *
 * @throws {CredentialFailure} when there is none
 */
export function readToken({ status, text }: IssuerAnswer): IssuedToken {
  const answer = parsedObject(text);
  if (status !== 200) throw failureOf(status, answer);
  const { access_token: token, expires_in: lifeSeconds } = answer;
  // A token goes into a header.
  if (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token)) {
    throw new CredentialFailure("token_missing", false);
  }
  const life = Number(lifeSeconds);
  return { token, lifeSeconds: Number.isFinite(life) && life > 0 ? life : 0 };
}
