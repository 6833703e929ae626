/** Access keys of AWS. */
import type { CloudAuth } from "../../catalog/entries/cloud_schema.ts";
import {
  type Authorizer,
  type AuthorizerTools,
  CredentialFailure,
  type IssuedToken,
} from "./authorizer.ts";
import {
  askIssuer,
  ClockOffset,
  formRequest,
  issuerFailure,
  parsedObject,
  readTokenFile,
} from "./token_request.ts";
import { AwsV4Signer } from "aws4fetch";
import { joined } from "../../lib/bytes/byte_parts.ts";
import type { UpstreamRequest, UpstreamResponse } from "../../net/transport/transport.ts";
import { AccessToken, renewingToken } from "./access_token.ts";

// Signature Version 4 of AWS, with keys from any source.

/** Service and region that are signed beside the request. */
export interface SignedPlace {
  readonly region: string;
  readonly service: string;
}

/** Source of the keys that requests are signed with. */
export interface AwsKeySource {
  /**
   * Returns keys as `ACCESS_KEY_ID:SECRET_ACCESS_KEY`, with `:SESSION_TOKEN` if they are temporary.
   *
   * @throws {CredentialFailure} when there are none
   */
  get(): Promise<string>;
  /** Learns that the session of keys has ended; returns whether others may be had. */
  refused?(session: string): boolean;
}

/** The form of keys; none of the parts contains a colon. */
const secretForm =
  /^(?<accessKeyId>\w{16,128}):(?<secretAccessKey>[^:\s]+)(?::(?<token>[^:\s]+))?$/;

/** Errors about temporary keys that others may not have. */
const aboutSession = /^(?:ExpiredToken|InvalidClientTokenId|UnrecognizedClient)/;

/** Signed by value, so a proxy or a driver must not change them; `host` is signed besides. */
const signedHeaders: ReadonlySet<string> = new Set(["x-amz-date", "x-amz-security-token"]);

/** Writes a time as `20260131T235959Z`. */
function compactTime(ms: number): string {
  return new Date(ms).toISOString().replace(/[:-]|\.\d{3}/g, "");
}

/** Signs requests with the keys of a source. */
class AwsSignature implements Authorizer {
  readonly #place: SignedPlace;
  readonly #keys: AwsKeySource;
  readonly #time: ClockOffset;
  /** Signing keys of one day and access key: deriving one takes four hashes. */
  #cache = new Map<string, ArrayBuffer>();
  #cachedFor = "";

  constructor(place: SignedPlace, keys: AwsKeySource, { clock }: Pick<AuthorizerTools, "clock">) {
    this.#place = place;
    this.#keys = keys;
    this.#time = new ClockOffset(clock);
  }

