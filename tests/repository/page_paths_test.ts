/** Pages name only files, folders, pages and sections that are in the repository. */
import { assertEquals } from "../support/assert.ts";
import { deployFiles } from "./deploy_files.ts";
import { anchorsOf } from "./markdown_anchors.ts";
import { pagesIn, root, sourcesIn, sourceText } from "./source_files.ts";

/** A path in code marks, or at the start of a node of a diagram; one with a placeholder is none. */
const namedPath =
  /(?:`|\[")((?:core|kv|routes|sandbox|tests|bench|docs)\/[\w./-]*)(?:`|"\]|<br>)/gu;
/** A source named without its folder, which the words around it tell. */
const bareSource = /`(\w+\.tsx?)`/gu;
/** The target of a link that leads to a page of the repository. */
const link = /\]\((?!https?:|mailto:)([^)#\s]*)(?:#([\w-]+))?\)/gu;

function exists(path: string, base: URL): boolean {
  try {
    Deno.statSync(new URL(path, base));
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return false;
    }
    throw error;
  }
}

/** The paths and links of one page that lead nowhere. */
function pathProblems(page: string, text: string): readonly string[] {
  const here = new URL(page, root);
  const problems: string[] = [];
  for (const [, path = ""] of text.matchAll(namedPath)) {
    if (!exists(path, root)) problems.push(`${page}: ${path} does not exist`);
  }
  const prose = text.replaceAll(/^```.*?^```/gmsu, "");
  for (const [, path = "", anchor] of prose.matchAll(link)) {
    const target = path === "" ? here : new URL(path, here);
    if (!exists(target.href, root)) problems.push(`${page}: ${path} does not exist`);
    else if (anchor !== undefined && target.pathname.endsWith(".md")) {
      const targetText = path === "" ? text : Deno.readTextFileSync(target);
      if (!anchorsOf(targetText).has(anchor)) {
        problems.push(`${page}: ${path}#${anchor} is no section`);
      }
    }
  }
  return problems;
}

Deno.test("every path and link of a page leads to something", () => {
  const pages = ["README.md", "CONTRIBUTING.md", "SECURITY.md", ...pagesIn("docs/")];
  const problems = [...pages, ...pagesIn("sandbox/")].flatMap((page) =>
    pathProblems(page, sourceText(page))
  );
  // The changelog names files by their paths at the time of each version, but its links are of today.
  const changelog = sourceText("CHANGELOG.md").replaceAll(/`[^`]*`/gu, "");
  assertEquals([...problems, ...pathProblems("CHANGELOG.md", changelog)], []);
});

Deno.test("every source that a page names without its folder exists", () => {
  const folders = ["core", "kv", "routes", "sandbox", "tests", "bench", "docs", "deploy"];
  const sources = folders.flatMap((folder) => [...sourcesIn(folder)]).concat("main.ts");
  const names = new Set(sources.map((path) => path.slice(path.lastIndexOf("/") + 1)));
  const pages = ["README.md", "CONTRIBUTING.md", ...pagesIn("docs/"), ...pagesIn("sandbox/")];
  const unknown = pages.flatMap((page) =>
    Array.from(sourceText(page).matchAll(bareSource), ([, name = ""]) => name)
      .filter((name) => !names.has(name)).map((name) => `${page}: ${name}`)
  );
  assertEquals(unknown, []);
});

Deno.test("every page that a file of deploy/ names is in the repository", () => {
  const named = deployFiles().flatMap((file) =>
    Array.from(sourceText(file).matchAll(/\b(docs\/[\w./-]+\.md|README\.md)/gu), ([page]) => page)
  );
  assertEquals(named.length > 5, true);
  assertEquals(named.filter((page) => !exists(page, root)), []);
});

Deno.test("the index of the operators' guides names each of them", () => {
  const index = sourceText("docs/operations/README.md");
  const pages = pagesIn("docs/operations/").map((page) => page.slice("docs/operations/".length));
  const missing = pages.filter((page) => page !== "README.md" && !index.includes(`](${page})`));
  assertEquals(missing, []);
});

Deno.test("a path, a page and a section that are missing are found", () => {
  const count = (text: string) => pathProblems("docs/api.md", text).length;
  assertEquals(
    count("See `core/lib/errors/errors.ts`, `kv/money/wallet/` and `core/…/errors.ts`."),
    0,
  );
  assertEquals(count("See `core/no_such_file.ts` and `kv/no_such_folder/`."), 2);
  assertEquals(count('a["core/lib/errors/errors.ts<br>table"] --> b["kv/no_such_folder/"]'), 1);
  assertEquals(count("[a](conversion.md), [b](https://example.com/no.md), [c](../README.md)"), 0);
  assertEquals(count("[a](no_such_page.md), [b](conversion.md#no-such-section)"), 2);
  assertEquals(count("# Part one\n\n[here](#part-one), [there](#part-two)"), 1);
});
