/** Every cell of the conversion matrix (`docs/conversion-matrix.md`), one test each, and the page itself. */
import { assert, assertEquals } from "../support/assert.ts";
import { clientStyles, features, providerStyles } from "./matrix/features.ts";
import { cellTest, matrixPage } from "./matrix/page.ts";
import { styles, targetStyles } from "./recordings.ts";

for (const { id, fate } of features) {
  for (const client of clientStyles) {
    for (const provider of providerStyles) {
      // A feature that is lost without a name, or says something else, throws.
      Deno.test(cellTest(id, client, provider), () => void fate(client, provider));
    }
  }
}

Deno.test("the conversion matrix has every style, and no two rows of one name", () => {
  assertEquals(clientStyles.toSorted(), styles.toSorted());
  const targets = new Set([...styles, ...styles.flatMap(targetStyles)]);
  assertEquals(providerStyles.toSorted(), [...targets].toSorted());
  assertEquals(new Set(features.map(({ id }) => id)).size, features.length);
});

/** Without the padding of columns and the ends of lines, which the formatter sets. */
const unpadded = (page: string) => page.replaceAll(/\s+/g, " ").replaceAll(/:?-+:?/g, "-");

Deno.test("the page of the conversion matrix is what `deno task report:matrix` writes", async () => {
  const page = await Deno.readTextFile(new URL("../../docs/conversion-matrix.md", import.meta.url));
  assert(page.includes("## Gemini clients"));
  assertEquals(unpadded(page), unpadded(matrixPage()));
});
