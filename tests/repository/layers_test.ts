/**
 * Each layer imports only the layers below it. The type checker does not see this; the test reads the imports of all
 * sources, type-only imports included.
 */
import { assertEquals } from "../support/assert.ts";
import { type ImportGraph, importGraphOf } from "./import_graph.ts";

/** The layers, with the other layers that each may import. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  "core/lib": [],
  "core": ["core/lib"],
  "kv": ["core", "core/lib"],
  "sandbox": ["core", "core/lib"],
  "routes": ["core", "core/lib", "kv", "sandbox"],
};

/** The longest name of a layer that a path begins with; the path itself if it is in none. */
function layerOf(path: string): string {
  if (path.startsWith("core/lib/")) return "core/lib";
  const folder = path.slice(0, Math.max(0, path.indexOf("/")));
  return Object.hasOwn(allowed, folder) ? folder : path;
}

/** The imports of a graph that lead to another layer than the importing one may use. */
function forbiddenImports(graph: ImportGraph): string[] {
  return [...graph].flatMap(([file, targets]) => {
    const layer = layerOf(file);
    return targets.filter((target) => {
      const other = layerOf(target);
      return other !== layer && !allowed[layer]?.includes(other);
    }).map((target) => `${file} imports ${target}`);
  });
}

Deno.test("each layer imports only the layers below it", () => {
  assertEquals(forbiddenImports(importGraphOf(["core", "kv", "routes", "sandbox"])), []);
});

Deno.test("an import of a layer above, of another layer or of no layer is found", () => {
  const graph = new Map([
    ["core/a.ts", ["core/lib/json/json.ts", "kv/b.ts"]],
    ["core/lib/a.ts", ["core/lib/base/limits.ts", "core/net/transport/transport.ts"]],
    ["kv/a.ts", ["core/a.ts", "routes/server/listen/app.ts", "sandbox/provider/a.ts"]],
    ["routes/a.ts", ["kv/a.ts", "sandbox/a.ts", "tests/support/a.ts", "main.ts"]],
  ]);
  assertEquals(forbiddenImports(graph), [
    "core/a.ts imports kv/b.ts",
    "core/lib/a.ts imports core/net/transport/transport.ts",
    "kv/a.ts imports routes/server/listen/app.ts",
    "kv/a.ts imports sandbox/provider/a.ts",
    "routes/a.ts imports tests/support/a.ts",
    "routes/a.ts imports main.ts",
  ]);
});
