/** Bounds that several steps of a call share. */

/** Milliseconds of silence after which the client gets a keep-alive, below the 30–60 s that proxies allow. */
export const keepAliveMs = 15_000;
