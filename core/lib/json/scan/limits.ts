/** Bounds of one JSON text, for each of the scanners that enforce them. */

/** Levels of nesting in JSON: deeper than any SDK builds, and far from where recursion exhausts the stack. */
export const maxJsonDepth = 128;

/**
 * Values of one JSON body. A transcript of an agent has one in 20 to 150 bytes: 200,000 in 20 MB of text, and
 * no model reads half of that. Parsing this many takes a tenth of a second and some 50 MB at worst.
 */
export const maxJsonValues = 500_000;

/**
 * Different field names in one JSON body: each new one costs the engine as much as twenty values. A request
 * has dozens; a thousand tools with twenty arguments each have 20,000.
 */
export const maxJsonNames = 50_000;

/**
 * Numbers of one JSON text outside the range of `number` (64-bit ids, mostly). Each is kept as an object and
 * costs some microseconds; this many, as tokens, fill a context of a million.
 */
export const maxExactNumbers = 100_000;
