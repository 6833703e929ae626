/** Bounds that several files of this folder share. */

/**
 * Attempts of a check-and-set on a wallet. Credits and draws are rare, so losing this often means a fault.
 */
export const walletWriteAttempts = 16;
