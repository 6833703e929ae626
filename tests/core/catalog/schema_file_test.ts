import { assertEquals } from "../../support/assert.ts";
import { gatewaySchemaText } from "../../../docs/write_schema.ts";

Deno.test("docs/gateway.schema.json is what `deno task schema` writes", async () => {
  const stored = await Deno.readTextFile(
    new URL("../../../docs/gateway.schema.json", import.meta.url),
  );
  assertEquals(stored, gatewaySchemaText());
});
