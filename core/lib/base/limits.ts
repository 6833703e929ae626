/** Bounds of a call that every layer has to agree on. A bound with one user is beside that user. */

/**
 * Bytes of one request body, measured as they are read, so that chunked bodies count too. 20 MB carries several
 * pictures or a long transcript.
 */
export const maxRequestBodyBytes = 20 * 1024 * 1024;

/** Characters of a model name. Clients choose it, and it is used as a map key and in headers. */
export const maxModelNameChars = 256;

/** Milliseconds of one call, streams included: longer than the 10 minutes that the vendors' own SDKs wait. */
export const maxCallMs = 15 * 60_000;
