/** The length of Opus packets (RFC 6716 section 3.1), which their first bytes decide. */

/** Samples of one packet at most: 120 ms. */
const maxPacketSamples = 5_760;

/** Opus counts in these, whatever the rate of the recording. */
export const opusHertz = 48_000;

/** Returns the samples of a packet by its first two bytes. */
export function opusPacketSamples(first: number, second: number): number {
  const mode = first >> 3;
  const frame = mode < 12
    ? [480, 960, 1_920, 2_880][mode & 3]!
    : mode < 16
    ? [480, 960][mode & 1]!
    : [120, 240, 480, 960][mode & 3]!;
  const code = first & 3;
  const frames = code === 0 ? 1 : code === 3 ? second & 63 : 2;
  return Math.min(frame * frames, maxPacketSamples);
}
