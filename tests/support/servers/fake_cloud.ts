/**
 * A cloud on a local port: it issues tokens and checks credentials by implementations that are not the gateway's own.
 */
import { Sha256 } from "@aws-crypto/sha256-js";
import { SignatureV4 } from "@smithy/signature-v4";
import { exportPKCS8, generateKeyPair, type GenerateKeyPairResult, jwtVerify } from "jose";

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
export const entraSecret = "entra~Secret.Value";

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
  /** Seconds by which this cloud's clock is ahead. */
  aheadSeconds = 0;
  readonly requests: CloudRequest[] = [];

  private constructor(keys: GenerateKeyPairResult, pem: string) {
    this.#keys = keys;
    this.#pem = pem;
    this.#server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      (request) => this.#serve(request),
    );
  }

  static async start(): Promise<FakeCloud> {
    const keys = await generateKeyPair("RS256", { extractable: true });
    return new FakeCloud(keys, await exportPKCS8(keys.privateKey));
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
    return new Date(Date.now() + this.aheadSeconds * 1000);
  }

  async #serve(request: Request): Promise<Response> {
    const url = new URL(request.url);
    const { method, headers } = request;
    const seen = { method, url, headers, text: await request.text() };
    const response = url.pathname === "/token" || url.pathname.endsWith("/oauth2/v2.0/token")
      ? await this.#token(seen)
      : await this.#call(seen);
    response.headers.set("date", this.#now().toUTCString());
    return response;
  }

  async #token(request: CloudRequest): Promise<Response> {
    this.tokenRequests++;
    if (this.tokenAnswer !== undefined) return await this.tokenAnswer();
    const form = new URLSearchParams(request.text);
    const error = form.get("grant_type") === "client_credentials"
      ? this.#entraProblem(request.url, form)
      : await this.#googleProblem(form);
    if (error !== undefined) {
      // Issuers repeat what they were sent; the gateway must not.
      const error_description = `refused: ${request.text}`;
      return Response.json({ error, error_description }, { status: 400 });
    }
    const token = `token-${this.tokenRequests}`;
    this.tokens.add(token);
    return Response.json({
      access_token: token,
      token_type: "Bearer",
      expires_in: this.lifeSeconds,
    });
  }

  #entraProblem(url: URL, form: URLSearchParams): string | undefined {
    if (!url.pathname.startsWith("/tenant-1/")) return "invalid_request";
    if (form.get("scope") !== "https://cognitiveservices.azure.com/.default") {
      return "invalid_scope";
    }
    const isKnown = form.get("client_id") === "client-1" &&
      form.get("client_secret") === entraSecret;
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
    if (!authorization.includes(`Credential=${awsKey.accessKeyId}/`)) {
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
        ...awsKey,
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
