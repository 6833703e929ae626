/** A stand-in of GitHub on this machine: its sign-in, its token endpoint and its API, by its documentation. */
import { sha256 } from "../../../core/lib/hash/sha256.ts";
import { assertEquals } from "../assert.ts";

/** A person as GitHub's API says who it is. */
export interface GitHubPerson {
  readonly id: number;
  readonly emails: readonly {
    readonly email: string;
    readonly primary: boolean;
    readonly verified: boolean;
  }[];
}

/** The answers that a test may change. */
export type GitHubAnswer = "token" | "user" | "emails";

/** Returns what is answered in place of the true answer. */
export type Changed = (
  answer: GitHubAnswer,
  body: unknown,
) => { readonly body: unknown; readonly status?: number };

export interface GitHubServer extends AsyncDisposable {
  readonly origin: string;
  readonly clientId: string;
  readonly clientSecret: string;
  person: GitHubPerson;
  changed: Changed;
  /** Signs the person in at the address of a redirect, and returns the address to come back to. */
  signIn(redirect: string | null): URL;
}

const ann: GitHubPerson = {
  id: 583_231,
  emails: [
    { email: "ann@users.noreply.github.com", primary: false, verified: true },
    { email: "ann@example.com", primary: true, verified: true },
  ],
};

/** Opens the server. */
export function openGitHub(callback: string): GitHubServer {
  const [clientId, clientSecret] = ["Iv1.client", "github-secret"];
  const codes = new Map<string, { challenge: string; person: GitHubPerson }>();
  const tokens = new Map<string, GitHubPerson>();
  const answer = (what: GitHubAnswer, body: unknown) => {
    const { body: changed, status = 200 } = github.changed(what, body);
    return new Response(typeof changed === "string" ? changed : JSON.stringify(changed), {
      status,
      headers: { "content-type": "application/json; charset=utf-8" },
    });
  };

  async function tokenOf(request: Request): Promise<Response> {
    const form = new URLSearchParams(await request.text());
    if (form.get("client_id") !== clientId || form.get("client_secret") !== clientSecret) {
      return answer("token", { error: "incorrect_client_credentials" });
    }
    const code = form.get("code") ?? "";
    const found = codes.get(code);
    codes.delete(code);
    const verifier = new TextEncoder().encode(form.get("code_verifier") ?? "");
    const challenge = (await sha256(verifier)).toBase64({
      alphabet: "base64url",
      omitPadding: true,
    });
    // GitHub answers 200 to what it refuses.
    if (found?.challenge !== challenge) return answer("token", { error: "bad_verification_code" });
    assertEquals(form.get("redirect_uri"), callback);
    assertEquals(request.headers.get("accept"), "application/json");
    const access_token = `gho_${crypto.randomUUID()}`;
    tokens.set(access_token, found.person);
    return answer("token", { access_token, token_type: "bearer", scope: "read:user,user:email" });
  }

  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, async (request) => {
    const { pathname } = new URL(request.url);
    // Somebody who is signed in there and has allowed it before sees no page.
    if (pathname === "/login/oauth/authorize") return Response.redirect(github.signIn(request.url));
    if (pathname === "/login/oauth/access_token") return await tokenOf(request);
    const token = request.headers.get("authorization")?.replace(/^Bearer /, "") ?? "";
    const person = tokens.get(token);
    if (person === undefined) return Response.json({ message: "Bad credentials" }, { status: 401 });
    const { id, emails } = person;
    if (pathname === "/api/v3/user") return answer("user", { id, login: "ann", name: null });
    if (pathname === "/api/v3/user/emails") return answer("emails", emails);
    return Response.json({ message: "Not Found" }, { status: 404 });
  });
  const github: GitHubServer = {
    origin: `http://127.0.0.1:${server.addr.port}`,
    clientId,
    clientSecret,
    person: ann,
    changed: (_, body) => ({ body }),
    signIn(redirect) {
      const ask = new URL(redirect ?? "");
      assertEquals(ask.origin + ask.pathname, `${github.origin}/login/oauth/authorize`);
      const of = (name: string) => ask.searchParams.get(name) ?? "";
      assertEquals([of("client_id"), of("code_challenge_method")], [clientId, "S256"]);
      assertEquals([of("redirect_uri"), of("scope")], [callback, "read:user user:email"]);
      const code = crypto.randomUUID();
      codes.set(code, { challenge: of("code_challenge"), person: github.person });
      const back = new URL(callback);
      back.search = String(new URLSearchParams({ code, state: of("state") }));
      return back;
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
  return github;
}
