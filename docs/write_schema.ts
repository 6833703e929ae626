/** Writes `docs/gateway.schema.json` from the schema that reads `gateway.json`: `deno task schema`. */
import { z } from "zod";
import { gatewayFileSchema } from "../core/catalog/schema.ts";

/** The JSON Schema as text, as it stands in the repository. */
export function gatewaySchemaText(): string {
  const schema = z.toJSONSchema(gatewayFileSchema, { io: "input" });
  return `${JSON.stringify({ title: "gateway.json", ...schema }, null, 2)}\n`;
}

if (import.meta.main) {
  await Deno.writeTextFile(new URL("gateway.schema.json", import.meta.url), gatewaySchemaText());
}
