/** Comments cite only documents, and sections of them, that are in the repository. */
import { assertEquals } from "../support/assert.ts";
import { anchorsOf } from "./markdown_anchors.ts";
import { root, sourcesIn, sourceText } from "./source_files.ts";

/** Names of documents that were never part of the repository. */
const foreignDocument =
  /\b(?:wire notes|notes on wire formats|design section|spec section)\b|\bdesign: /giu;
/** A Markdown file that is not part of an address, with the anchor if there is one. */
const citation = /(?<![\w./:-])([\w./-]+\.md)(?:#([\w-]+))?/gu;

/** The text of a page; a path counts from the root of the repository, or from the folder of the citing file. */
function pageText(path: string, citedBy: string): string | undefined {
  for (const base of [root, new URL(citedBy, root)]) {
    try {
      return Deno.readTextFileSync(new URL(path, base));
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
  return undefined;
}

/** What is wrong with the citations of one source file, strings included. */
function citationProblems(file: string, source: string): readonly string[] {
  // A phrase may be split over two lines of a comment.
  const text = source.replaceAll(/\n\s*(?:\*(?!\/)|\/\/)?\s*/gu, " ");
  const problems = Array.from(
    text.matchAll(foreignDocument),
    ([phrase]) => `${file}: "${phrase}" names a document outside the repository`,
  );
  for (const [whole, path = "", anchor] of text.matchAll(citation)) {
    const page = pageText(path, file);
    if (page === undefined) problems.push(`${file}: ${path} does not exist`);
    else if (anchor !== undefined && !anchorsOf(page).has(anchor)) {
      problems.push(`${file}: ${whole} has no such section`);
    }
  }
  return problems;
}

Deno.test("every document that the code cites is in the repository", () => {
  const files = [
    "main.ts",
    ...["core", "kv", "routes", "sandbox"].flatMap((f) => [...sourcesIn(f)]),
  ];
  const problems = files.flatMap((file) => citationProblems(file, sourceText(file)));
  assertEquals(problems, []);
});

Deno.test("a citation is found wrong by phrase, by page and by section", () => {
  const problems = (source: string) => citationProblems("core/lib/ids/ids.ts", source).length;
  assertEquals(problems("/** Reads an answer (wire notes, table C). */"), 1);
  assertEquals(problems("/**\n * Reads an answer (Spec\n * section 4).\n */"), 1);
  assertEquals(problems("// Free of charge (design\n// section 8, design: x)."), 2);
  assertEquals(problems("// See docs/missing.md."), 1);
  assertEquals(problems("// See docs/api.md#no-such-section."), 1);
  assertEquals(problems("/** See docs/api.md#errors and docs/internals/WIRE_FORMATS.md. */"), 0);
  assertEquals(problems("// See https://example.com/guide.md#part and RFC 9110 section 5.5."), 0);
});

Deno.test("anchors follow GitHub's rules", () => {
  const page = "# A: b `c`\n\n## Twin\n\n```sh\n# no heading\n```\n\n## Twin\n";
  assertEquals([...anchorsOf(page)], ["a-b-c", "twin", "twin-1"]);
});
