import { assertEquals } from "../../support/assert.ts";
import { cloudPath } from "../../../core/clouds/request_form.ts";
import type { RouteStyle } from "../../../core/catalog/entries/model.ts";

const azure = { name: "azure", apiVersion: "2024-10-21" } as const;
const deployment = "/openai/deployments/my%20model";

/** Style, subpath and path of a deployment at Azure. */
const azurePaths: readonly (readonly [RouteStyle, string, string | undefined])[] = [
  ["chat", "", `${deployment}/chat/completions?api-version=2024-10-21`],
  ["images", "/edits", `${deployment}/images/edits?api-version=2024-10-21`],
  ["speech", "", `${deployment}/audio/speech?api-version=2024-10-21`],
  [
    "transcriptions",
    "/translations",
    `${deployment}/audio/translations?api-version=2024-10-21`,
  ],
  ["embeddings", "", `${deployment}/embeddings?api-version=2024-10-21`],
  ["responses", "", "/openai/responses?api-version=2024-10-21"],
  ["videos", "", undefined],
];

for (const [style, subpath, path] of azurePaths) {
  Deno.test(`a deployment at Azure: ${style}`, () => {
    assertEquals(cloudPath(azure, { style, model: "my model", stream: false, subpath }), path);
  });
}

Deno.test("Gemini models at Vertex AI, streamed", () => {
  const vertex = { name: "vertex", project: "p", location: "us-east5" } as const;
  assertEquals(
    cloudPath(vertex, { style: "gemini", model: "gemini-x", stream: true, subpath: "" }),
    "/v1/projects/p/locations/us-east5/publishers/google/models/gemini-x:streamGenerateContent?alt=sse",
  );
});
