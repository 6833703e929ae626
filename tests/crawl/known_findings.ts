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
    pattern: / \/(?:usage|operator\/calls)\S*: (?:raw code|English \([a-z, ]+\)): [a-z_]+$/,
    why: "the filter of errors lists the codes of the API, not families of them",
  },
  {
    pattern: / → \/keys\/new: status 403$/,
    why: "guides and recipes offer a new key to roles that make none",
  },
  {
    pattern: / → \/playground\?model=[\w-]+: status 403$/,
    why: "a model's page offers the playground to roles that make no calls",
  },
  {
    pattern: / \/webhooks\S*: (?:raw code|English \([a-z, ]+\)): [a-z_.]+(?:, [a-z_.]+)*$/,
    why: "kinds of events are the API's names for them, and are not marked as code",
  },
  {
    pattern: / \/activity\S*: (?:raw code|English \([a-z, ]+\)): /,
    why: "the activity log shows values as they are stored",
  },
  {
    pattern: / \/receipts\/\w+: (?:raw code|English \([a-z, ]+\)): [a-z_]+$/,
    why: "the code of a failed call is not marked as code",
  },
  {
    pattern: / \/operator\/margins\S*: English \(output\): /,
    why: "warnings of prices name kinds of tokens as rate cards do",
  },
  {
    pattern: / \/operator\/catalogue\S*: (?:raw code|raw value|English \([a-z, ]+\)): /,
    why: "choices of the catalogue's forms are the values of gateway.json",
  },
  {
    pattern: / \/operator\/\S*: English \(command, line\): command line$/,
    why: "acts of the command line have that as the name of who acted",
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
