import { assert, assertEquals } from "../../../support/assert.ts";

Deno.test("a password with a bare # prevents the start, and is not printed", async () => {
  const root = new URL("../../../../", import.meta.url);
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-prompt", "--allow-env", "--allow-read", "main.ts"],
    cwd: root,
    env: {
      GATEWAY_KV: ":memory:",
      PORT: "0",
      MAIL_URL: "smtp://user:S3cret#Passw0rd@mail.example.com:587",
    },
    stdin: "null",
  }).output();
  const decoder = new TextDecoder();
  const said = decoder.decode(stdout) + decoder.decode(stderr);
  assertEquals(code, 1, said);
  assert(said.includes("MAIL_URL") && said.includes("percent-encode"), said);
  assert(!said.includes("listening") && !said.includes("S3cret"), said);
  assert(!said.includes("Passw0rd"), said);
});
