/** A wrong environment does not start, and what it says never holds what was set. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { type Config, readConfig } from "../../../../core/config/config.ts";
import { newMasterKey } from "../../../../core/people/api_keys/seal.ts";

const fileText = await Deno.readTextFile(new URL("../../../../gateway.json", import.meta.url));

/** Part of every wrong value of this file: no problem may quote it. */
const mark = "S3cret";

function problemsOf(environment: Record<string, string>): readonly string[] {
  const read = readConfig(environment, fileText);
  return read.ok ? [] : read.problems;
}

function configOf(environment: Record<string, string>): Config {
  const read = readConfig(environment, fileText);
  assert(read.ok, JSON.stringify(problemsOf(environment)));
  return read.config;
}

function assertRefused(name: string, environment: Record<string, string>): string {
  const [problem, ...more] = problemsOf(environment);
  const wrong = JSON.stringify(environment);
  assert(problem !== undefined, `accepted: ${wrong}`);
  assertEquals(more, [], wrong);
  assert(problem.includes(name), `${problem} does not name ${name}`);
  assert(!problem.includes(mark), problem);
  return problem;
}

Deno.test("MAIL_URL is validated completely at start", () => {
  const wrong = [
    "smtp://",
    "smtps://?from=a@b.vn",
    "https://",
    "smtp://:S3cret@mail.example.com",
    "smtp://user:S3cret#Passw0rd@mail.example.com:587",
    "smtp://user:25#S3cret@mail.example.com:587",
    "smtp://user:25/S3cret@mail.example.com:587",
    "smtp://user:25?S3cret@mail.example.com:587",
    "smtp://user:S3cret@mail.example.com:99999",
    "smtp://user:S3cret@mail.example.com:0",
    "smtp://user:S3cret@mail_%zz.example.com",
    "smtp://user:S3cret%zz@mail.example.com:587",
    "smtp://S3cret%zz:p@mail.example.com:587",
    "smtp://user:S3\ncret@mail.example.com:587",
    "smtp://user:S3cret@mail.example.com:587?from=S3cret",
    "smtp://user:S3cret@mail.example.com:587?from=a%0ab@c.vn",
    "https://:S3cret%zz@api.example.com/emails",
    "https://:S3cret%0a@api.example.com/emails",
    "https://:S3cret#@api.example.com/emails",
    "ftp://user:S3cret@mail.example.com",
  ];
  for (const text of wrong) assertRefused("MAIL_URL", { MAIL_URL: text });
  const hint = assertRefused("MAIL_URL", { MAIL_URL: "smtp://u:S3cret#x@mail.example.com:587" });
  assert(hint.includes("percent-encode"), hint);
});

Deno.test("MAIL_URL: encoded characters are decoded", () => {
  const { mail } = configOf({
    MAIL_URL:
      "smtp://ann%40example.com:S3cret%23%2F%3F%40%25@mail.example.com?from=Gw%20<a@b.vn>\n",
  });
  assertEquals(mail, {
    kind: "smtp",
    host: "mail.example.com",
    port: 587,
    isSecure: false,
    login: { user: "ann@example.com", password: "S3cret#/?@%" },
    from: "Gw <a@b.vn>",
  });
  const bare = configOf({ MAIL_URL: "smtps://[::1]" }).mail;
  assert(bare.kind === "smtp");
  assertEquals([bare.host, bare.port, bare.isSecure, bare.login], ["::1", 465, true, undefined]);
  assertEquals(configOf({ MAIL_URL: "https://:k%2B1@api.example.com/e?team=2&from=a@b.vn" }).mail, {
    kind: "https",
    url: "https://api.example.com/e?team=2",
    key: "k+1",
    from: "a@b.vn",
  });
  assertEquals(configOf({}).mail, { kind: "log" });
});

Deno.test("GATEWAY_KV and the token of a remote store are read before the store is opened", () => {
  const remote = { GATEWAY_MASTER_KEYS: newMasterKey(), DENO_KV_ACCESS_TOKEN: "token" };
  for (
    const text of [
      "https://S3cret:x@kv.example.com",
      "https://:S3cret@kv.example.com",
      "https://user:S3cret#x@kv.example.com",
      "https://[S3cret",
      "htps://kv.example.com/S3cret",
      "./S3cret\n",
    ]
  ) assertRefused("GATEWAY_KV", { ...remote, GATEWAY_KV: text });
  const GATEWAY_KV = "https://kv.example.com";
  assertEquals(configOf({ ...remote, GATEWAY_KV }).store, { kind: "remote", url: GATEWAY_KV });
  for (const token of ["", "S3cret\n", "S3cret x", "S3crét"]) {
    assertRefused("DENO_KV_ACCESS_TOKEN", { ...remote, GATEWAY_KV, DENO_KV_ACCESS_TOKEN: token });
  }
  assertEquals(problemsOf({ GATEWAY_KV }).length, 2);
});

