/**
 * Folders are packages: their imports form no circle, at any level of the tree; a folder imports what is below it, never
 * what is above; and none is a crowd. The order that follows is a table of `docs/internals/ARCHITECTURE.md`.
 */
import { assert, assertEquals } from "../support/assert.ts";
import { type ImportGraph, importGraphOf } from "./import_graph.ts";
import {
  circlesOf,
  folderGraph,
  layers,
  orderOf,
  packagesPage,
  packagesPageText,
} from "./packages.ts";
import { root } from "./source_files.ts";

/** Entries of a folder that a reader takes in at once: files and folders. */
const maxEntries = 15;

/** Levels below the root at which folders count as one, with the name of what they are then. */
const depths: ReadonlyMap<number, string> = new Map([
  [1, "layers"],
  [2, "packages"],
  [3, "folders of packages"],
  [Infinity, "each folder by itself"],
]);

const sources = importGraphOf(layers);

/** The imports of files in a folder from the own files of a folder above it. */
function importsFromAbove(graph: ImportGraph): string[] {
  const folderOf = (file: string) => file.slice(0, file.lastIndexOf("/") + 1);
  return [...graph].flatMap(([file, targets]) =>
    targets.filter((target) =>
      folderOf(file) !== folderOf(target) && folderOf(file).startsWith(folderOf(target))
    ).map((target) => `${file} imports ${target}`)
  );
}

/** Folders whose face is for users of the library or of the app as a whole; the folders below are packages themselves. */
const outerFaces: readonly string[] = ["core/wire", "routes/dashboard"];

/** What a face consists of: its module doc, and names that it passes on. */
const faceForm =
  /^\/\*\*(?:[^*]|\*(?!\/))*\*\/\n(?:export (?:type )?(?:\*|\{[^}]*\}) from "[^"]+";\n)+$/u;

/** The faces among files. */
const facesOf = (files: Iterable<string>) =>
  [...files].filter((file) => /\/mod\.tsx?$/u.test(file));

/** The imports of what is behind a face, from outside of its folder. */
function importsPastFaces(graph: ImportGraph): string[] {
  const folders = facesOf(graph.keys()).map((file) => file.slice(0, file.lastIndexOf("/") + 1))
    .filter((folder) => !outerFaces.includes(folder.slice(0, -1)));
  return [...graph].flatMap(([file, targets]) =>
    targets.filter((target) =>
      folders.some((folder) =>
        target.startsWith(folder) && !file.startsWith(folder) && target !== `${folder}mod.ts`
      )
    ).map((target) => `${file} imports ${target}`)
  );
}

/** How many entries each crowded folder has, of a folder and those below it. */
function crowdedFolders(folder: string): [folder: string, entries: number][] {
  const entries = [...Deno.readDirSync(new URL(`${folder}/`, root))];
  const below = entries.filter(({ isDirectory }) => isDirectory)
    .flatMap(({ name }) => crowdedFolders(`${folder}/${name}`));
  return entries.length > maxEntries ? [[folder, entries.length], ...below] : below;
}

for (const [depth, name] of depths) {
  Deno.test(`imports between folders form no circle: ${name}`, () => {
    const graph = folderGraph(sources, depth);
    assert(graph.size >= layers.length, "the folders are not found");
    assertEquals(circlesOf(graph), []);
  });
}

Deno.test("no file imports the own files of a folder above its own", () => {
  assertEquals(importsFromAbove(sources), []);
});

Deno.test("a mod.ts passes names on and has no code of its own", () => {
  const faces = facesOf(sources.keys());
  assert(faces.length > 0, "no face is found");
  assertEquals(
    faces.filter((face) => !faceForm.test(Deno.readTextFileSync(new URL(face, root)))),
    [],
  );
});

Deno.test("what is behind a mod.ts is reached through it", () => {
  assertEquals(importsPastFaces(sources), []);
});

Deno.test("the table of packages in ARCHITECTURE.md is what `deno task packages` writes", () => {
  const page = Deno.readTextFileSync(packagesPage);
  assert(packagesPageText(page) === page, "The table is stale; run: deno task packages");
});

Deno.test("no folder has more entries than a reader takes in", () => {
  assertEquals(layers.flatMap(crowdedFolders), []);
});

Deno.test("an import past a face is found", () => {
  const graph = new Map([
    ["core/a/mod.ts", ["core/a/inside.ts"]],
    ["core/a/inside.ts", []],
    ["core/b/x.ts", ["core/a/inside.ts"]],
    ["core/b/y.ts", ["core/a/mod.ts"]],
  ]);
  assertEquals(importsPastFaces(graph), ["core/b/x.ts imports core/a/inside.ts"]);
});

Deno.test("a circle is found with the import that closes it, at the depth at which it is one", () => {
  const graph = new Map([
    ["core/a/one/x.ts", ["core/b/x.ts", "core/b/y.ts"]],
    ["core/a/two/x.ts", []],
    ["core/b/x.ts", ["core/a/two/x.ts"]],
    ["core/b/y.ts", []],
  ]);
  assertEquals(circlesOf(folderGraph(graph)), []);
  assertEquals(circlesOf(folderGraph(graph, 2)), [
    "core/a → core/b → core/a: core/b/x.ts imports core/a/two/x.ts",
  ]);
  assertEquals(circlesOf(folderGraph(graph, 1)), []);
  const three = new Map([["a/x.ts", ["b/x.ts"]], ["b/x.ts", ["c/x.ts"]], ["c/x.ts", ["a/x.ts"]]]);
  assertEquals(circlesOf(folderGraph(three)), [
    "a → b → c → a: a/x.ts imports b/x.ts, or b/x.ts imports c/x.ts, or c/x.ts imports a/x.ts",
  ]);
});

Deno.test("folders are ordered by their imports; a stale table and an import from above are found", () => {
  const graph = new Map([
    ["core/a/x.ts", ["core/b/two/x.ts"]],
    ["core/b/one/x.ts", ["core/b/two/x.ts"]],
    ["core/b/two/x.ts", ["core/z/x.ts"]],
    ["core/z/x.ts", []],
    ["core/z/below/x.ts", ["core/z/x.ts"]],
  ]);
  assertEquals(orderOf(folderGraph(graph, 2)), ["core/z", "core/b", "core/a"]);
  assertEquals(importsFromAbove(graph), ["core/z/below/x.ts imports core/z/x.ts"]);
  const marks =
    "A\n<!-- packages: written by `deno task packages` -->\nstale\n<!-- end of packages -->\nZ\n";
  const page = packagesPageText(marks, graph);
  assert(page.startsWith("A\n") && page.endsWith("\nZ\n") && !page.includes("stale"));
  assert(page.includes("| `core/b/` | `two`, `one` |"), page);
  assertEquals(packagesPageText(page, graph), page);
});
