/** `doctor` says what is incomplete in words, tries each key once, and ends with a code. */
import { readConfig } from "../../../../../core/config/config.ts";
import { type Finding, runDoctor } from "../../../../../routes/operator/cli/commands/doctor.ts";
import { configurationFindings } from "../../../../../routes/operator/cli/commands/doctor.ts";
import { systemClock } from "../../../../../core/lib/time/clock.ts";
import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { receivingAccount } from "../../../../support/worlds/topup_world.ts";

const sandboxFile = await Deno.readTextFile(
  new URL("../../../../../gateway.json", import.meta.url),
);

/** A file with two providers of the network, one of them with two keys. */
const realFile = JSON.stringify({
  defaultModel: "m",
  providers: {
    north: { baseUrl: "https://north.example", apiKeyEnv: ["NORTH_ONE", "NORTH_TWO"] },
    east: { baseUrl: "https://east.example", apiKeyEnv: "EAST", auth: "x-api-key" },
  },
  models: [{
    id: "m",
    kind: "chat",
    family: "m",
    price: { unit: "token", vndPerMtok: 1 },
    routes: [{ provider: "north", style: "chat" }, { provider: "east", style: "messages" }],
  }],
});
const keys = { NORTH_ONE: "n-secret-1", NORTH_TWO: "n-secret-2", EAST: "e-secret" };

function configOf(environment: Record<string, string>, file = realFile) {
  const read = readConfig(environment, file);
  if (!read.ok) throw new Error(read.problems.join("\n"));
  return read.config;
}

/** A store with nothing to say. */
const world = { clock: systemClock, lookAtStore: () => Promise.resolve([]) };

const whole = {
  ...keys,
  GATEWAY_BASE_URL: "https://api.example.com",
  MAIL_URL: "smtp://u:p@mail.example:587?from=no-reply@example.com",
  GATEWAY_OPERATORS: "a@example.com,b@example.com",
  GATEWAY_BANK_ACCOUNTS: JSON.stringify([receivingAccount]),
  SEPAY_WEBHOOK_SECRET: "0123456789abcdef",
  GATEWAY_VAT_RATES: "2025-07-01=8",
  GATEWAY_BRAND_SUPPORT: "help@example.com",
};

Deno.test("each thing that customers would miss is wrong once it is left out, and says what to set", () => {
  const wrong = (findings: readonly Finding[]) =>
    findings.filter(({ state }) => state === "wrong").map(({ mend }) => mend ?? "");
  assertEquals(wrong(configurationFindings(configOf(whole))), []);
  for (
    const name of [
      "GATEWAY_BASE_URL",
      "MAIL_URL",
      "GATEWAY_OPERATORS",
      "GATEWAY_BANK_ACCOUNTS",
      "SEPAY_WEBHOOK_SECRET",
    ] as const
  ) {
    const { [name]: _, ...without } = whole;
    const [mend = "", ...others] = wrong(configurationFindings(configOf(without)));
    assertEquals(others, [], name);
    assertStringIncludes(mend, name);
  }
  // Every line that is not good says how to mend it.
  for (const { state, mend, what } of configurationFindings(configOf(keys))) {
    assert(state === "good" || mend !== undefined, what);
  }
});

Deno.test("each key is tried once, with its own header; a refused one is named and never printed", async () => {
  const asked: string[] = [];
  const fetch = (url: RequestInfo | URL, init?: RequestInit) => {
    const headers = new Headers(init?.headers);
    const key = headers.get("authorization") ?? headers.get("x-api-key") ?? "";
    asked.push(`${url} ${key}`);
    const status = key === "Bearer n-secret-2" ? 401 : 200;
    return Promise.resolve(new Response("{}", { status }));
  };
  let text = "";
  const code = await runDoctor(configOf(whole), {
    ...world,
    fetch,
    write: (part) => void (text += part),
  });
  assertEquals(asked.sort(), [
    "https://east.example/v1/models e-secret",
    "https://north.example/v1/models Bearer n-secret-1",
    "https://north.example/v1/models Bearer n-secret-2",
  ]);
  assertEquals(code, 1);
  assertStringIncludes(text, "WRONG provider north: NORTH_TWO is refused with status 401");
  assertStringIncludes(text, "1 thing is wrong.");
  for (const secret of Object.values(keys)) assert(!text.includes(secret), "a key was printed");
});

Deno.test("a provider that is away is wrong, one without a list of models leaves the key open", async () => {
  const run = async (answer: () => Promise<Response>) => {
    let text = "";
    const write = (part: string) => void (text += part);
    const code = await runDoctor(configOf(whole), { ...world, fetch: answer, write });
    return { code, text };
  };
  const away = await run(() => Promise.reject(new TypeError("no")));
  assertEquals(away.code, 1);
  assertStringIncludes(away.text, "provider east: cannot be reached");
  const other = await run(() => Promise.resolve(new Response(null, { status: 404 })));
  assertEquals(other.code, 0);
  assertStringIncludes(other.text, "answers with status 404, so nothing is known of EAST");
});

