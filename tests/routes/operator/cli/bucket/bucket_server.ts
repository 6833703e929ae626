/**
 * A server with one bucket, as S3 is seen by who writes objects: signatures, objects, uploads in parts. It takes a
 * signature apart by itself, so that what a client signed is what it sent.
 */
import { createHash, createHmac } from "node:crypto";

/** How a request fails that a test chooses: before it took effect, or after. */
export type BucketFault =
  | { readonly status: number; readonly code: string; readonly isAfter?: true }
  /** A completed upload that fails after the answer has begun. */
  | { readonly status: 200; readonly code: string };

/** A running server. */
export interface BucketServer extends AsyncDisposable {
  readonly url: string;
  /** Objects by name. */
  readonly objects: ReadonlyMap<string, Uint8Array>;
  /** Uploads that are neither complete nor taken back. */
  readonly uploads: ReadonlyMap<string, unknown>;
  /** What was asked, as `PUT name` or `PUT name?part`. */
  readonly asked: readonly string[];
  /** Chooses requests that fail; asked with what is added to {@linkcode asked}. */
  fail: (asked: string) => BucketFault | undefined;
}

/** Whom the server knows. */
export const bucketKeys = {
  AWS_ACCESS_KEY_ID: "AKIDEXAMPLE0000000",
  AWS_SECRET_ACCESS_KEY: "secret/of+the=test",
  AWS_REGION: "ap-southeast-1",
} as const;

const sha256 = (bytes: string | Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const hmac = (key: string | Uint8Array, text: string) =>
  createHmac("sha256", key).update(text).digest();

function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Says what is wrong with a signature, or with what it covers. */
function refusalOf(request: Request, body: Uint8Array): string | undefined {
  const url = new URL(request.url);
  const header = (name: string) => request.headers.get(name) ?? "";
  const form = /^AWS4-HMAC-SHA256 Credential=([^,]+), SignedHeaders=([^,]+), Signature=(\w+)$/;
  const [, credential = "", signed = "", signature] = form.exec(header("authorization")) ?? [];
  const [keyId, ...scope] = credential.split("/");
  if (keyId !== bucketKeys.AWS_ACCESS_KEY_ID) return "InvalidAccessKeyId";
  if (header("x-amz-content-sha256") !== sha256(body)) return "XAmzContentSHA256Mismatch";
  for (const name of ["host", "x-amz-content-sha256", "x-amz-date"]) {
    if (!signed.split(";").includes(name)) return "AccessDenied";
  }
  const canonical = [
    request.method,
    url.pathname.split("/").map((part) => encoded(decodeURIComponent(part))).join("/"),
    [...url.searchParams].map((pair) => pair.map(encoded).join("=")).sort().join("&"),
    ...signed.split(";").map((name) => `${name}:${name === "host" ? url.host : header(name)}`),
    "",
    signed,
    header("x-amz-content-sha256"),
  ].join("\n");
  const text = ["AWS4-HMAC-SHA256", header("x-amz-date"), scope.join("/"), sha256(canonical)];
  const key = scope.reduce<string | Uint8Array>(
    hmac,
    `AWS4${bucketKeys.AWS_SECRET_ACCESS_KEY}`,
  );
  return hmac(key, text.join("\n")).toString("hex") === signature
    ? undefined
    : "SignatureDoesNotMatch";
}

function answerError(status: number, code: string): Response {
  return new Response(`<Error><Code>${code}</Code><Message>of the test</Message></Error>`, {
    status,
  });
}

function joined(parts: Iterable<Uint8Array>): Uint8Array {
  return Uint8Array.from([...parts].flatMap((part) => [...part]));
}

/** Starts a server whose bucket is `tables`. */
export function startBucketServer(): BucketServer {
  const objects = new Map<string, Uint8Array>();
  const uploads = new Map<string, { readonly name: string; readonly parts: Uint8Array[] }>();
  const asked: string[] = [];
  let count = 0;

  function act(method: string, name: string, query: URLSearchParams, body: Uint8Array): Response {
    const uploadId = query.get("uploadId");
    const upload = uploads.get(uploadId ?? "");
    if (uploadId !== null && upload?.name !== name) return answerError(404, "NoSuchUpload");
    switch (method) {
      case "HEAD": {
        const found = objects.get(name);
        if (found === undefined) return new Response(null, { status: 404 });
        return new Response(null, { headers: { "content-length": String(found.length) } });
      }
      case "PUT":
        if (upload !== undefined) upload.parts[Number(query.get("partNumber")) - 1] = body;
        else objects.set(name, body);
        return new Response(null, { headers: { etag: `"${sha256(body)}"` } });
      case "DELETE":
        uploads.delete(uploadId ?? "");
        return new Response(null, { status: 204 });
    }
    if (upload === undefined) {
      const id = `upload&${++count}`;
      uploads.set(id, { name, parts: [] });
      return new Response(`<UploadId>upload&amp;${count}</UploadId>`);
    }
    const tags = [...new TextDecoder().decode(body).matchAll(/<ETag>"(\w+)"<\/ETag>/g)];
    if (tags.map(([, tag]) => tag).join() !== upload.parts.map(sha256).join()) {
      return answerError(400, "InvalidPart");
    }
    objects.set(name, joined(upload.parts));
    uploads.delete(uploadId ?? "");
    return new Response("<CompleteMultipartUploadResult/>");
  }

  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    async (request) => {
      const body = await request.bytes();
      const { pathname, searchParams } = new URL(request.url);
      const name = decodeURIComponent(pathname).replace(/^\/tables\//, "");
      const part = searchParams.get("partNumber");
      const what = part ?? [...searchParams.keys()][0];
      const line = `${request.method} ${name}${what === undefined ? "" : `?${what}`}`;
      asked.push(line);
      const refused = refusalOf(request, body);
      if (refused !== undefined) return answerError(403, refused);
      const fault = bucket.fail(line);
      if (fault === undefined || "isAfter" in fault) {
        const answer = act(request.method, name, searchParams, body);
        if (fault === undefined) return answer;
      }
      return answerError(fault.status, fault.code);
    },
  );
  const bucket: BucketServer = {
    url: `http://127.0.0.1:${server.addr.port}`,
    objects,
    uploads,
    asked,
    fail: () => undefined,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
  return bucket;
}

/** Fails the first request of a kind. */
export function failOnce(
  wanted: string,
  fault: BucketFault,
): (asked: string) => BucketFault | undefined {
  let isLeft = true;
  return (asked) => {
    if (!isLeft || asked !== wanted) return undefined;
    isLeft = false;
    return fault;
  };
}
