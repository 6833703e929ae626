/** The relative imports of source files, for tests about the structure of the repository. */
import { root, sourcesIn, sourceText } from "./source_files.ts";

/** Paths of files, from the root, with the paths of what they import; npm and data URLs are left out. */
export type ImportGraph = ReadonlyMap<string, readonly string[]>;

/** The relative specifiers of a source, outside comments: imports, re-exports and dynamic imports. */
export function specifiers(source: string): string[] {
  const code = source.replaceAll(/^\s*(\/\/|\/?\*).*$/gm, "");
  return [...code.matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]*)"/g)]
    .flatMap(([, specifier]) => specifier ?? []);
}

/** Reads the imports of all sources in folders, type-only imports included. */
export function importGraphOf(folders: readonly string[]): ImportGraph {
  const files = folders.flatMap((folder) => [...sourcesIn(folder)]);
  return new Map(files.map((file) => {
    const url = new URL(file, root);
    const targets = specifiers(sourceText(file))
      .map((specifier) => new URL(specifier, url).href.slice(root.href.length));
    return [file, targets];
  }));
}
