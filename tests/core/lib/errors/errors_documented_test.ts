/** The table of errors in docs/api.md has the codes, statuses and types of the table in the code, and no others. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { errorTable } from "../../../../core/lib/errors/errors.ts";

/** `status type code` of each code of the document's table. */
function documentedErrors(markdown: string): string[] {
  const [, section = ""] = markdown.split("\n## Errors\n");
  return section.split("\n").flatMap((line) => {
    const [, status = "", type = "", codes = ""] = line.split("|").map((cell) => cell.trim());
    if (!/^\d{3}$/.test(status)) return [];
    return codes.split(", ").map((code) => `${status} ${type} ${code}`.replaceAll("`", ""));
  });
}

Deno.test("docs/api.md has every error code, with its status and type", async () => {
  const markdown = await Deno.readTextFile(new URL("../../../../docs/api.md", import.meta.url));
  const documented = documentedErrors(markdown);
  assert(documented.length > 0);
  const known = Object.entries(errorTable)
    .map(([code, { status, type }]) => `${status} ${type} ${code}`);
  assertEquals(documented.toSorted(), known.toSorted());
});
