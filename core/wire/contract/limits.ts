/** Bounds of one answer that the dialects share. */

/** Answers of one Chat call (`n`, `best_of`): money is reserved for each in full. */
export const maxChoices = 16;

/**
 * Bytes of a whole (not streamed) chat answer: 128k tokens of text are under 1 MB, base64 parts need more.
 */
export const maxAnswerBytes = 32 * 1024 * 1024;

/** Bytes of one SSE event: a whole tool argument or an encrypted reasoning item may come in one. */
export const maxSseEventBytes = 8 * 1024 * 1024;

/** Tool calls of one answer: models stop at a few dozen, and each takes a map entry while its stream runs. */
export const maxToolCallsPerAnswer = 512;

/**
 * Bytes of a stream's tool calls that are buffered. These are deltas of later blocks while an earlier call is open, in
 * styles with one open block at a time, and arguments that can only be changed as a whole.
 */
export const bufferedBlockBytes = 8 * 1024 * 1024;

/**
 * Characters of the sources of one streamed answer, which a Chat client gets in one list at the end: enough for about a
 * thousand sources.
 */
export const streamCitationChars = 256 * 1024;

/** Characters of a refusal that the stop reason repeats: refusals are a sentence or two. */
export const maxRefusalChars = 16_384;
