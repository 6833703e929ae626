/** The files of the repository, for tests that read code and pages. */

/** The root of the repository. */
export const root = new URL("../../", import.meta.url);

/** Folders of foreign programs that some tests install. */
const installed: ReadonlySet<string> = new Set(["node_modules", ".venv"]);

/** Paths from the root of the TypeScript files in a folder and below it. */
export function* sourcesIn(folder: string): Generator<string> {
  for (const entry of Deno.readDirSync(new URL(`${folder}/`, root))) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory) { if (!installed.has(entry.name)) yield* sourcesIn(path); }
    else if (/\.tsx?$/u.test(entry.name)) yield path;
  }
}

/** Paths from the root of the Markdown files in a folder and below it; `folder` ends in a slash. */
export function pagesIn(folder: string): readonly string[] {
  return Deno.readDirSync(new URL(folder, root)).toArray().flatMap(({ name, isDirectory }) => {
    if (isDirectory) return pagesIn(`${folder}${name}/`);
    return name.endsWith(".md") ? [`${folder}${name}`] : [];
  });
}

/** The text of a file, by its path from the root. */
export function sourceText(path: string): string {
  return Deno.readTextFileSync(new URL(path, root));
}