Deno.test("secrets are visible ASCII; the one line end of a mounted file is removed", () => {
  const openId = { OIDC_ISSUER: "https://id.example.com", OIDC_CLIENT_ID: "gw" };
  const names = [
    "GATEWAY_OPERATOR_KEY",
    "SEPAY_WEBHOOK_SECRET",
    "SEPAY_WEBHOOK_API_KEY",
    "SEPAY_API_TOKEN",
    "CASSO_WEBHOOK_KEY",
    "OIDC_CLIENT_SECRET",
  ];
  const rest = "-0123456789-0123456789-0123456789";
  for (const name of names) {
    const others: Record<string, string> = name.startsWith("OIDC") ? openId : {};
    for (
      const wrong of [
        `${mark}${rest}\n\n`,
        `${mark} ${rest}`,
        `${mark}\r\n${rest}`,
        `${mark}é${rest}`,
      ]
    ) {
      assertRefused(name, { ...others, [name]: wrong });
    }
    assertEquals(problemsOf({ ...others, [name]: `${mark}${rest}\n` }), [], name);
  }
  const config = configOf({
    ...openId,
    GATEWAY_OPERATOR_KEY: `${mark}${rest}\n`,
    OIDC_CLIENT_SECRET: `${mark}${rest}\r\n`,
    CASSO_WEBHOOK_KEY: `${mark}${rest}\n`,
  });
  assertEquals(config.operatorKey, mark + rest);
  assertEquals(config.signInProviders[0]?.clientSecret, mark + rest);
  assertEquals(config.topup.cassoWebhookKey, mark + rest);
  assertRefused("GATEWAY_OPERATOR_KEY", { GATEWAY_OPERATOR_KEY: `${mark}\n` });
});

Deno.test("each provider of the sign-in is read from its variables, all of them or none", () => {
  const whole: Record<string, string> = {
    GOOGLE_CLIENT_ID: "g",
    GOOGLE_CLIENT_SECRET: "g-secret",
    GITHUB_CLIENT_ID: "h",
    GITHUB_CLIENT_SECRET: "h-secret",
    OIDC_ISSUER: "https://id.example.com",
    OIDC_CLIENT_ID: "o",
    OIDC_CLIENT_SECRET: "o-secret",
  };
  const idsOf = (environment: Record<string, string>) =>
    configOf(environment).signInProviders.map(({ id }) => id);
  assertEquals(idsOf({}), []);
  assertEquals(idsOf(whole), ["google", "github", "openid"]);
  for (const name of Object.keys(whole)) {
    const { [name]: _, ...half } = whole;
    assertRefused(name, half);
    const [prefix = ""] = name.split("_");
    const alone = Object.entries(whole).filter(([other]) => other.startsWith(prefix));
    assertEquals(idsOf(Object.fromEntries(alone)).length, 1);
  }
  const github = { GITHUB_CLIENT_ID: "h", GITHUB_CLIENT_SECRET: "s" };
  const enterprise = { ...github, GITHUB_URL: "https://github.corp.example/path" };
  const [own] = configOf(enterprise).signInProviders;
  assertEquals(own?.issuer, "https://github.corp.example");
  assertRefused("GITHUB_URL", { ...github, GITHUB_URL: "ftp://github.corp.example" });
});

Deno.test("a proxy that the runtime would silently skip is refused", () => {
  for (const name of ["HTTPS_PROXY", "http_proxy", "ALL_PROXY"]) {
    for (
      const text of [
        "http://user:S3cret#x@proxy:3128",
        "http://user:S3cret@proxy:99999",
        "http://S3cret@proxy:3128",
        "http://us er:S3cret@proxy:3128",
        "socks9://user:S3cret@proxy:3128",
        "http://user:S3cret@proxy:3128\n",
        "http://",
      ]
    ) assertRefused(name, { [name]: text });
    for (
      const text of ["", "proxy:3128", "user:S3cret@proxy:3128", "socks5h://u:%23@[::1]:1080/"]
    ) {
      assertEquals(problemsOf({ [name]: text }), [], text);
    }
  }
});
