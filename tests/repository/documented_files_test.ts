/** The complete `gateway.json` files of the documentation can be read. */
import { readGatewayFile } from "../../core/catalog/read_file.ts";
import { assert, assertEquals } from "../support/assert.ts";

/** Pages with complete files, and how many each has at least. */
const pages = [
  ["README.md", 1],
  ["docs/operations/real-provider.md", 1],
  ["docs/operations/clouds.md", 3],
  ["docs/providers.md", 1],
] as const;

for (const [name, least] of pages) {
  Deno.test(`every complete file in ${name} is valid`, async () => {
    const page = await Deno.readTextFile(new URL(`../../${name}`, import.meta.url));
    const files = [...page.matchAll(/^```json\n([\s\S]*?)^```/gm)].map(([, text = ""]) => text)
      .filter((text) => text.includes('"defaultModel"'));
    assert(files.length >= least);
    for (const text of files) assertEquals(readGatewayFile(text).problems, []);
  });
}
