/**
 * A cloud on a local port: it issues tokens and checks credentials by implementations that are not the gateway's own.
 */
import { Sha256 } from "@aws-crypto/sha256-js";
import { SignatureV4 } from "@smithy/signature-v4";
import { type Clock, systemClock } from "../../../core/lib/time/clock.ts";
import { exportPKCS8, generateKeyPair, type GenerateKeyPairResult, jwtVerify, SignJWT } from "jose";

/** A request that arrived, with its body read. */
export interface CloudRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  readonly text: string;
}

/** Answers what is not a request for a token. */
export type CloudAnswer = (request: CloudRequest) => Response | Promise<Response>;

/** Seconds by which the clock of a cloud may differ from that of a signature. */
const allowedSkewSeconds = 300;

export const awsKey = { accessKeyId: "AKIDEXAMPLE00000001", secretAccessKey: "aws/Secret+Key" };
/** The role that workloads may take on. */
export const workloadRole = "arn:aws:iam::123456789012:role/gateway";
export const entraSecret = "entra~Secret.Value";

/** The keys of every cloud of this process: to make them costs a second of a processor. */
let signingKeys: Promise<GenerateKeyPairResult> | undefined;

export class FakeCloud implements AsyncDisposable {
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #keys: GenerateKeyPairResult;
  readonly #pem: string;
  /** Whatever is neither a token nor refused. */
  answer: CloudAnswer = () => new Response("{}", { status: 500 });
  /** Requests for tokens. */
  tokenRequests = 0;
  /** Seconds in which a token is valid. */
  lifeSeconds = 3600;
  /** Answers requests for tokens in place of the cloud. */
  tokenAnswer: (() => Response | Promise<Response>) | undefined;
  /** Tokens that are valid. */
  readonly tokens = new Set<string>();
  /** Temporary keys that are valid, by the id of the access key. */
  readonly temporaryKeys = new Map<string, { secretAccessKey: string; sessionToken: string }>();
  /** Seconds by which this cloud's clock is ahead. */
  aheadSeconds = 0;
  readonly requests: CloudRequest[] = [];

  /** What its clock is set by: the machine's, unless the test has another. */
  readonly #clock: Pick<Clock, "nowMs">;

