/** Signature Version 4 of AWS. */
import { AwsV4Signer } from "aws4fetch";
import type { CloudAuth } from "../../catalog/cloud_schema.ts";
import { joined } from "../../lib/bytes/byte_parts.ts";
import type { UpstreamRequest, UpstreamResponse } from "../../upstream/transport.ts";
import { type Authorizer, type AuthorizerTools, CredentialFailure } from "./authorizer.ts";
import { ClockOffset } from "./clock_offset.ts";

/** `ACCESS_KEY_ID:SECRET_ACCESS_KEY` with `:SESSION_TOKEN`; none of them contains a colon. */
const secretForm =
  /^(?<accessKeyId>\w{16,128}):(?<secretAccessKey>[^:\s]+)(?::(?<token>[^:\s]+))?$/;

/** Signed by value, so a proxy or a driver must not change them; `host` is signed besides. */
const signedHeaders: ReadonlySet<string> = new Set(["x-amz-date", "x-amz-security-token"]);

/** Writes a time as `20260131T235959Z`. */
function compactTime(ms: number): string {
  return new Date(ms).toISOString().replace(/[:-]|\.\d{3}/g, "");
}

class AwsSignature implements Authorizer {
  readonly #auth: Extract<CloudAuth, { kind: "aws" }>;
  readonly #keys: Readonly<Record<string, string | undefined>>;
  readonly #time: ClockOffset;
  /** Signing keys of one day: deriving one takes four hashes. */
  #cache = new Map<string, ArrayBuffer>();
  #cacheDay = "";

  constructor(
    auth: Extract<CloudAuth, { kind: "aws" }>,
    secret: string,
    { clock }: Pick<AuthorizerTools, "clock">,
  ) {
    this.#auth = auth;
    this.#keys = secretForm.exec(secret)?.groups ?? {};
    this.#time = new ClockOffset(clock);
  }

  async authorize(request: UpstreamRequest): Promise<UpstreamRequest> {
    const { accessKeyId, secretAccessKey, token } = this.#keys;
    if (accessKeyId === undefined || secretAccessKey === undefined) {
      throw new CredentialFailure("not_an_aws_key", true);
    }
    const datetime = compactTime(this.#time.nowMs());
    this.#forgetOtherDays(datetime.slice(0, 8));
    const body = request.body === null ? undefined : new Uint8Array(joined(request.body));
    const signer = new AwsV4Signer({
      method: request.method,
      url: request.url,
      ...body === undefined ? {} : { body },
      accessKeyId,
      secretAccessKey,
      ...token === undefined ? {} : { sessionToken: token },
      region: this.#auth.region,
      service: this.#auth.service,
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
    _request: UpstreamRequest,
    response: Pick<UpstreamResponse, "status" | "header">,
  ): boolean {
    return response.status === 403 && this.#time.corrected(response.header("date"));
  }

  #forgetOtherDays(day: string): void {
    if (day === this.#cacheDay) return;
    this.#cacheDay = day;
    this.#cache = new Map();
  }
}

/** Makes the credential of an access key of AWS. */
export function awsAuthorizer(
  auth: Extract<CloudAuth, { kind: "aws" }>,
  secret: string,
  tools: Pick<AuthorizerTools, "clock">,
): Authorizer {
  return new AwsSignature(auth, secret, tools);
}
