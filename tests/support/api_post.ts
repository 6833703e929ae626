/** Requests of JSON with an API key, in either of the headers that all styles take. */

type Headers = Readonly<Record<string, string>>;

function jsonPost(url: string, body: unknown, headers: Headers): Request {
  return new Request(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

/** A POST with the key in `x-api-key`. */
export function apiPost(url: string, key: string, body: unknown, headers: Headers = {}): Request {
  return jsonPost(url, body, { "x-api-key": key, ...headers });
}

/** A POST with the key as a bearer token. */
export function bearerPost(
  url: string,
  key: string,
  body: unknown,
  headers: Headers = {},
): Request {
  return jsonPost(url, body, { authorization: `Bearer ${key}`, ...headers });
}
