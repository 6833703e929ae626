/** The OpenAPI document: sound for a linter and a generator of types, complete, and its examples run. */
import { createConfig, lintFromString } from "@redocly/openapi-core";
import openapiTS, { astToString } from "openapi-typescript";
import { createOpenApi } from "../../../routes/openapi/documents.ts";
import { customerOperations } from "../../../routes/openapi/document.ts";
import { exampleModels } from "../../../routes/openapi/example_models.ts";
import { answerHeaders } from "../../../routes/http/own_headers.ts";
import { createApp } from "../../../routes/server/listen/app.ts";
import { receiptJson } from "../../../routes/usage_api/receipt_json.ts";
import { openCustomerApp } from "../../../routes/server/assembly/customer_app.ts";
import { gatewayFileOfAllKinds } from "../../openapi/sandbox_models.ts";
import { assert, assertEquals } from "../../support/assert.ts";
import { newAccount, receiptOf } from "../../support/worlds/money_world.ts";
import { openTestGateway, testConfig } from "../../support/gateways/gateway_in_process.ts";
import { bearerPost } from "../../support/api_post.ts";

const allKinds = JSON.parse(await gatewayFileOfAllKinds());

async function documentText(): Promise<string> {
  const config = testConfig({ file: () => allKinds });
  const app = createOpenApi({ config, catalog: { current: config.catalog } });
  const response = await app.request("/openapi.json");
  assertEquals(response.headers.get("content-type"), "application/json");
  return await response.text();
}

Deno.test("the document is compressed once, whoever asks for it how often", async () => {
  const config = testConfig({ file: () => allKinds });
  const app = createOpenApi({ config, catalog: { current: config.catalog } });
  const { CompressionStream } = globalThis;
  let compressions = 0;
  globalThis.CompressionStream = class extends CompressionStream {
    constructor(format: CompressionFormat) {
      super(format);
      compressions++;
    }
  };
  try {
    for (let i = 0; i < 3; i++) {
      const headers = { "accept-encoding": "gzip, br" };
      const response = await app.request("/openapi.json", { headers });
      assertEquals(response.headers.get("content-encoding"), "gzip");
      assertEquals(response.headers.get("x-content-type-options"), "nosniff");
      const plain = response.body!.pipeThrough(new DecompressionStream("gzip"));
      assertEquals(await new Response(plain).text(), await documentText());
    }
  } finally {
    globalThis.CompressionStream = CompressionStream;
  }
  assertEquals(compressions, 0);
});

/** Rules that do not fit, with the reason. */
const otherRules = {
  "operation-4xx-response": "off", // The public status refuses nobody.
  "no-server-example.com": "off",
} as const;

Deno.test("a linter finds nothing in the document", async () => {
  const config = await createConfig({ extends: ["recommended"], rules: otherRules });
  const problems = await lintFromString({ source: await documentText(), config });
  assertEquals(problems.map(({ ruleId, message }) => `${ruleId}: ${message}`), []);
});

const typedRequests = `
import type { components, paths } from "./openapi.ts";
type Body<Path extends "/v1/chat/completions" | "/v1/messages"> =
  paths[Path]["post"]["requestBody"]["content"]["application/json"];
export const chat: Body<"/v1/chat/completions"> = {
  model: "premium", messages: [{ role: "user", content: "Hello" }], top_k: 1,
};
export const message: Body<"/v1/messages"> = {
  model: "premium", max_tokens: 8, messages: [{ role: "user", content: [{ type: "text", text: "Hi" }] }],
};
// @ts-expect-error A request without messages.
export const empty: Body<"/v1/chat/completions"> = { model: "premium" };
export const cost = (receipt: components["schemas"]["Receipt"]): string => receipt.cost_vnd;
`;

