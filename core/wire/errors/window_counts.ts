/**
 * Counts of tokens in texts about requests beyond the context window.
 *
 * Agent clients compact their conversation when they read `prompt is too long: N tokens > M maximum`, and some compute
 * from N and M how much to cut. They lower `max_tokens` when they read that input and `max_tokens` together exceed the
 * limit.
 */

/** Size of a request, and its bound. */
export interface WindowCounts {
  /** Tokens of the prompt. */
  readonly used: number;
  /** The limit on output that the request has, where the sum of both is too large. */
  readonly cap?: number | undefined;
  readonly most: number;
}

function countOf(digits: string | undefined): number | undefined {
  return digits === undefined ? undefined : Number(digits.replaceAll(/[,_]/g, ""));
}

/** Reads the counts of a matched form; `undefined` if it does not tell both. */
export function windowOf(groups: Record<string, string> | undefined): WindowCounts | undefined {
  const most = countOf(groups?.["most"]);
  const used = countOf(groups?.["used"]);
  const over = countOf(groups?.["over"]);
  if (most === undefined) return undefined;
  if (used === undefined) return over === undefined ? undefined : { used: most + over, most };
  const more = countOf(groups?.["more"]) ?? 0;
  const cap = countOf(groups?.["cap"]);
  return cap === undefined ? { used: used + more, most } : { used: used + more, cap, most };
}

/**
 * Beginnings by which a text is about the window, whoever wrote it. They are about the prompt, unless numbers or the
 * word for the cap tell otherwise.
 */
const aboutWindow =
  /^(?:the |your |this |requested )?(?:(?:model|endpoint|request|input|prompt|conversation|messages?|context|total|number of|maximum|max|requested?|decoder|user)(?:'s)? |(?:request|input|prompt|context) ?\(){1,3}.{0,80}?(?:(?:too (?:long|large|many)|(?:cannot )?exceed(?:s|ed|ing)?|longer than|greater than|larger than|over|beyond|more than|is|of)\b.{0,60}?\b(?:context|window|tokens?|length|maximum|limit|max_\w{1,20}len)\b)/i;

/** One of these words makes a text about tokens or the window rather than about a field. */
const windowWords =
  /\b(?:context (?:length|window|size|limit)|maximum context|max_model_len|max_seq_len|(?:model |sequence |token )(?:max )?length|max(?:imum)? (?:\w{1,12} )?length|prompt (?:is )?too long|input (?:is )?too long|too many (?:input |prompt )?tokens|tokens? limit|maximum (?:number of )?(?:input |prompt )?tokens)\b/i;

const capName =
  /^.{0,12}?\bmax(?:imum)?[_ ](?:completion[_ ]|output[_ ]|new[_ ])?tokens\b|^(?:the )?(?:requested )?(?:max(?:imum)? )?(?:output|completion) tokens\b/i;

/** Starts of quoted words, which may be the client's; a quoted name is none. */
const quotation = /(?<!\w)['"`](?!\w{1,40}['"`])/;

const number = String.raw`\d[\d,]{0,14}`;
const inputCount = new RegExp(
  `(${number}) (?:tokens? )?(?:(?:of )?(?:text |total )?(?:input|prompt)\\b|(?:in|from) (?:the |your )?(?:input|prompt|messages))`,
  "i",
);
const outputCount = new RegExp(
  `(${number}) (?:tokens? )?(?:(?:requested )?(?:output|completion|new|generated)\\b|(?:in|for|from) (?:the )?(?:completion|output)|['"\`]?max_(?:completion_|output_|new_)?tokens)`,
  "i",
);
const limitCount = new RegExp(
  `(?:context (?:length|window|size|limit)|max_model_len|max_seq_len|maximum|limit)[^\\d]{0,40}(${number})`,
  "i",
);

/** A number that stands by itself, and neither is a code nor counts output. */
const loneNumber = new RegExp(
  `(?<!(?:code|status|error|http|id|value)[\\s:=#(]{0,4})(?<![\\w.,-])${number}(?![\\w-]|\\.\\d)`,
  "gi",
);

/** Words that make one of the numbers a count of output. */
const aboutOutput =
  /\b(?:output|completion|generated?|new tokens)\b|max(?:imum)?[_ ]\w{0,12}?_?tokens/i;

/** Fewest tokens of a context window: smaller numbers count something else. */
const minWindowTokens = 256;

/**
 * The two counts of a text that says that a prompt is beyond the window: the smaller one is the window, whatever the words
 * around them are. `undefined` if it has more or fewer numbers, or counts output too.
 *
 * @example
 * ```ts
 * import { loneCounts } from "./window_counts.ts";
 * const counts = loneCounts("Prompt length 9000 exceeds context window 8192");
 * if (counts?.used !== 9000 || counts.most !== 8192) throw new Error("not read");
 * if (loneCounts("Prompt length 9000 is too long (code 2013)") !== undefined) throw new Error("no window");
 * ```
 */
export function loneCounts(text: string): WindowCounts | undefined {
  const own = unquoted(text);
  if (aboutOutput.test(own)) return undefined;
  const counts = new Set(
    own.match(loneNumber)?.map((digits) => countOf(digits) ?? 0)
      .filter((tokens) => tokens >= minWindowTokens),
  );
  if (counts.size !== 2) return undefined;
  return { used: Math.max(...counts), most: Math.min(...counts) };
}

/** The part of a text before quoted words, which may be the client's. */
function unquoted(text: string): string {
  const quotedAt = text.search(quotation);
  return quotedAt === -1 ? text : text.slice(0, quotedAt);
}

/**
 * Reads a text about the window in a wording that no row of the table has.
 *
 * @returns its counts, if it tells them; `undefined` if it is not about the window, or about the cap alone
 */
export function looseWindow(
  text: string,
): { readonly counts: WindowCounts | undefined } | undefined {
  if (capName.test(text)) return undefined;
  const own = unquoted(text);
  if (!aboutWindow.test(own) || !windowWords.test(own)) return undefined;
  const [used, cap, most] = [inputCount, outputCount, limitCount]
    .map((form) => countOf(form.exec(own)?.[1]));
  if (used === undefined || most === undefined) return { counts: loneCounts(own) };
  if (used > most) return { counts: { used, most } };
  // Numbers by which it fits are read wrongly, unless the cap explains them.
  return { counts: cap === undefined ? undefined : { used, cap, most } };
}
