/** The assertion of a service account, beside that of the vendor's own library for the same key. */
import { JWT } from "google-auth-library";
import { exportPKCS8, generateKeyPair, jwtVerify } from "jose";
import { assert, assertEquals } from "../../support/assert.ts";
import { googleAuthorizer } from "../../../core/clouds/credentials/google.ts";
import { systemClock } from "../../../core/lib/time/clock.ts";
import { Deadlines } from "../../../core/lib/time/deadlines.ts";
import { createFetchTransport } from "../../../core/net/fetch/fetch_transport.ts";

const scope = "https://www.googleapis.com/auth/cloud-platform";
const email = "robot@project-1.example";

/** Answers as the issuer does, and keeps what was asked. */
function newIssuer() {
  const asked: { readonly url: string; readonly form: URLSearchParams }[] = [];
  const answer = async (url: string, init: RequestInit) => {
    asked.push({ url, form: new URLSearchParams(await new Response(init.body).text()) });
    const token = { access_token: "token-1", token_type: "Bearer", expires_in: 3599 };
    // A stream of bytes, as those of sockets are.
    return new Response(new Blob([JSON.stringify(token)]).stream(), {
      headers: { "content-type": "application/json" },
    });
  };
  return { asked, answer };
}

Deno.test("a service account asks for its token as the vendor's library does", async () => {
  const { privateKey, publicKey } = await generateKeyPair("RS256", { extractable: true });
  const key = await exportPKCS8(privateKey);
  const library = newIssuer();
  const vendor = new JWT({
    email,
    key,
    scopes: [scope],
    transporterOptions: {
      fetchImplementation: (url, init) => library.answer(String(url), init ?? {}),
    },
  });
  assertEquals((await vendor.getAccessToken()).token, "token-1");

  const own = newIssuer();
  const deadlines = new Deadlines({ clock: systemClock });
  const authorizer = googleAuthorizer(
    { kind: "google", scope },
    JSON.stringify({ client_email: email, private_key: key }),
    {
      transport: createFetchTransport({ fetch: own.answer, fetchOnce: own.answer, deadlines }),
      clock: systemClock,
      deadlines,
      onRenewal: () => {},
    },
  );
  const request = { method: "POST", url: "https://example.com/", headers: [], body: null } as const;
  const { headers } = await authorizer.authorize(request);
  assertEquals(headers, [["authorization", "Bearer token-1"]]);
  deadlines.close();

  const read = async ({ asked: [only, ...others] }: ReturnType<typeof newIssuer>) => {
    assert(only !== undefined && others.length === 0, "one request for a token");
    const { assertion, ...form } = Object.fromEntries(only.form);
    const { payload: { iat = 0, exp = 0, ...claims } } = await jwtVerify(
      assertion ?? "",
      publicKey,
      { algorithms: ["RS256"] },
    );
    return { url: only.url, form, claims, lifeSeconds: exp - iat };
  };
  assertEquals(await read(own), await read(library));
});