Deno.test("openapi-typescript makes types that requests compile with", async () => {
  const folder = await Deno.makeTempDir({ prefix: "gateway-openapi-types-" });
  try {
    await Deno.writeTextFile(
      `${folder}/openapi.ts`,
      astToString(await openapiTS(await documentText())),
    );
    await Deno.writeTextFile(`${folder}/use.ts`, typedRequests);
    const { success, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["check", "--no-config", `${folder}/use.ts`],
      env: { NO_COLOR: "1" },
    }).output();
    assert(success, new TextDecoder().decode(stderr));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("the document has every own header of answers", async () => {
  const { components } = JSON.parse(await documentText());
  // The linter finds those that no answer refers to.
  const own = Object.values(answerHeaders);
  assertEquals(own.filter((name) => components.headers[name] === undefined), []);
});

Deno.test("the document has every member of a receipt, and no other", async () => {
  const { components } = JSON.parse(await documentText());
  const receipt = receiptJson({
    receipt: receiptOf(newAccount()),
    refund: undefined,
    keyName: "server",
  });
  assertEquals(Object.keys(components.schemas.Receipt.properties), Object.keys(receipt));
});

/** A path of Hono as the document writes it; a `*` at its end is an id. */
function writtenPath(path: string): string {
  return path.replaceAll(/:(\w+)(?:\{[^}]*\})?/g, "{$1}").replace(/\/\*$/, "/{id}");
}

/** Paths with one handler for several operations, or a second address of one. */
const otherwiseDescribed: Readonly<Record<string, readonly string[]>> = {
  "post /v1beta/models/{id}": [
    "generateContent",
    "streamGenerateContent",
    "countTokens",
    "embedContent",
    "batchEmbedContents",
  ].map((operation) => `post /v1beta/models/{model}:${operation}`),
  "get /v1/responses/{id}": ["get /v1/responses/{id}", "get /v1/responses/{id}/input_items"],
  "post /v1/models/{id}": [],
  "get /v1beta/models/{id}": ["get /v1beta/models/{model}"],
};

Deno.test("the document has every endpoint that is served, and no other", async () => {
  await using gateway = await openTestGateway();
  const { assembled: { gateway: parts }, masterKeys } = gateway;
  const customerApp = openCustomerApp(parts, {
    masterKeys,
    baseUrl: "http://localhost",
    write: () => {},
  });
  const app = createApp(parts, { stopping: () => false, customerApp });
  const served = app.routes.filter(({ method, path }) =>
    /^\/(?:v1(?:beta)?|\.well-known)\//.test(path) &&
    /^(?:GET|POST|DELETE)$/.test(method)
  ).flatMap(({ method, path }) => {
    const written = `${method.toLowerCase()} ${writtenPath(path)}`;
    return otherwiseDescribed[written] ?? [written];
  });
  // The management API serves the operations of its own table; `oauth_api_test.ts` has those of applications.
  const described = customerOperations(exampleModels(parts.config.catalog))
    .filter(({ managementKey, tag }) => managementKey !== "only" && tag !== "Applications")
    .map(({ method, path }) => `${method} ${path}`);
  assertEquals([...new Set(described)].sort(), [...new Set(served)].sort());
});

Deno.test("each path refuses other methods by naming its own", async () => {
  await using gateway = await openTestGateway();
  const operations = customerOperations(exampleModels(gateway.assembled.gateway.config.catalog))
    .filter(({ tag }) => tag !== "Applications");
  const wrong: string[] = [];
  for (const path of new Set(operations.map(({ path }) => path.replace(/\{\w+\}/, "x")))) {
    // The pages and the usage API are apart from the API in this gateway.
    if (
      /^\/(?:v1\/(?:usage|receipts|generation|statements|activity|proofs|calls|balance|organisation)|\.well-known)/
        .test(path)
    ) {
      continue;
    }
    const request = new Request(`http://localhost${path}`, { method: "PATCH" });
    const response = await gateway.fetch(request);
    await response.body?.cancel();
    if (response.status !== 405 || !response.headers.has("allow")) {
      wrong.push(`${path} ${response.status}`);
    }
  }
  assertEquals(wrong, []);
});

/** Operations whose example needs a file, or another server. */
const notRun = new Set(["createTranscription", "createTranslation", "editImage"]);

Deno.test("each example of a request is answered", async () => {
  await using gateway = await openTestGateway({ file: () => allKinds });
  const { key } = await gateway.customer(1_000_000);
  const models = exampleModels(gateway.assembled.gateway.config.catalog);
  const answers: string[] = [];
  for (const { id, path, body, tag, parameters = [] } of customerOperations(models)) {
    if (body === undefined || notRun.has(id) || tag === "Applications") continue;
    if (path.startsWith("/v1/organisation")) continue;
    const model = parameters.find(({ name }) => name === "model")?.example ?? "";
    const response = await gateway.fetch(
      bearerPost(`http://localhost${path.replace("{model}", model)}`, key, body.example),
    );
    await response.body?.cancel();
    answers.push(`${id} ${response.status}`);
  }
  assert(answers.length > 10);
  assertEquals(answers.filter((answer) => !answer.endsWith(" 200")), []);
});
