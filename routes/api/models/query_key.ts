/** The paths of the Gemini style, and the key that its clients may have in the query. */
import type { HttpRequest } from "../../http/body/http_request.ts";

/** The beginning of paths that only this style has. */
export const geminiPaths = "/v1beta/";

/** The end of a path of a call, which exists under `/v1`, too. */
const operation = /^\/v1\/models\/.+:(?:generateContent|streamGenerateContent|countTokens)$/;

/** The header that the vendor's library has the key in. */
const keyHeader = "x-goog-api-key";

/** Whether the vendor's library sent a request: it names itself in a header. */
export function isGeminiClient(headers: HttpRequest["headers"]): boolean {
  return headers.has("x-goog-api-client") || headers.has(keyHeader);
}

/** Whether a path is one of this style. */
export function isGeminiPath(path: string): boolean {
  return path.startsWith(geminiPaths) || operation.test(path);
}

const queryKey = "key";

/**
 * Returns the request with the key in a header and not in its URL, which error reports of a runtime may show. Beside a
 * key that the header has already, it is a second value of it. Any other request is returned as it is.
 */
export function withQueryKey(request: HttpRequest, path: string): HttpRequest {
  if (!request.url.includes(`${queryKey}=`) || !isGeminiPath(path)) return request;
  const url = new URL(request.url);
  const keys = url.searchParams.getAll(queryKey);
  if (keys.length === 0) return request;
  url.searchParams.delete(queryKey);
  const { headers } = request;
  const inHeader = headers.get(keyHeader);
  const values = (inHeader === null ? keys : [inHeader, ...keys]).join(", ");
  return {
    method: request.method,
    url: url.href,
    headers: {
      get: (name) => name === keyHeader ? values : headers.get(name),
      has: (name) => name === keyHeader || headers.has(name),
    },
    get body() {
      return request.body;
    },
    get signal() {
      return request.signal;
    },
    bytes: () => request.bytes(),
  };
}
