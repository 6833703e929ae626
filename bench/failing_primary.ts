/**
 * A preferred provider in trouble under steady load: do clients notice, and what does it cost them once the breaker is
 * open? Compared with the same load on the same gateway with both providers well.
 * Run: `deno run --allow-all bench/failing_primary.ts [seconds] [calls per second]`.
 */
import {
  chunk,
  chunkedHead,
  lastChunk,
  strictEnd,
  transcripts,
  type Unruly,
  UnrulyWorld,
} from "../tests/support/worlds/unruly_world.ts";
import { print } from "./print.ts";
import { quantile } from "./statistics.ts";

/** The failure of the preferred provider. */
export type Trouble = "none" | "refuses" | "answers 500" | "breaks off" | "hangs";

export const troubles: readonly Trouble[] = [
  "none",
  "refuses",
  "answers 500",
  "breaks off",
  "hangs",
];

export interface TroubleResult {
  readonly calls: number;
  /** Calls whose client did not get exactly one complete answer. */
  readonly clientErrors: number;
  /** Calls that began before the breaker of the preferred route opened; all of them if it never did. */
  readonly before: readonly number[];
  /** Milliseconds of the calls that began after it. */
  readonly after: readonly number[];
  readonly breakerOpened: boolean;
}

interface Call {
  readonly startedMs: number;
  readonly ms: number;
}

function provider(trouble: Trouble, told: string): Unruly | "refusing" {
  if (trouble === "refuses") return "refusing";
  // One write: with several, Nagle's algorithm of the peer would delay the second by 40 ms.
  const whole = chunkedHead() + new TextDecoder().decode(chunk(told)) + lastChunk;
  return async (conversation) => {
    for (;;) {
      if (trouble === "hangs") return await conversation.clientGone();
      if (trouble === "breaks off") return void await conversation.say(chunkedHead());
      const said = trouble === "answers 500"
        ? await conversation.say("HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n")
        : await conversation.say(whole);
      if (!said || await conversation.request() === null) return;
    }
  };
}

/** Runs `calls` streaming calls, one each `everyMs`, whether or not the preceding ones are done. */
export async function underTrouble(
  trouble: Trouble,
  load: { readonly calls: number; readonly everyMs: number },
): Promise<TroubleResult> {
  const told = (await transcripts()).chat.stream;
  await using world = await UnrulyWorld.open({
    providers: { primary: provider(trouble, told), backup: provider("none", told) },
  });
  const done: Call[] = [];
  let clientErrors = 0;
  const one = async (): Promise<void> => {
    const startedMs = Date.now();
    const preciseMs = performance.now();
    try {
      const answer = await world.call("chat", true);
      if (answer.status !== 200 || strictEnd("chat", answer.bytes) !== "whole") clientErrors++;
    } catch {
      clientErrors++;
    }
    done.push({ startedMs, ms: performance.now() - preciseMs });
  };
  const running: Promise<void>[] = [];
  const beganMs = performance.now();
  for (let i = 0; i < load.calls; i++) {
    const waitMs = beganMs + i * load.everyMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    running.push(one());
  }
  await Promise.all(running);
  await world.checkBooks(load.calls);
  const opened = world.logLines.find(({ message, state }) =>
    message === "route state" && state === "open"
  );
  const openedMs = opened === undefined ? Infinity : Date.parse(String(opened["time"]));
  const msOf = (calls: readonly Call[]) => calls.map(({ ms }) => ms);
  return {
    calls: load.calls,
    clientErrors,
    before: msOf(done.filter(({ startedMs }) => startedMs <= openedMs)),
    after: msOf(done.filter(({ startedMs }) => startedMs > openedMs)),
    breakerOpened: opened !== undefined,
  };
}

if (import.meta.main) {
  const seconds = Number(Deno.args[0] ?? 15);
  const perSecond = Number(Deno.args[1] ?? 200);
  const load = { calls: seconds * perSecond, everyMs: 1000 / perSecond };
  await underTrouble("none", { calls: 400, everyMs: 2 }); // warm
  print(`${load.calls} calls at ${perSecond}/s each; times in ms until the whole answer is there`);
  print(
    "preferred one   client errors  calls before open  worst of them   p50     p95     +p50    +p95",
  );
  let well: readonly number[] = [];
  for (const trouble of troubles) {
    const result = await underTrouble(trouble, load);
    const steady = result.breakerOpened ? result.after : result.before;
    if (trouble === "none") well = steady;
    const figure = (value: number) => value.toFixed(2).padStart(7);
    const [p50, p95] = [quantile(steady, 0.5), quantile(steady, 0.95)];
    print([
      trouble.padEnd(15),
      String(result.clientErrors).padStart(13),
      String(result.breakerOpened ? result.before.length : 0).padStart(18),
      figure(result.breakerOpened ? Math.max(...result.before) : 0).padStart(14),
      figure(p50),
      figure(p95),
      figure(p50 - quantile(well, 0.5)),
      figure(p95 - quantile(well, 0.95)),
    ].join(" "));
  }
  Deno.exit();
}
