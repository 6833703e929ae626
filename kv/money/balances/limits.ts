/** A bound of every write that moves money. */

/**
 * Attempts of a check-and-set on a wallet. Credits and draws are rare, so losing this often means a fault.
 */
export const walletWriteAttempts = 16;
