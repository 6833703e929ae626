/** A clock that all processes of a machine share, in ms since 1970 with a fraction. */
export const preciseNowMs = () => performance.timeOrigin + performance.now();

/** Every event of the mock upstream contains this marker, followed by {@linkcode stampChars} of its sending time. */
export const stampSign = 64;

/** `1731240000000.123` */
export const stampChars = 17;

export function stamp(): string {
  return `@${preciseNowMs().toFixed(3)}`;
}
