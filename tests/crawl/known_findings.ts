/** What the crawl finds and is not mended yet, each with the reason. The list only shrinks: what is mended must leave it. */

/** A finding. */
interface KnownFinding {
  /** Matches the line of the report. */
  readonly pattern: RegExp;
  readonly why: string;
}

/** Tells apart what is known, and what is known but not found any more, by its reason. */
export function unknownOf(
  found: readonly string[],
  known: readonly KnownFinding[],
): { readonly unknown: readonly string[]; readonly mended: readonly string[] } {
  const mended = known.filter(({ pattern }) => !found.some((line) => pattern.test(line)));
  return {
    unknown: found.filter((line) => !known.some(({ pattern }) => pattern.test(line))),
    mended: mended.map(({ why }) => why),
  };
}

/** What the walk finds. */
export const knownFindings: readonly KnownFinding[] = [
  {
    pattern: / \/(?:usage|operator\/calls)\?\S*status=error\S*: raw code: \d{3} [a-z_]+$/,
    why: "the chart of errors names statuses and codes of the API as words",
  },
];

/** What a browser shows. */
export const knownLooks: readonly KnownFinding[] = [
  {
    pattern: / \/operator\/calls: “.+ cut by div\.table-frame \(1280 dark, 1280 light\)$/,
    why: "the operator's table of calls is wider than its place on a small desktop",
  },
  {
    pattern: / \/operator\/audit: “.+ cut by div\.table-frame \(.+\)$/,
    why: "the log is wider than its place on a small desktop and on the smallest phones",
  },
  {
    pattern: / \/operator\/invoices: “.+ cut by div\.table-frame \(320 light\)$/,
    why: "the invoice queue is wider than the smallest phones",
  },
];
