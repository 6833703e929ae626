/** What the crawl finds and is not mended yet, each with the reason. The list only shrinks: what is mended must leave it. */

/** A finding. */
interface KnownFinding {
  /** Matches the line of the report. */
  readonly pattern: RegExp;
  readonly why: string;
}

export const knownFindings: readonly KnownFinding[] = [
  {
    pattern: / \/(?:usage|operator\/calls)\S*: (?:raw code|English \([a-z, ]+\)): [a-z_]+$/,
    why: "the filter of errors lists the codes of the API, not families of them",
  },
  {
    pattern: / \/keys: \/keys\/key_\w+#(?:limits|rotate|revoke) leads to no such part$/,
    why: "a viewer's menu of a key offers what the page of the key has not",
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
    pattern: / \/playground\S*: English \(low\): low$/,
    why: "efforts are the API's names for them",
  },
  {
    pattern: / \/operator\/margins\S*: English \(output\): /,
    why: "warnings of prices name kinds of tokens as rate cards do",
  },
  { pattern: / \/budgets: id tags is there twice$/, why: "a card and its field have one id" },
  { pattern: / \/docs\/api\/models: English \(get\): GET$/, why: "methods are not marked as code" },
  {
    pattern: / \/operator\/catalogue\S*: (?:raw code|raw value|English \([a-z, ]+\)): /,
    why: "choices of the catalogue's forms are the values of gateway.json",
  },
  {
    pattern: / \/operator\/\S*: English \(command, line\): command line$/,
    why: "acts of the command line have that as the name of who acted",
  },
];
