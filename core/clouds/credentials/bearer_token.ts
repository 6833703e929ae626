import type { UpstreamRequest } from "../../upstream/transport.ts";
import type { AccessToken } from "./access_token.ts";
import type { Authorizer } from "./authorizer.ts";

const scheme = "Bearer ";

/** Sends an access token as `authorization: Bearer`; a refused one is renewed once. */
export class BearerToken implements Authorizer {
  readonly #token: AccessToken;

  constructor(token: AccessToken) {
    this.#token = token;
  }

  async authorize(request: UpstreamRequest): Promise<UpstreamRequest> {
    const token = await this.#token.get();
    return { ...request, headers: [...request.headers, ["authorization", `${scheme}${token}`]] };
  }

  refused({ headers }: UpstreamRequest, { status }: { readonly status: number }): boolean {
    const [, value = ""] = headers.find(([name]) => name === "authorization") ?? [];
    // A 403 is about what the identity may do, which another token does not change.
    return status === 401 && this.#token.forget(value.slice(scheme.length));
  }
}
