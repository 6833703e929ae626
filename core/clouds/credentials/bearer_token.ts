import type { UpstreamRequest } from "../../net/transport/transport.ts";
import { AccessToken } from "./access_token.ts";
import type { Authorizer, AuthorizerTools, IssuedToken } from "./authorizer.ts";

const scheme = "Bearer ";

/** Milliseconds after a failed renewal until the thread that renews is asked again, which has a longer pause itself. */
const elsewherePauseMs = 1_000;

/** Sends an access token as `authorization: Bearer`; a refused one is renewed once. */
class BearerToken implements Authorizer {
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

  issued(refused: string | undefined): Promise<IssuedToken> {
    return this.#token.issued(refused);
  }
}

/** Makes a token that comes from its issuer by `issue`, or from the thread that renews tokens for all. */
export function renewingToken(
  tools: Pick<AuthorizerTools, "clock" | "onRenewal" | "issueElsewhere">,
  issue: () => Promise<IssuedToken>,
): AccessToken {
  const { clock, onRenewal, issueElsewhere } = tools;
  return new AccessToken(
    issueElsewhere === undefined
      ? { clock, onRenewal, issue }
      : { clock, onRenewal, issue: issueElsewhere, pauseMs: elsewherePauseMs },
  );
}

/** Makes the credential of tokens that `issue` gets from their issuer. */
export function bearerToken(tools: AuthorizerTools, issue: () => Promise<IssuedToken>): Authorizer {
  return new BearerToken(renewingToken(tools, issue));
}