  private constructor(
    keys: GenerateKeyPairResult,
    pem: string,
    clock: Pick<Clock, "nowMs">,
  ) {
    this.#clock = clock;
    this.#keys = keys;
    this.#pem = pem;
    this.#server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      (request) => this.#serve(request),
    );
  }

  static async start(clock: Pick<Clock, "nowMs"> = systemClock): Promise<FakeCloud> {
    const keys = await (signingKeys ??= generateKeyPair("RS256", { extractable: true }));
    return new FakeCloud(keys, await exportPKCS8(keys.privateKey), clock);
  }

  get origin(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  /** The JSON key of a service account of this cloud. */
  serviceAccount(changes: Readonly<Record<string, unknown>> = {}): string {
    return JSON.stringify({
      type: "service_account",
      project_id: "project-1",
      private_key_id: "key-1",
      private_key: this.#pem,
      client_email: "robot@project-1.example",
      token_uri: `${this.origin}/token`,
      ...changes,
    });
  }

  #now(): Date {
    return new Date(this.#clock.nowMs() + this.aheadSeconds * 1000);
  }

  async #serve(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const { method, headers } = request;
    const seen = { method, url, headers, text: await request.text() };
    const response = url.pathname === "/token" || url.pathname.endsWith("/oauth2/v2.0/token")
      ? await this.#token(seen)
      : await this.#workload(seen) ?? await this.#call(seen);
    response.headers.set("date", this.#now().toUTCString());
    return response;
  }

  /** A token that the platform of a workload signs, as in its file. */
  async workloadToken(subject = "system:serviceaccount:gateway"): Promise<string> {
    const now = this.#now();
    return await new SignJWT({ sub: subject }).setProtectedHeader({ alg: "RS256" })
      .setIssuedAt(now).setExpirationTime(new Date(now.getTime() + 3_600_000))
      .sign(this.#keys.privateKey);
  }

  async #isWorkload(token: string | null): Promise<boolean> {
    try {
      const { payload } = await jwtVerify(token ?? "", this.#keys.publicKey, {
        currentDate: this.#now(),
      });
      return payload.sub === "system:serviceaccount:gateway";
    } catch {
      return false;
    }
  }

  /** Answers of what gives workloads their credentials; `undefined` for other requests. */
  async #workload({ method, url, headers, text }: CloudRequest): Promise<Response | undefined> {
    if (url.pathname === "/sts/") {
      this.tokenRequests++;
      const form = new URLSearchParams(text);
      const isKnown = method === "POST" && form.get("Action") === "AssumeRoleWithWebIdentity" &&
        form.get("RoleArn") === workloadRole &&
        await this.#isWorkload(form.get("WebIdentityToken"));
      if (!isKnown) {
        const code = "<Error><Type>Sender</Type><Code>InvalidIdentityToken</Code>";
        return new Response(
          `<ErrorResponse>${code}<Message>${text}</Message></Error></ErrorResponse>`,
          {
            status: 400,
          },
        );
      }
      const { id, secretAccessKey, sessionToken, expires } = this.#newKeys();
      return new Response(
        `<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>` +
          `<SessionToken>${sessionToken}</SessionToken><SecretAccessKey>${secretAccessKey}</SecretAccessKey>` +
          `<Expiration>${expires}</Expiration><AccessKeyId>${id}</AccessKeyId>` +
          `</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
        { headers: { "content-type": "text/xml" } },
      );
    }
    if (url.pathname === "/v1/credentials") {
      this.tokenRequests++;
      if (!await this.#isWorkload(headers.get("authorization"))) {
        return new Response("AccessDeniedException", { status: 401 });
      }
      const { id, secretAccessKey, sessionToken, expires } = this.#newKeys();
      return Response.json({
        AccessKeyId: id,
        SecretAccessKey: secretAccessKey,
        Token: sessionToken,
        Expiration: expires,
      });
    }
    if (url.pathname === "/computeMetadata/v1/instance/service-accounts/default/token") {
      this.tokenRequests++;
      const isAsked = headers.get("metadata-flavor") === "Google" &&
        url.searchParams.get("scopes")?.endsWith("/auth/cloud-platform") === true;
      if (!isAsked) return new Response("Forbidden", { status: 403 });
      return this.#newToken();
    }
    return undefined;
  }

  #newKeys() {
    const id = `ASIAWORKLOAD${String(this.tokenRequests).padStart(8, "0")}`;
    const keys = {
      secretAccessKey: `temporary/Secret+${this.tokenRequests}`,
      sessionToken: `session/Token+${this.tokenRequests}==`,
    };
    this.temporaryKeys.set(id, keys);
    const expires = new Date(this.#now().getTime() + this.lifeSeconds * 1000).toISOString();
    return { id, ...keys, expires };
  }

  #newToken(): Response {
    const token = `token-${this.tokenRequests}`;
    this.tokens.add(token);
    return Response.json({
      access_token: token,
      token_type: "Bearer",
      expires_in: this.lifeSeconds,
    });
  }

  async #token(request: CloudRequest): Promise<Response> {
    this.tokenRequests++;
    if (this.tokenAnswer !== undefined) return await this.tokenAnswer();
    const form = new URLSearchParams(request.text);
    const error = form.get("grant_type") === "client_credentials"
      ? await this.#entraProblem(request.url, form)
      : await this.#googleProblem(form);
    if (error !== undefined) {
      // Issuers repeat what they were sent; the gateway must not.
      const error_description = `refused: ${request.text}`;
      return Response.json({ error, error_description }, { status: 400 });
    }
    return this.#newToken();
  }

  async #entraProblem(url: URL, form: URLSearchParams): Promise<string | undefined> {
    if (!url.pathname.startsWith("/tenant-1/")) return "invalid_request";
    if (form.get("scope") !== "https://cognitiveservices.azure.com/.default") {
      return "invalid_scope";
    }
    const isFederated = form.get("client_assertion_type") ===
        "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" &&
      await this.#isWorkload(form.get("client_assertion"));
    const isKnown = form.get("client_id") === "client-1" &&
      (form.get("client_secret") === entraSecret || isFederated);
    return isKnown ? undefined : "invalid_client";
  }

  async #googleProblem(form: URLSearchParams): Promise<string | undefined> {
    if (form.get("grant_type") !== "urn:ietf:params:oauth:grant-type:jwt-bearer") {
      return "unsupported_grant_type";
    }
    try {
      const { payload } = await jwtVerify(form.get("assertion") ?? "", this.#keys.publicKey, {
        algorithms: ["RS256"],
        audience: `${this.origin}/token`,
        issuer: "robot@project-1.example",
        maxTokenAge: 3600,
        clockTolerance: allowedSkewSeconds,
        currentDate: this.#now(),
        requiredClaims: ["exp", "iat"],
      });
      return String(payload["scope"]).endsWith("/auth/cloud-platform")
        ? undefined
        : "invalid_scope";
    } catch {
      return "invalid_grant";
    }
  }

  async #call(request: CloudRequest): Promise<Response> {
    const authorization = request.headers.get("authorization") ?? "";
    const problem = authorization.startsWith("AWS4-HMAC-SHA256")
      ? await this.#signatureProblem(request)
      : authorization.startsWith("Bearer token-") && !this.tokens.has(authorization.slice(7))
      ? Response.json({ error: { code: 401, message: "expired", status: "UNAUTHENTICATED" } }, {
        status: 401,
      })
      : undefined;
    if (problem !== undefined) return problem;
    this.requests.push(request);
    return await this.answer(request);
  }

  /** Signs the request as it arrived, by AWS's own code, and compares. */
  async #signatureProblem({ method, url, headers, text }: CloudRequest) {
    const refused = (name: string, message: string) =>
      Response.json({ message }, { status: 403, headers: { "x-amzn-errortype": name } });
    const authorization = headers.get("authorization") ?? "";
    const id = /Credential=([^/]+)\//.exec(authorization)?.[1] ?? "";
    const temporary = this.temporaryKeys.get(id);
    const session = headers.get("x-amz-security-token");
    if (temporary === undefined && id.startsWith("ASIA")) {
      return refused(
        "ExpiredTokenException",
        "The security token included in the request is expired",
      );
    }
    if (id !== awsKey.accessKeyId && temporary?.sessionToken !== session) {
      return refused("UnrecognizedClientException", "The security token is invalid");
    }
    const date = headers.get("x-amz-date") ?? "";
    const signedAt = date.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, "$1-$2-$3T$4:$5:$6Z");
    const skewMs = Math.abs(Date.parse(signedAt) - this.#now().getTime());
    if (!(skewMs <= allowedSkewSeconds * 1000)) {
      return refused("InvalidSignatureException", `Signature expired: ${date}`);
    }
    const names = /SignedHeaders=([^,]+)/.exec(authorization)?.[1]?.split(";") ?? [];
    const signer = new SignatureV4({
      service: "bedrock",
      region: "us-east-1",
      credentials: {
        accessKeyId: id,
        secretAccessKey: temporary?.secretAccessKey ?? awsKey.secretAccessKey,
        ...headers.has("x-amz-security-token")
          ? { sessionToken: headers.get("x-amz-security-token") ?? "" }
          : {},
      },
      sha256: Sha256,
      applyChecksum: false,
    });
    const signed = await signer.sign({
      method,
      protocol: "http:",
      hostname: url.hostname,
      port: Number(url.port),
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers: Object.fromEntries(
        names.map((name) => [name, name === "host" ? url.host : headers.get(name) ?? ""]),
      ),
      body: text,
    }, { signingDate: new Date(signedAt), signableHeaders: new Set(names) });
    const expected = /Signature=(\w+)/.exec(signed.headers["authorization"] ?? "")?.[1];
    const sent = /Signature=(\w+)/.exec(authorization)?.[1];
    return expected === sent && sent !== undefined
      ? undefined
      : refused("InvalidSignatureException", "The signature does not match");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}
