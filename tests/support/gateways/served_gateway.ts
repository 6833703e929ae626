/** A gateway as `deno task start` serves it, but in this process: real sockets, a store in memory. */
import { systemClock } from "../../../core/lib/time/clock.ts";
import { serve } from "../../../routes/server/serve.ts";
import { testConfig, type TestGatewayOptions } from "./gateway_in_process.ts";
import { TestBrowser } from "../browser/test_browser.ts";

export interface ServedGateway extends AsyncDisposable {
  /** What the banner names, e.g. `http://127.0.0.1:54321`. */
  readonly address: string;
  /** Lines so far: the banner and the log. */
  readonly lines: readonly string[];
  /** The first line that matches, now or later. */
  line(pattern: RegExp): Promise<string>;
  /** Tells the gateway to stop, as SIGTERM does; resolves when it has. */
  stop(): Promise<void>;
  /** A browser that has typed in `origin`, by default the address of the banner. */
  browser(origin?: string): TestBrowser;
}

/** Serves on a free port until it is disposed of. */
export async function serveGateway(options: TestGatewayOptions = {}): Promise<ServedGateway> {
  const config = testConfig({ ...options, env: { PORT: "0", ...options.env } });
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  const stop = new AbortController();
  const ended = serve(config, {
    clock: systemClock,
    random: Math.random,
    signal: stop.signal,
    write(text) {
      lines.push(text);
      for (const wake of waiting) wake();
    },
  });

  async function line(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = lines.find((text) => pattern.test(text));
      if (found !== undefined) return found;
      const next = Promise.withResolvers<void>();
      waiting.add(next.resolve);
      const over = await Promise.race([next.promise, ended]);
      waiting.delete(next.resolve);
      if (over !== undefined) throw new Error(`It ended with code ${over}:\n${lines.join("\n")}`);
    }
  }

  const address = /listening on (\S+)/.exec(await line(/listening on/))![1]!;
  return {
    address,
    lines,
    line,
    browser: (origin = address) =>
      new TestBrowser((request) => fetch(request, { redirect: "manual" }), origin),
    async stop() {
      stop.abort();
      await ended;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await ended;
    },
  };
}
