/**
 * Every folder of the gateway says once what it is for: one of its files begins with a module doc that holds the
 * lines `Folder`, `In`, `Out` and `Never` (docs/internals/ARCHITECTURE.md, Layout).
 */
import { assertEquals } from "../support/assert.ts";

const root = new URL("../../", import.meta.url);
const layers = ["core", "kv", "routes", "sandbox"];
const leastTextCharacters = 5;

/** The source files of each folder below `folder` that has any, by the folder's path from the root. */
function sourceFolders(folder: string, found = new Map<string, string[]>()): Map<string, string[]> {
  const files: string[] = [];
  for (const entry of Deno.readDirSync(new URL(`${folder}/`, root))) {
    if (entry.isDirectory) sourceFolders(`${folder}/${entry.name}`, found);
    else if (/\.tsx?$/.test(entry.name)) files.push(`${folder}/${entry.name}`);
  }
  if (files.length > 0) found.set(folder, files.sort());
  return found;
}

/** The lines of the doc comment that a text begins with, without their asterisks; a bullet is one line. */
function moduleDocLines(text: string): string[] {
  const doc = /^\/\*\*([\s\S]*?)\*\//.exec(text)?.[1] ?? "";
  return doc.replaceAll(/^ *\* ?/gm, "").replaceAll(/\n {2}(?=\S)/g, " ").split("\n");
}

/** What keeps a text from being the description of a folder; `undefined` if it does not claim to be one. */
function descriptionProblems(folder: string, text: string): string[] | undefined {
  const lines = moduleDocLines(text);
  if (!lines.some((line) => line.startsWith("- Folder "))) return undefined;
  const labels = [`- Folder \`${folder}/\`: `, "- In: ", "- Out: ", "- Never: "];
  return labels.filter((label) => {
    const matching = lines.filter((line) => line.startsWith(label));
    return matching.length !== 1 ||
      matching.some((line) => line.length < label.length + leastTextCharacters);
  });
}

function problemsOf(folder: string, texts: readonly string[]): string[] {
  const described = texts.map((text) => descriptionProblems(folder, text))
    .filter((problems) => problems !== undefined);
  if (described.length !== 1) return [`${folder}: ${described.length} files describe it, not one`];
  return described.flat().map((label) => `${folder}: no single line "${label}…"`);
}

for (const layer of layers) {
  Deno.test(`one file of each folder of ${layer} says what the folder is for`, () => {
    const problems = [...sourceFolders(layer)].flatMap(([folder, files]) =>
      problemsOf(folder, files.map((file) => Deno.readTextFileSync(new URL(file, root))))
    );
    assertEquals(problems, []);
  });
}

Deno.test("a folder without a description, with two, or with the wrong path is found", () => {
  const text = [
    "/**",
    " * Parts.",
    " *",
    " * - Folder `core/parts/`: small parts that the",
    " *   example needs.",
    " * - In: what the callers of the example have.",
    " * - Out: what the callers of the example want.",
    " * - Never: does anything beyond the example.",
    " */",
  ].join("\n");
  assertEquals(problemsOf("core/parts", [text, "/** Another file. */"]), []);
  assertEquals(problemsOf("core/parts", []).length, 1);
  assertEquals(problemsOf("core/parts", [text, text]).length, 1);
  assertEquals(problemsOf("core/moved", [text]).length, 1);
  assertEquals(problemsOf("core/parts", [text.replace("- Never", "Never")]).length, 1);
});
