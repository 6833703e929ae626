/**
 * Compares secrets without telling by time how much of them agrees: both are hashed, and hashes of equal length are
 * compared in full.
 */
export async function equalSecrets(one: string, other: string): Promise<boolean> {
  const encoder = new TextEncoder();
  const [a, b] = await Promise.all([
    crypto.subtle.digest("SHA-256", encoder.encode(one)),
    crypto.subtle.digest("SHA-256", encoder.encode(other)),
  ]);
  const left = new Uint8Array(a);
  const right = new Uint8Array(b);
  let difference = 0;
  for (const [i, byte] of left.entries()) difference |= byte ^ right[i]!;
  return difference === 0;
}
