/** The official Gemini library for Python against the gateway: its own style natively, and models of the others. */
import { assertEquals } from "../support/assert.ts";
import { startConvertingGateway } from "../support/gateways/converting_gateway.ts";
import { installPython } from "../support/installed_once.ts";

const pins = await Deno.readTextFile(new URL("./python/requirements.txt", import.meta.url));
const python = await installPython("gemini-python", pins);
if ("missing" in python) {
  Deno.test(`skipped: no Python, since ${python.missing}`, { ignore: true }, () => {});
}

const script = new URL("./python/gemini_client.py", import.meta.url).pathname;
const models = ["gemini", "messages", "chat", "responses", "converse"].map((style) =>
  `only-${style}`
);
const steps = [
  "text",
  "automatic_functions",
  "declared_functions",
  "media",
  "schema",
  "thoughts",
  "stops",
  "counts",
  "asynchronous",
];

Deno.test({
  name: "the Gemini library for Python on models of every style",
  ignore: "missing" in python,
  // The sanitizers would report the process of the foreign program.
  sanitizeOps: false,
  sanitizeResources: false,
}, async () => {
  if ("missing" in python) return;
  await using gateway = await startConvertingGateway();
  const { code, stdout, stderr } = await new Deno.Command(`${python.folder}/bin/python`, {
    args: [script, ...models],
    env: {
      ADDRESS: gateway.address,
      GOOGLE_GEMINI_BASE_URL: gateway.address,
      GEMINI_API_KEY: gateway.key,
    },
    stdout: "piped",
    stderr: "piped",
  }).output();
  const decoder = new TextDecoder();
  assertEquals(code, 0, decoder.decode(stderr).slice(-3_000));
  const passed = decoder.decode(stdout).trim().split("\n");
  const wanted = models.flatMap((model) => steps.map((step) => `ok ${model} ${step}`));
  assertEquals(passed, [...wanted, "ok models", "ok rate"]);
  const verified = await gateway.admin("verify");
  assertEquals(verified.code, 0, verified.output);
});
