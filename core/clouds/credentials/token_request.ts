/** Requests access tokens by OAuth 2.0 (RFC 6749, section 4.4; RFC 7523). */
import { readWhole } from "../../calls/read_whole.ts";
import { isJsonObject, type JsonObject } from "../../lib/json/json.ts";
import { UpstreamFailure } from "../../upstream/transport.ts";
import { type AuthorizerTools, CredentialFailure, type IssuedToken } from "./authorizer.ts";

/** Milliseconds for one request of a token: issuers answer within a second. */
const tokenRequestMs = 10_000;

/** Bytes of an answer with a token; tokens have up to 4 KB. */
const maxTokenAnswerBytes = 64 * 1024;

/** The form of OAuth error codes. Whatever else an issuer says could repeat a part of the secret. */
const errorCode = /^[a-z][a-z0-9_]{0,63}$/;

function parsed(bytes: Uint8Array): JsonObject {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}

function failureOf(status: number, answer: JsonObject): CredentialFailure {
  const { error } = answer;
  const word = typeof error === "string" && errorCode.test(error) ? error : `status ${status}`;
  // RFC 6749, section 5.2: 400 and 401 are about the client; everything else may pass.
  const isRefusal = status >= 400 && status < 500 && status !== 408 && status !== 429;
  return new CredentialFailure(`token_refused: ${word}`, isRefusal);
}

/**
 * Requests a token.
 *
 * @param onDate called with the `date` of the answer
 * @throws {CredentialFailure} when the issuer gives none or cannot be reached
 */
export async function requestToken(
  { transport, deadlines }: Pick<AuthorizerTools, "transport" | "deadlines">,
  url: string,
  form: Readonly<Record<string, string>>,
  onDate?: (date: string | undefined) => void,
): Promise<IssuedToken> {
  const exchange = transport.open({
    method: "POST",
    url,
    headers: [
      ["accept", "application/json"],
      ["accept-encoding", "identity"],
      ["content-type", "application/x-www-form-urlencoded"],
    ],
    body: new TextEncoder().encode(new URLSearchParams(form).toString()),
    onSentAgain: () => {}, // a second token has no effect
  });
  const deadline = deadlines.create(() => exchange.cancel());
  deadline.arm(tokenRequestMs);
  try {
    const response = await exchange.response;
    onDate?.(response.header("date"));
    const answer = parsed(await readWhole(response, maxTokenAnswerBytes));
    if (response.status !== 200) throw failureOf(response.status, answer);
    const { access_token: token, expires_in: lifeSeconds } = answer;
    // A token goes into a header.
    if (typeof token !== "string" || !/^[\x21-\x7e]+$/.test(token)) {
      throw new CredentialFailure("token_missing", false);
    }
    const life = Number(lifeSeconds);
    return { token, lifeSeconds: Number.isFinite(life) && life > 0 ? life : 0 };
  } catch (error) {
    exchange.cancel();
    if (!(error instanceof UpstreamFailure)) throw error;
    throw new CredentialFailure(`token_unreachable: ${error.code}`, false, { cause: error });
  } finally {
    deadline.disarm();
  }
}
