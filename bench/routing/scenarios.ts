/** Routes that die, slow down, flap, recover and lie, in simulated time. */

/** The outcome of a call that starts at a given moment on a route. */
export type Behaviour = (nowMs: number, random: () => number) => { ok: boolean; ms: number };

export interface Scenario {
  readonly name: string;
  readonly routes: Readonly<Record<string, Behaviour>>;
  /** The first route has priority. */
  readonly preferFirst?: true;
}

export const second = 1000;
export const minute = 60 * second;
const jitter = (ms: number, random: () => number) => ms * (0.7 + 0.6 * random());
export const steady = (ms: number): Behaviour => (_now, random) => ({
  ok: true,
  ms: jitter(ms, random),
});
const refusing: Behaviour = (_now, random) => ({ ok: false, ms: jitter(3, random) });
const stalling: Behaviour = () => ({ ok: false, ms: 30 * second });

function during(from: number, to: number, trouble: Behaviour, otherwise: Behaviour): Behaviour {
  return (nowMs, random) => (nowMs >= from && nowMs < to ? trouble : otherwise)(nowMs, random);
}

export const scenarios: readonly Scenario[] = [
  { name: "all well", routes: { a: steady(300), b: steady(320), c: steady(310) } },
  {
    name: "first dies, comes back",
    routes: {
      a: during(minute, 6 * minute, refusing, steady(300)),
      b: steady(320),
      c: steady(310),
    },
  },
  {
    name: "first stalls",
    routes: {
      a: during(minute, 6 * minute, stalling, steady(300)),
      b: steady(320),
      c: steady(310),
    },
  },
  {
    name: "first slows to 5 s",
    routes: {
      a: during(minute, 6 * minute, steady(5 * second), steady(300)),
      b: steady(320),
      c: steady(310),
    },
  },
  {
    name: "first flaps each 10 s",
    routes: {
      a: (nowMs, random) =>
        (Math.floor(nowMs / (10 * second)) % 2 === 0 ? refusing : steady(300))(nowMs, random),
      b: steady(320),
      c: steady(310),
    },
  },
  {
    name: "first lies: 200, no answer, 3 in 10",
    routes: {
      a: (_now, random) => ({ ok: random() > 0.3, ms: jitter(80, random) }),
      b: steady(320),
      c: steady(310),
    },
  },
  {
    name: "preferred one stalls",
    preferFirst: true,
    routes: {
      a: during(minute, 6 * minute, stalling, steady(300)),
      b: steady(320),
      c: steady(310),
    },
  },
  {
    name: "preferred one flaps each 10 s",
    preferFirst: true,
    routes: {
      a: (nowMs, random) =>
        (Math.floor(nowMs / (10 * second)) % 2 === 0 ? stalling : steady(300))(nowMs, random),
      b: steady(320),
      c: steady(310),
    },
  },
  {
    name: "only the last is left",
    routes: { a: refusing, b: refusing, c: steady(310) },
  },
];
