/**
 * The interface of credentials that are more than a fixed header: tokens that expire, and signatures.
 *
 * - Folder `core/clouds/credentials/`: the credentials of clouds, one file for each kind.
 * - In: a secret of the configuration, a transport to the issuer of tokens, a clock.
 * - Out: requests with a valid credential, or a `CredentialFailure`.
 * - Never: puts a secret or a token into an error, a log or a URL.
 */
import type { Clock } from "../../lib/time/clock.ts";
import type { Deadlines } from "../../lib/time/deadlines.ts";
import type {
  Transport,
  UpstreamRequest,
  UpstreamResponse,
} from "../../net/transport/transport.ts";

/** A token as its issuer gave it. */
export interface IssuedToken {
  readonly token: string;
  /** Seconds from its issue in which it is valid. */
  readonly lifeSeconds: number;
}

/** Adds the credential of a provider to requests. */
export interface Authorizer {
  /**
   * Returns the request with its credential; renews the credential first if it must.
   *
   * @throws {CredentialFailure} when there is no valid credential
   */
  authorize(request: UpstreamRequest): Promise<UpstreamRequest>;
  /**
   * Learns that the provider refused the credential of a request (401, 403). Returns whether the request should be sent
   * once more because the next credential may be better: a fresh token, or a signature by a corrected clock.
   */
  refused(request: UpstreamRequest, response: Pick<UpstreamResponse, "status" | "header">): boolean;
  /** Present where the credential is a token: see `AccessToken.issued`. */
  issued?(refused: string | undefined): Promise<IssuedToken>;
}

/** Tools that credentials are made with. */
export interface AuthorizerTools {
  /** Reaches the issuer of tokens. */
  readonly transport: Transport;
  readonly clock: Clock;
  readonly deadlines: Deadlines;
  /** Reads a file that holds a token; absent where there are no files. */
  readonly readTextFile?: ((path: string) => Promise<string>) | undefined;
  /** Called when renewing failed (with the reason for operators) although the former token is still valid, and when it worked. */
  readonly onRenewal: (failure: string | undefined) => void;
  /**
   * Gets a token from the thread that renews them for all; `undefined`: this one asks the issuer.
   *
   * @throws {CredentialFailure}
   */
  readonly issueElsewhere?: ((refused: string | undefined) => Promise<IssuedToken>) | undefined;
}

/** A credential that could not be made or renewed. */
export class CredentialFailure extends Error {
  override name = "CredentialFailure";
  /** A word for operators, e.g. `token_refused: invalid_client`. Without secrets. */
  readonly reason: string;
  /** The issuer refused the secret: only the operator can help. Otherwise it may pass. */
  readonly isRefusal: boolean;
  constructor(reason: string, isRefusal: boolean, options?: ErrorOptions) {
    super(reason, options);
    this.reason = reason;
    this.isRefusal = isRefusal;
  }
}
