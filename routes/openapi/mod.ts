/**
 * `GET /openapi.json`: the customer API as an OpenAPI 3.1 document.
 *
 * - Folder `routes/openapi/`: the document, one file for each group of endpoints and of schemas.
 * - In: the schemas and tables that requests are validated by, the table of errors, the names of models.
 * - Out: one JSON document, built on the first request.
 * - Never: describes an endpoint that is not served, or leaves one out (a test compares both).
 */
import { Hono } from "hono";
import { compress } from "hono/compress";
import type { Catalog } from "../../core/catalog/catalog.ts";
import type { Gateway } from "../api/gateway.ts";
import { exampleModels } from "./example_models.ts";

/** Seconds for which a client may keep the document: it changes with a release or the catalogue. */
const documentSeconds = 300;

/**
 * Builds the route. The document's parts, among them the schemas of vendors, are loaded on the first request, so that
 * the start of a gateway does not wait for them.
 */
export function createOpenApi({ config, catalog }: {
  readonly config: Gateway["config"];
  readonly catalog: Pick<Gateway["catalog"], "current">;
}): Hono {
  let built: { readonly of: Catalog; readonly text: Promise<string> } | undefined;
  const build = async (of: Catalog) => {
    const { openApiDocument } = await import("./document.ts");
    const models = exampleModels(of);
    return JSON.stringify(openApiDocument({ server: config.baseUrl ?? "/", models }));
  };
  return new Hono().get("/openapi.json", compress(), async (c) => {
    const { current } = catalog;
    if (built?.of !== current) built = { of: current, text: build(current) };
    return c.body(await built.text, 200, {
      "content-type": "application/json",
      "access-control-allow-origin": "*",
      "cache-control": `public, max-age=${documentSeconds}`,
    });
  });
}
