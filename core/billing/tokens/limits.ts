/** Bounds of token counts, used where a call is admitted and where its usage is checked. */

/** Output tokens that one call may ask for, whatever the model: keeps prices far from overflow. */
export const maxOutputTokensOfCall = 10_000_000;

/**
 * Tokens of one reported count; a larger number is no count. The largest context is 1–2 million. Calls have
 * tighter bounds of their own.
 */
export const maxReportedTokens = 100_000_000;

/** Tokens of reported output allowed on top of the multiple: some vendors raise a limit of 1 token to 16. */
export const reportedOutputExtra = 64;

/**
 * Multiple of the model's longest output that text and reasoning together may reach. At some vendors
 * reasoning ignores the caller's limit, as does text at servers that do not know its field. A configuration
 * without that figure gets 16,384, and many models write four times as much.
 */
export const reportedModelOutputs = 4;

/**
 * Bytes of text that one token can represent: the longest entries of current vocabularies are 128 spaces.
 * Ordinary text has three to eight bytes per token; above 128 the report is invalid, whatever the language.
 */
export const maxBytesPerToken = 128;
