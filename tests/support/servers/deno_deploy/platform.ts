/**
 * Runs before the entry of an isolate and takes the place of the platform: schedules of cron are only recorded, long
 * timers never fire, no socket opens to a peer, and signals fire cron or let the wall clock jump as it does over a
 * freeze.
 */

/** Milliseconds from which a timer does not fire: the isolate is frozen or killed before. */
const longestTimerMs = 1_000;

/** Milliseconds by which SIGUSR1 advances the wall clock. */
const freezeMs = 120_000;

const say = (text: string) =>
  Deno.stderr.writeSync(new TextEncoder().encode(`platform: ${text}\n`));

let isServing = false;
const schedules: { readonly name: string; readonly handler: () => unknown }[] = [];
Object.defineProperty(Deno, "cron", {
  value(name: string, schedule: string, handler: () => unknown) {
    if (isServing) say(`cron ${name} was registered too late`);
    else say(`cron ${name} at ${schedule}`);
    schedules.push({ name, handler });
    return new Promise(() => {});
  },
});

const { serve, openKv } = Deno;
Object.defineProperty(Deno, "serve", {
  value(...args: Parameters<typeof serve>) {
    isServing = true;
    return serve(...args);
  },
});
Object.defineProperty(Deno, "openKv", {
  value(path?: string) {
    if (path !== undefined) say(`opened the store ${path}`);
    return openKv(path);
  },
});

// The platform forbids it to port 443 only, where providers and most other peers listen; `fetch` is free of that.
Object.defineProperty(Deno, "connect", {
  value: () => Promise.reject(new Deno.errors.NotCapable("the platform forbids this connection")),
});

const { setTimeout: start, setInterval: repeat } = globalThis;
const never = () => {};
type Run = (...args: unknown[]) => void;
Object.defineProperty(globalThis, "setTimeout", {
  value: (run: Run, delayMs = 0, ...args: unknown[]) =>
    delayMs >= longestTimerMs ? start(never, 0) : start(() => run(...args), delayMs),
});
Object.defineProperty(globalThis, "setInterval", {
  value: (run: Run, delayMs = 0, ...args: unknown[]) =>
    delayMs >= longestTimerMs ? start(never, 0) : repeat(() => run(...args), delayMs),
});

let aheadMs = 0;
const now = Date.now;
Date.now = () => now() + aheadMs;
Deno.addSignalListener("SIGUSR1", () => {
  aheadMs += freezeMs;
  say("thawed");
});
Deno.addSignalListener("SIGUSR2", async () => {
  await Promise.all(schedules.map(({ handler }) => handler()));
  say("cron has run");
});
