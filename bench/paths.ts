/** Paths of the files of the benchmark. */

/** Path of a file beside this one, or of the project: `../main.ts`. */
export function fromFileUrl(file: string): string {
  return decodeURIComponent(new URL(file, import.meta.url).pathname);
}
