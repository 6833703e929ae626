/** Searches of texts that are full of lists which are not of numbers only, by the piece that is repeated. */
import { NumberLists } from "../../../../core/lib/json/json_cursor.ts";
import type { Cases } from "../../../support/steps.ts";

function search(text: string): void {
  const bytes = new TextEncoder().encode(text);
  const numbers = new NumberLists(bytes, bytes.length);
  for (let at = 0; at < bytes.length; at++) if (bytes[at] === 0x5b) numbers.endOf(at);
}

export const cases: Cases = Object.fromEntries(
  ['[1,"a"],', "[1,[", "[1,é],"].map((
    piece,
  ) => [piece, (count: number) => search(piece.repeat(count))]),
);
