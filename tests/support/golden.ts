/**
 * Tables that are kept as files beside their test, byte for byte.
 *
 * Programs of customers read exports by name and by position, so known columns and members never change. New ones may be
 * added without touching the kept file: columns at the end of a row, members of JSON anywhere. `deno test … -- --update`
 * writes the files anew; the difference then shows what a reader of the export would notice.
 */
import { assertEquals } from "./assert.ts";

/** Returns the kept text; with `--update` keeps the new one first. */
export async function kept(file: URL, text: string): Promise<string> {
  if (Deno.args.includes("--update")) await Deno.writeTextFile(file, text);
  // As bytes, since the text decoder of files would drop the byte order mark.
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(await Deno.readFile(file));
}

/** Checks that each row of a CSV file begins with the kept one. No cell may span lines. */
export async function assertKeepsCsv(file: URL, text: string): Promise<void> {
  const lines = (await kept(file, text)).split("\r\n");
  const rows = text.split("\r\n");
  assertEquals(rows.length, lines.length, `${file.pathname}: the number of rows`);
  const known = rows.map((row, at) => {
    const line = lines[at]!;
    return row.startsWith(`${line},`) ? line : row;
  });
  assertEquals(known, lines, "known columns keep their cells and places; add new ones at the end");
}

/** Checks that each row has the kept members, in their order. A row is a line of the file. */
export async function assertKeepsJson(file: URL, rows: readonly object[]): Promise<void> {
  const text = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
  const lines = (await kept(file, text)).trimEnd().split("\n");
  const known = rows.map((row, at) => {
    const names = new Set(Object.keys(JSON.parse(lines[at] ?? "{}")));
    return JSON.stringify(
      Object.fromEntries(Object.entries(row).filter(([name]) => names.has(name))),
    );
  });
  assertEquals(known, lines, "known members keep their values and order");
}

/** Replaces random ids by the order in which they appear, so that a text can be kept. */
export function withoutIds(text: string): string {
  const seen = new Map<string, string>();
  return text.replaceAll(/\b([a-z]+_)[0-9a-z]{25}\b/g, (id, prefix) => {
    const name = seen.get(id) ?? `${prefix}${seen.size + 1}`;
    seen.set(id, name);
    return name;
  });
}
