/**
 * `GET /openapi.json`: the customer API as an OpenAPI 3.1 document.
 *
 * - Folder `routes/openapi/`: the document, one file for each group of endpoints and of schemas, and the operations that
 *   read as tools of MCP.
 * - In: the schemas and tables that requests are validated by, the table of errors, the names of models.
 * - Out: one JSON document, built and compressed on the first request; tools for agents.
 * - Never: describes an endpoint that is not served, or leaves one out (a test compares both).
 */
import { Hono } from "hono";
import type { Catalog } from "../../core/catalog/catalog.ts";
import type { Gateway } from "../api/gateway/gateway.ts";
import { exampleModels } from "./example_models.ts";
import { acceptsGzip } from "../http/accepts_gzip.ts";

/** Seconds for which a client may keep the document: it changes with a release or the catalogue. */
const documentSeconds = 300;

/** The document as it is sent: to compress it for each client would cost more than a call. */
interface Forms {
  readonly plain: Uint8Array<ArrayBuffer>;
  readonly gzipped: Uint8Array<ArrayBuffer>;
}

/**
 * Builds the route. The document's parts, among them the schemas of vendors, are loaded on the first request, so that
 * the start of a gateway does not wait for them.
 */
export function createOpenApi({ config, catalog }: {
  readonly config: Gateway["config"];
  readonly catalog: Pick<Gateway["catalog"], "current">;
}): Hono {
  let built: { readonly of: Catalog; readonly forms: Promise<Forms> } | undefined;
  const build = async (of: Catalog) => {
    const [{ openApiDocument }, { gzipSync }] = await Promise.all([
      import("./document.ts"),
      import("node:zlib"),
    ]);
    const models = exampleModels(of);
    const document = openApiDocument({
      server: config.baseUrl ?? "/",
      models,
      brand: config.brand.name,
    });
    const plain = new TextEncoder().encode(JSON.stringify(document));
    return { plain, gzipped: new Uint8Array(gzipSync(plain)) };
  };
  return new Hono().get("/openapi.json", async (c) => {
    const { current } = catalog;
    if (built?.of !== current) built = { of: current, forms: build(current) };
    const { plain, gzipped } = await built.forms;
    const isZipped = acceptsGzip(c.req.header("accept-encoding"));
    return c.body(isZipped ? gzipped : plain, 200, {
      "content-type": "application/json",
      "x-content-type-options": "nosniff",
      vary: "accept-encoding",
      ...(isZipped && { "content-encoding": "gzip" }),
      "access-control-allow-origin": "*",
      "cache-control": `public, max-age=${documentSeconds}`,
    });
  });
}
