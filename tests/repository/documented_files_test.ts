/** The complete `gateway.json` files of the documentation can be read. */
import { readGatewayFile } from "../../core/catalog/read_file.ts";
import { assert, assertEquals } from "../support/assert.ts";

Deno.test("every complete file in docs/operations.md is valid", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/operations.md", import.meta.url));
  const files = [...page.matchAll(/^```json\n([\s\S]*?)^```/gm)].map(([, text = ""]) => text)
    .filter((text) => text.includes('"defaultModel"'));
  assert(files.length >= 4);
  for (const text of files) assertEquals(readGatewayFile(text).problems, []);
});
