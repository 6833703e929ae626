/** The complete `gateway.json` files of the documentation can be read. */
import { readGatewayFile } from "../../core/catalog/read_file.ts";
import { assert, assertEquals } from "../support/assert.ts";

const pages = [["operations.md", 4], ["providers.md", 1]] as const;

for (const [name, least] of pages) {
  Deno.test(`every complete file in docs/${name} is valid`, async () => {
    const page = await Deno.readTextFile(new URL(`../../docs/${name}`, import.meta.url));
    const files = [...page.matchAll(/^```json\n([\s\S]*?)^```/gm)].map(([, text = ""]) => text)
      .filter((text) => text.includes('"defaultModel"'));
    assert(files.length >= least);
    for (const text of files) assertEquals(readGatewayFile(text).problems, []);
  });
}
