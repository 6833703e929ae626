/**
 * No file imports itself through others, not even for types, so that the imports of a file can be read before it. The
 * test reads the text of the sources, so type-only imports count like all others.
 */
import { assertEquals } from "../support/assert.ts";
import { type ImportGraph, importGraphOf, specifiers } from "./import_graph.ts";

const folders = ["core", "kv", "routes", "sandbox", "tests", "bench"];

/** One circle of a graph, from a file back to itself; `undefined` if there is none. */
function findCircle(graph: ImportGraph): string[] | undefined {
  const finished = new Set<string>();
  const path: string[] = [];

  function visit(file: string): string[] | undefined {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (finished.has(file)) return undefined;
    path.push(file);
    for (const target of graph.get(file) ?? []) {
      const circle = visit(target);
      if (circle !== undefined) return circle;
    }
    path.pop();
    finished.add(file);
    return undefined;
  }

  for (const file of graph.keys()) {
    const circle = visit(file);
    if (circle !== undefined) return circle;
  }
  return undefined;
}

Deno.test("no source file imports itself through others, types included", () => {
  const graph = importGraphOf(folders);
  const targets = new Set([...graph.values()].flat());
  const known = [...targets].filter((target) => graph.has(target));
  assertEquals(known.length > graph.size / 2, true, "the import lines are not found");
  assertEquals(findCircle(graph), undefined);
});

Deno.test("a circle of type-only imports and re-exports is found, one in an example is not", () => {
  assertEquals(
    specifiers('import type { A } from "./a.ts";\nexport { b } from "./b.ts";\nimport "./c.ts";'),
    ["./a.ts", "./b.ts", "./c.ts"],
  );
  assertEquals(specifiers(' * import { a } from "./a.ts";\n  // import "./b.ts";'), []);
  const circle = new Map([["a.ts", ["b.ts", "x.ts"]], ["b.ts", ["c.ts"]], ["c.ts", ["b.ts"]]]);
  assertEquals(findCircle(circle), ["b.ts", "c.ts", "b.ts"]);
});