  async authorize(request: UpstreamRequest): Promise<UpstreamRequest> {
    const keys = secretForm.exec(await this.#keys.get())?.groups ?? {};
    const { accessKeyId, secretAccessKey, token } = keys;
    if (accessKeyId === undefined || secretAccessKey === undefined) {
      throw new CredentialFailure("not_an_aws_key", true);
    }
    const datetime = compactTime(this.#time.nowMs());
    this.#forgetOtherKeys(`${datetime.slice(0, 8)} ${accessKeyId}`);
    const body = request.body === null ? undefined : new Uint8Array(joined(request.body));
    const signer = new AwsV4Signer({
      method: request.method,
      url: request.url,
      ...body === undefined ? {} : { body },
      accessKeyId,
      secretAccessKey,
      ...token === undefined ? {} : { sessionToken: token },
      region: this.#place.region,
      service: this.#place.service,
      datetime,
      cache: this.#cache,
    });
    const { headers } = await signer.sign();
    const added = [...headers].filter(([name]) =>
      name === "authorization" || signedHeaders.has(name)
    );
    return { ...request, headers: [...request.headers, ...added] };
  }

  refused(
    { headers }: UpstreamRequest,
    { status, header }: Pick<UpstreamResponse, "status" | "header">,
  ): boolean {
    if (status !== 403) return false;
    if (this.#time.corrected(header("date"))) return true;
    const [, session] = headers.find(([name]) => name === "x-amz-security-token") ?? [];
    const isExpired = aboutSession.test(header("x-amzn-errortype") ?? "");
    return isExpired && session !== undefined && this.#keys.refused?.(session) === true;
  }

  #forgetOtherKeys(kind: string): void {
    if (kind === this.#cachedFor) return;
    this.#cachedFor = kind;
    this.#cache = new Map();
  }
}

// Temporary keys of AWS, which are renewed like tokens.

/** Temporary keys as their issuers name the parts. */
export interface WrittenKeys {
  readonly id: unknown;
  readonly secret: unknown;
  readonly session: unknown;
  /** A time by ISO 8601. */
  readonly expires: unknown;
}

/**
 * Joins the parts of temporary keys into the one text that {@linkcode AwsSignature} takes.
 *
 * @param nowMs the time of the issuer
 * @throws {CredentialFailure} if a part is missing
 */
function keysFrom(
  { id, secret, session, expires }: WrittenKeys,
  nowMs: number,
): IssuedToken {
  const parts = [id, secret, session];
  const endMs = typeof expires === "string" ? Date.parse(expires) : NaN;
  if (Number.isNaN(endMs) || !parts.every((part) => typeof part === "string" && part !== "")) {
    throw new CredentialFailure("keys_missing", false);
  }
  return { token: parts.join(":"), lifeSeconds: Math.max(0, (endMs - nowMs) / 1000) };
}

/** Makes the credential of keys that `issue` gets from their issuer. */
function temporaryKeys(
  place: SignedPlace,
  tools: AuthorizerTools,
  issue: () => Promise<IssuedToken>,
): Authorizer {
  const token: AccessToken = renewingToken(tools, issue);
  let current = "";
  const signature = new AwsSignature(place, {
    async get() {
      current = await token.get();
      return current;
    },
    // Another call may have got new keys meanwhile.
    refused: (session) => !current.endsWith(`:${session}`) || token.forget(current),
  }, tools);
  return {
    authorize: (request) => signature.authorize(request),
    refused: (request, response) => signature.refused(request, response),
    issued: (refused) => token.issued(refused),
  };
}

// Keys that the platform of a container of AWS gives at an address: EKS Pod Identity, ECS.

/** The host of ECS, whose variable has only a path. */
const ecsHost = "http://169.254.170.2";

/** Makes the credential of the keys at `address`. */
export function awsContainerAuthorizer(
  auth: Extract<CloudAuth, { kind: "aws-container" }>,
  address: string,
  tools: AuthorizerTools,
): Authorizer {
  const url = address.startsWith("/") ? ecsHost + address : address;
  const issue = async (): Promise<IssuedToken> => {
    const { tokenFile } = auth;
    const token = tokenFile === undefined ? undefined : await readTokenFile(tools, tokenFile);
    const { status, text, date } = await askIssuer(tools, {
      method: "GET",
      url,
      headers: [
        ["accept", "application/json"],
        ...token === undefined ? [] : [["authorization", token] as const],
      ],
      body: null,
    });
    if (status !== 200) throw issuerFailure(status, "");
    const { AccessKeyId, SecretAccessKey, Token, Expiration } = parsedObject(text);
    const written = {
      id: AccessKeyId,
      secret: SecretAccessKey,
      session: Token,
      expires: Expiration,
    };
    return keysFrom(written, Date.parse(date ?? "") || tools.clock.nowMs());
  };
  return temporaryKeys(auth, tools, issue);
}

// A web identity of a workload, such as a service account of Kubernetes, that takes on a role of AWS.

/** The form of error codes of the service. */
const errorCode = /<Code>([A-Za-z]{1,64})<\/Code>/;

function element(xml: string, name: string): string | undefined {
  return new RegExp(`<${name}>([^<]+)</${name}>`).exec(xml)?.[1];
}

/** Makes the credential of the identity whose token is in the file at `path`, which its platform renews. */
export function awsWebIdentityAuthorizer(
  auth: Extract<CloudAuth, { kind: "aws-web-identity" }>,
  path: string,
  tools: AuthorizerTools,
): Authorizer {
  const { role, region, sessionName, sts = `https://sts.${region}.amazonaws.com` } = auth;
  const issue = async (): Promise<IssuedToken> => {
    const form = formRequest({
      Action: "AssumeRoleWithWebIdentity",
      Version: "2011-06-15",
      RoleArn: role,
      RoleSessionName: sessionName,
      WebIdentityToken: await readTokenFile(tools, path),
    });
    const headers = [["accept", "application/xml"], ...form.headers.slice(1)] as const;
    const { status, text, date } = await askIssuer(tools, { ...form, headers, url: `${sts}/` });
    if (status !== 200) throw issuerFailure(status, errorCode.exec(text)?.[1] ?? "");
    const written = {
      id: element(text, "AccessKeyId"),
      secret: element(text, "SecretAccessKey"),
      session: element(text, "SessionToken"),
      expires: element(text, "Expiration"),
    };
    return keysFrom(written, Date.parse(date ?? "") || tools.clock.nowMs());
  };
  return temporaryKeys(auth, tools, issue);
}

/** Makes the credential of an access key, which is `secret`. */
export function awsAuthorizer(
  auth: Extract<CloudAuth, { kind: "aws" }>,
  secret: string,
  tools: Pick<AuthorizerTools, "clock">,
): Authorizer {
  return new AwsSignature(auth, { get: () => Promise.resolve(secret) }, tools);
}
