/** The reference, rendered from the OpenAPI document: a page for each group of operations. */
import { isJsonObject, type JsonObject } from "../../../../core/lib/json/json.ts";
import type { Catalog } from "../../../../core/catalog/catalog.ts";
import { exampleModels } from "../../../openapi/example_models.ts";
import type { Locale } from "../../text/i18n.ts";
import { OperationView, type ReferenceOperation } from "./reference_operation.tsx";

/**
 * Returns what builds the document of a service, once for each catalogue: its parts are loaded with the first page that
 * shows it.
 *
 * @param catalog the one in force, whose models the examples name
 */
export function documentSource(server: string, catalog: () => Catalog) {
  let built: { readonly of: Catalog; readonly document: Promise<JsonObject> } | undefined;
  const build = async (of: Catalog): Promise<JsonObject> => {
    const { openApiDocument } = await import("../../../openapi/document.ts");
    return openApiDocument({ server, models: exampleModels(of) });
  };
  return (): Promise<JsonObject> => {
    const of = catalog();
    if (built?.of !== of) built = { of, document: build(of) };
    return built.document;
  };
}

/** Lists the operations of a group, in the order of the document. */
export function operationsOf(document: JsonObject, tag: string): ReferenceOperation[] {
  const { paths } = document;
  if (!isJsonObject(paths)) return [];
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(isJsonObject(methods) ? methods : {}).flatMap(([method, operation]) =>
      isJsonObject(operation) && Array.isArray(operation["tags"]) &&
        operation["tags"].includes(tag)
        ? [{ method, path, operation }]
        : []
    )
  );
}

/** The operations of a group. */
export function Reference({ document, tag, server, locale }: {
  document: JsonObject;
  tag: string;
  server: string;
  locale: Locale;
}) {
  const shown = new Set<string>();
  return (
    <div class="reference">
      {operationsOf(document, tag).map((operation) => (
        <OperationView
          {...operation}
          document={document}
          server={server}
          locale={locale}
          shown={shown}
        />
      ))}
    </div>
  );
}
