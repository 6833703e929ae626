/** Bounds of what media calls take from clients. */

/** Characters of a video or image prompt: the largest bound of any provider. */
export const maxMediaPromptChars = 32_000;

/** Addresses of one name that are tried for a client's URL; large sites have up to 8. */
export const maxResolvedAddresses = 8;

/** Bytes of one file behind a client's URL: no more than the client could have sent itself. */
export const maxRemoteMediaBytes = 20 * 1024 * 1024;
