/**
 * No export without a user: what only its own file uses is not exported, so that `deno doc` lists what others need, and
 * what nobody uses is removed. A type may be exported for the sake of an export of its file that mentions it.
 */
import { assert, assertEquals } from "../support/assert.ts";
import { root, sourcesIn, sourceText } from "./source_files.ts";

const checkedFolders = ["core", "kv", "routes", "sandbox"];
const folders = [...checkedFolders, "tests", "bench", "docs"];

/** Modules whose exports are for users outside of this repository, with the reason. */
const publicModules = new Map([
  ["core/wire/mod.ts", "conversion as a library"],
]);

interface Exported {
  readonly name: string;
  /** The file mentions a type more often than where it declares it. */
  readonly isNamedType: boolean;
}

const declaration =
  /^export (?:declare )?(?:async )?(?:abstract )?(const|let|function\*?|class|type|interface|enum) (\w+)/gmu;
const list = /^export (?:type )?\{([^}]*)\}/gmu;
// Examples of doc comments count, since the tests run them.
const importList = /(?:^|\n)(?: \* )?(import|export) (?:type )?\{([^}]*)\} from "(\.[^"]+)"/gu;
const wholeModule =
  /\bimport\("(\.[^"]+)"\)|\* as \w+ from "(\.[^"]+)"|^export (?:type )?\* from "(\.[^"]+)"/gmu;

/** The names in braces: `declared` of `declared as other` where another file is read, else `other`. */
function names(text: string, side: "declared" | "given"): string[] {
  return text.split(",").flatMap((part) => {
    const [declared, given] = part.replaceAll(/[\s*]+/gu, " ").trim().replace(/^type /u, "").split(
      " as ",
    );
    return (side === "given" ? given ?? declared : declared) || [];
  });
}

function exportsOf(text: string): Exported[] {
  const declared = [...text.matchAll(declaration)].map(([, kind, name = ""]) => ({
    name,
    isNamedType: (kind === "type" || kind === "interface") &&
      [...text.matchAll(new RegExp(`\\b${name}\\b`, "gu"))].length > 1,
  }));
  const listed = [...text.matchAll(list)].flatMap(([, inside = ""]) => names(inside, "given"));
  return [...declared, ...listed.map((name) => ({ name, isNamedType: false }))];
}

/** What a file uses of others, as `path#name`; `path#*` for a whole module. */
function usesOf(file: string, text: string): string[] {
  // The types of a JavaScript file, and so the names that it exports, are in the file beside it.
  const target = (specifier: string) =>
    new URL(specifier, new URL(file, root)).href.slice(root.href.length)
      .replace(/\.js$/, ".d.ts");
  const some = [...text.matchAll(importList)].flatMap(([, , inside = "", specifier = ""]) =>
    names(inside, "declared").map((name) => `${target(specifier)}#${name}`)
  );
  const whole = [...text.matchAll(wholeModule)].flatMap(([, ...found]) =>
    found.flatMap((specifier) => specifier === undefined ? [] : `${target(specifier)}#*`)
  );
  return [...some, ...whole];
}

/** The exports of the checked folders that no file uses. */
function unusedExports(sources: ReadonlyMap<string, string>): string[] {
  const used = new Set([...sources].flatMap(([file, text]) => usesOf(file, text)));
  return [...sources].flatMap(([file, text]) => {
    const isChecked = checkedFolders.some((folder) => file.startsWith(`${folder}/`));
    if (!isChecked || publicModules.has(file) || used.has(`${file}#*`)) return [];
    return exportsOf(text)
      .filter(({ name, isNamedType }) => !isNamedType && !used.has(`${file}#${name}`))
      .map(({ name }) => `${file}: ${name}`);
  });
}

Deno.test("every export has a user in another file", () => {
  const files = [...folders.flatMap((folder) => [...sourcesIn(folder)]), "main.ts"];
  const sources = new Map(files.map((file) => [file, sourceText(file)]));
  for (const file of publicModules.keys()) assert(sources.has(file), `${file} is gone`);
  const count = [...sources.values()].flatMap(exportsOf).length;
  assert(count > sources.size, "the exports are not found");
  assertEquals(unusedExports(sources), []);
});

Deno.test("an export without a user is found, be it declared or passed on", () => {
  const sources = (user: string) =>
    new Map([
      [
        "core/a.ts",
        "export const one = 1;\nexport interface Shape {}\nexport function two(s: Shape) {}",
      ],
      ["core/mod.ts", 'export { one as first, type Shape } from "./a.ts";'],
      ["tests/a_test.ts", user],
    ]);
  assertEquals(unusedExports(sources("")), [
    "core/a.ts: two",
    "core/mod.ts: first",
    "core/mod.ts: Shape",
  ]);
  const user = 'import {\n  first,\n  type Shape as S,\n} from "../core/mod.ts";\n';
  assertEquals(unusedExports(sources(user)), ["core/a.ts: two"]);
  assertEquals(unusedExports(sources(`${user} * import { two } from "../core/a.ts";`)), []);
  assertEquals(unusedExports(sources(`${user}const { two } = await import("../core/a.ts");`)), []);
});
