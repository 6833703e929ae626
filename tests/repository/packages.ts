/**
 * The folders of the sources as a graph of their imports: its circles, its order, and the table of that order in
 * `docs/internals/ARCHITECTURE.md`, which `deno task packages` writes.
 */
import { ascending } from "../../core/lib/base/ascending.ts";
import { type ImportGraph, importGraphOf } from "./import_graph.ts";
import { root } from "./source_files.ts";

/** The layers, whose folders are packages; `layers_test.ts` says which may import which. */
export const layers = ["core", "kv", "sandbox", "routes"] as const;

/** The page that has the table of packages. */
export const packagesPage = new URL("docs/internals/ARCHITECTURE.md", root);

/** Levels of the folders that the table has as rows, such as `core/wire`, and of those within a row. */
const rowDepth = 2;
const withinDepth = 3;

/** For each folder, the other folders that it imports, each with the imports as text. */
export type FolderGraph = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;

/** The folder of a file, or the one above it that is `depth` levels below the root. */
function folderOf(file: string, depth: number): string {
  return file.split("/").slice(0, -1).slice(0, depth).join("/");
}

/** Joins the imports of files to those of folders; folders deeper than `depth` count as a part of the one above them. */
export function folderGraph(graph: ImportGraph, depth = Infinity): FolderGraph {
  const folders = new Map<string, Map<string, string[]>>();
  for (const [file, targets] of graph) {
    const folder = folderOf(file, depth);
    const imports = folders.getOrInsert(folder, new Map());
    for (const target of targets) {
      const other = folderOf(target, depth);
      if (other !== folder) imports.getOrInsert(other, []).push(`${file} imports ${target}`);
    }
  }
  return folders;
}

/** The shortest way from a folder back to itself, the folder at both ends; `undefined` if there is none. */
function circleFrom(start: string, graph: FolderGraph): readonly string[] | undefined {
  const ways = new Map<string, readonly string[]>([[start, [start]]]);
  // Folders that are added meanwhile are visited, too.
  for (const [folder, way] of ways) {
    for (const other of graph.get(folder)?.keys() ?? []) {
      if (other === start) return [...way, start];
      if (!ways.has(other)) ways.set(other, [...way, other]);
    }
  }
  return undefined;
}

function shortestCircle(graph: FolderGraph): readonly string[] | undefined {
  return [...graph.keys()].map((folder) => circleFrom(folder, graph))
    .filter((circle) => circle !== undefined)
    .sort((a, b) => a.length - b.length)[0];
}

/** The steps of a circle with the imports that make them, the fewest first. */
function stepsOf(circle: readonly string[], graph: FolderGraph) {
  return circle.slice(1).map((to, at) => {
    const from = circle[at] ?? "";
    return { from, to, imports: graph.get(from)?.get(to) ?? [] };
  }).sort((a, b) => a.imports.length - b.imports.length);
}

/**
 * Finds the circles of a graph, the shortest first. Each is told with its folders and with the imports to remove: those of
 * its step that has the fewest, or of each such step if several have as few. What that step closes is told once.
 */
export function circlesOf(graph: FolderGraph): string[] {
  const rest = new Map([...graph].map(([folder, imports]) => [folder, new Map(imports)]));
  const circles: string[] = [];
  for (let circle = shortestCircle(rest); circle !== undefined; circle = shortestCircle(rest)) {
    const [weakest, ...others] = stepsOf(circle, rest);
    if (weakest === undefined) break;
    const asWeak = others.filter(({ imports }) => imports.length === weakest.imports.length);
    const removals = [weakest, ...asWeak].map(({ imports }) => imports.join(" and "));
    circles.push(`${circle.join(" → ")}: ${removals.join(", or ")}`);
    rest.get(weakest.from)?.delete(weakest.to);
  }
  return circles;
}

/** By layer, then by name. */
function byLayer(one: string, other: string): number {
  const layerOf = (folder: string) => layers.findIndex((layer) => folder.startsWith(layer));
  return layerOf(one) - layerOf(other) || ascending(one, other);
}

/** Orders the folders of a graph without circles so that each imports only those before it. */
export function orderOf(graph: FolderGraph): string[] {
  const order = new Set<string>();
  const waiting = new Set([...graph.keys()].sort(byLayer));
  while (waiting.size > 0) {
    const next = [...waiting].find((folder) =>
      [...graph.get(folder)?.keys() ?? []].every((other) => order.has(other) || !graph.has(other))
    );
    if (next === undefined) throw new Error(`In a circle: ${[...waiting].join(", ")}`);
    waiting.delete(next);
    order.add(next);
  }
  return [...order];
}

/** The table of packages: each imports only the rows above it, and a folder within a row only those before it. */
function packageTable(graph: ImportGraph): string {
  const within = orderOf(folderGraph(graph, withinDepth));
  const rows = orderOf(folderGraph(graph, rowDepth)).map((row) => {
    const folders = within.filter((folder) => folder.startsWith(`${row}/`))
      .map((folder) => `\`${folder.slice(row.length + 1)}\``);
    return `| \`${row}/\` | ${folders.join(", ")} |`;
  });
  return ["| package | its folders, in their order |", "| --- | --- |", ...rows].join("\n");
}

/** A page with the table of packages between its marks written anew. */
export function packagesPageText(page: string, graph = importGraphOf(layers)): string {
  const begin = "<!-- packages: written by `deno task packages` -->\n";
  const end = "<!-- end of packages -->";
  const [before, rest] = page.split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error("The page has no marks");
  return `${before}${begin}\n<!-- deno-fmt-ignore-start -->\n\n${
    packageTable(graph)
  }\n\n<!-- deno-fmt-ignore-end -->\n\n${end}${after}`;
}

if (import.meta.main) {
  Deno.writeTextFileSync(packagesPage, packagesPageText(Deno.readTextFileSync(packagesPage)));
}
