/**
 * Every exported symbol of `core` has a doc comment whose first sentence works as an index (`deno doc`): it ends with
 * a period and is short. No doc comment of the product begins with a question word, under which nobody looks.
 */
import { assertEquals } from "../support/assert.ts";
import { sourcesIn, sourceText } from "./source_files.ts";

/** Longer first sentences are cut off by editors and wrap in an index. */
const maxSentenceChars = 160;

const exported =
  /^export (?:async )?(?:abstract )?(?:function\*?|const|class|interface|type) ([\w$]+)/gmu;
const docBefore = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*$/u;

/** The first sentence of a doc comment; without a period, all of its first paragraph. */
function firstSentence(doc: string): string {
  const text = doc.replaceAll(/^[ \t]*\* ?/gmu, "").trim();
  const paragraph = (text.split(/\n\s*\n|\n(?=@|- )/u)[0] ?? "").replaceAll(/\s+/gu, " ").trim();
  return /^.*?\.(?= |$)/u.exec(paragraph)?.[0] ?? paragraph;
}

/** What is wrong with the documentation of a file's exports. */
function problemsOf(file: string, text: string): readonly string[] {
  return Array.from(text.matchAll(exported), (match) => {
    const name = `${file}: ${match[1]}`;
    const doc = docBefore.exec(text.slice(0, match.index))?.[1];
    if (doc === undefined) return `${name} has no doc comment`;
    const sentence = firstSentence(doc);
    if (sentence.startsWith("@")) return `${name} is described by tags alone`;
    if (!sentence.endsWith(".")) return `${name} begins with no sentence`;
    return sentence.length > maxSentenceChars ? `${name} begins with a long sentence` : "";
  }).filter((problem) => problem !== "");
}

Deno.test("every export of core has a doc comment that works in an index", () => {
  assertEquals([...sourcesIn("core")].flatMap((file) => problemsOf(file, sourceText(file))), []);
});

/** Words that no index is searched by; `Whether` says of a boolean what it means. */
const questionWords = /^(?:What|Who|Whose|Which|Where|When|How|Such|Those)\b/u;

/** The beginnings of the doc comments of a text that are questions. */
function questionsOf(text: string): readonly string[] {
  return Array.from(
    text.matchAll(/\/\*\*((?:(?!\*\/)[\s\S])*)\*\//gu),
    ([, doc = ""]) => firstSentence(doc),
  )
    .filter((sentence) => questionWords.test(sentence));
}

Deno.test("no doc comment begins with a question word", () => {
  const folders = ["bench", "core", "kv", "routes", "sandbox"];
  const asked = folders.flatMap((folder) => [...sourcesIn(folder)])
    .flatMap((file) => questionsOf(sourceText(file)).map((sentence) => `${file}: ${sentence}`));
  assertEquals(asked, []);
  assertEquals(
    questionsOf("/** What it counts. */\nconst a = 1;\n/**\n * Counts bytes.\n */").length,
    1,
  );
});

Deno.test("an export without a first sentence is found", () => {
  const problems = (text: string) => problemsOf("core/x.ts", text).length;
  assertEquals(problems("/** Counts bytes. */\nexport function count(): void {}"), 0);
  assertEquals(
    problems("/**\n * Counts bytes,\n * all of them.\n *\n * More\n */\nexport const a = 1;"),
    0,
  );
  assertEquals(problems("export type A = string;"), 1);
  assertEquals(problems("/** Counts bytes */\nexport class A {}"), 1);
  assertEquals(problems("/** @throws {Error} always */\nexport class A {}"), 1);
  assertEquals(problems(`/** ${"long ".repeat(40)}. */\nexport interface A {}`), 1);
});