Deno.test("a sandbox has nothing wrong, and is told to be one", async () => {
  let text = "";
  const write = (part: string) => void (text += part);
  const fetch = () => Promise.reject(new Error("a sandbox calls nobody"));
  assertEquals(await runDoctor(configOf({}, sandboxFile), { ...world, fetch, write }), 0);
  assertStringIncludes(text, "no real provider is configured");
});

Deno.test("the clock is compared with those of the providers, whatever the way takes", async () => {
  const nowMs = Date.UTC(2026, 10, 20, 12, 0, 0, 700);
  const run = async (theirs: readonly number[]) => {
    let at = 0;
    let text = "";
    await runDoctor(configOf(whole), {
      ...world,
      clock: { nowMs: () => nowMs, monotonicMs: () => 0 },
      write: (part) => void (text += part),
      fetch() {
        const date = new Date(nowMs + (theirs[at++] ?? 0)).toUTCString();
        return Promise.resolve(new Response("{}", { headers: { date } }));
      },
    });
    return text.split("\n").filter((line) => line.includes("clock:"));
  };
  assertEquals(await run([0, -5_000, 9_000]), ["ok    clock: agrees with those of the providers"]);
  assertEquals(await run([60_000, 60_000, 0]), [
    "WRONG clock: is 59 s behind those of the providers",
  ]);
  assertEquals(await run([-600_000, -600_000, -600_000]), [
    "WRONG clock: is 600 s ahead of those of the providers",
  ]);
});

Deno.test("what is found of the store is written, and decides about the exit code", async () => {
  let text = "";
  const wrong: Finding = { state: "wrong", area: "backup", what: "last run 40 h ago", mend: "do" };
  const code = await runDoctor(configOf({ GATEWAY_KV: "./x.sqlite3" }, sandboxFile), {
    ...world,
    write: (part) => void (text += part),
    lookAtStore: () => Promise.resolve([wrong]),
  });
  assertEquals(code, 1);
  assertStringIncludes(text, "WRONG backup: last run 40 h ago\n      do\n");
});

Deno.test("each provider of the sign-in is asked, and its redirect address is said, whatever it answers", async () => {
  const environment = {
    ...whole,
    GOOGLE_CLIENT_ID: "g",
    GOOGLE_CLIENT_SECRET: "google-secret",
    GITHUB_CLIENT_ID: "h",
    GITHUB_CLIENT_SECRET: "github-secret",
    OIDC_ISSUER: "https://id.example",
    OIDC_CLIENT_ID: "i",
    OIDC_CLIENT_SECRET: "openid-secret",
    OIDC_LABEL: "Example ID",
  };
  const metadataOf = (issuer: string) => ({ issuer, authorization_endpoint: `${issuer}/auth` });
  const good: Record<string, () => Response> = {
    "https://accounts.google.com/.well-known/openid-configuration": () =>
      Response.json(metadataOf("https://accounts.google.com")),
    "https://github.com/login/oauth/access_token": () =>
      Response.json({ error: "bad_verification_code" }),
    "https://id.example/.well-known/openid-configuration": () =>
      Response.json(metadataOf("https://id.example")),
  };
  const run = async (answers: Record<string, () => Response>) => {
    let text = "";
    const code = await runDoctor(configOf(environment), {
      ...world,
      write: (part) => void (text += part),
      fetch: (input) => {
        const answer = answers[String(input)];
        if (answer !== undefined) return Promise.resolve(answer());
        const isProvider = String(input) in good;
        return isProvider ? Promise.reject(new TypeError("down")) : Promise.resolve(new Response());
      },
    });
    for (const secret of ["google-secret", "github-secret", "openid-secret"]) {
      assert(!text.includes(secret));
    }
    return { code, lines: text.split("\n").filter((line) => line.includes("sign-in:")) };
  };
  const fine = await run(good);
  assertEquals(fine.code, 0);
  assertEquals(fine.lines.map((line) => line.slice(6)), [
    "sign-in: Google answers; register https://api.example.com/auth/google/callback there as the redirect address",
    "sign-in: GitHub answers; register https://api.example.com/auth/github/callback there as the redirect address",
    "sign-in: Example ID answers; register https://api.example.com/auth/openid/callback there as the redirect address",
  ]);
  const wrong: readonly (() => Response)[] = [
    () => new Response("<html>"),
    () => new Response("{}", { status: 404 }),
    () => Response.json({ error: "incorrect_client_credentials" }),
    () => Response.json(metadataOf("https://other.example")),
    () => new Response(null, { status: 302, headers: { location: "/" } }),
  ];
  for (const url of Object.keys(good)) {
    for (const answer of wrong) {
      const { code, lines } = await run({ ...good, [url]: answer });
      assertEquals([code, lines.filter((line) => line.startsWith("WRONG")).length], [1, 1], url);
    }
    const { [url]: _, ...down } = good;
    assertStringIncludes((await run(down)).lines.join("\n"), "cannot be reached");
  }
});
