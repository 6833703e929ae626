/** Time that two processes of one machine agree on, in ms since 1970 with a fraction. */
export const preciseNowMs = () => performance.timeOrigin + performance.now();

/** Every event of the mock upstream carries this sign and then {@linkcode stampChars} of its sending time. */
export const stampSign = 64;

/** `1731240000000.123` */
export const stampChars = 17;

export function stamp(): string {
  return `@${preciseNowMs().toFixed(3)}`;
}
