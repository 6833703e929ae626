/** Signature Version 4 of AWS, with keys from any source. */
import { AwsV4Signer } from "aws4fetch";
import { joined } from "../../lib/bytes/byte_parts.ts";
import type { UpstreamRequest, UpstreamResponse } from "../../net/transport/transport.ts";
import { type Authorizer, type AuthorizerTools, CredentialFailure } from "./authorizer.ts";
import { ClockOffset } from "./clock_offset.ts";

/** What is signed beside the request. */
export interface SignedPlace {
  readonly region: string;
  readonly service: string;
}

/** Where keys come from. */
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
export class AwsSignature implements Authorizer {
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
