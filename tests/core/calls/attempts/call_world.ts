/** What the tests of calls share: routes, manual time, and the events of a Chat stream. */
import type { Route } from "../../../../core/catalog/catalog.ts";
import {
  attemptAnswer,
  type AttemptHandlers,
  attemptStream,
  type StartedStream,
  type WholeAnswer,
} from "../../../../core/calls/attempts/attempt.ts";
import {
  type AttemptHost,
  type AttemptLoopInput,
  type AttemptResult,
  CallControl,
  runAttempts,
} from "../../../../core/calls/attempts/attempt_loop.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import { readAnswer } from "../../../../core/wire/convert/answer_reading.ts";
import { decodeProviderError } from "../../../../core/wire/convert/provider_errors.ts";
import { createNativePipe } from "../../../../core/wire/convert/dialects.ts";
import { defined } from "../../../../core/lib/base/defined.ts";
import { ManualTime } from "../../../support/manual_time.ts";
import { FakeExchange } from "../stream/fake_exchange.ts";

export const tickMs = 10;

function routeOf(id: string): Route {
  return {
    id,
    provider: id.split("/")[0] ?? id,
    upstreamModel: "m",
    style: "chat",
    region: undefined,
    priority: 0,
    weight: 1,
    countTokens: false,
    allow: new Set(),
    capabilities: {},
  };
}

export const chatStream = {
  role: 'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n',
  text: (text: string) =>
    `data: {"choices":[{"index":0,"delta":{"content":${JSON.stringify(text)}}}]}\n\n`,
  stop: 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n',
  usage: (input: number, output: number) =>
    `data: {"choices":[],"usage":{"prompt_tokens":${input},"completion_tokens":${output},"total_tokens":${
      input + output
    }}}\n\n`,
  done: "data: [DONE]\n\n",
  error: (type: string) => `data: {"error":{"message":"so it is","type":"${type}"}}\n\n`,
};

export const wholeAnswer = JSON.stringify({
  choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
});

export function newChatPipe() {
  return createNativePipe("chat", {
    clientModel: "m",
    requestId: "req_1",
    clientWantsUsage: true,
    nowSeconds: 0,
    injectedUsage: false,
  });
}

export interface World {
  readonly time: ManualTime;
  readonly deadlines: Deadlines;
  readonly control: CallControl;
  /** All exchanges so far, with the route that began them. */
  readonly tries: { readonly route: string; readonly exchange: FakeExchange }[];
  readonly reports: { readonly route: string; readonly result: AttemptResult }[];
  readonly bugs: unknown[];
  /** The exchange of a route that was tried once. */
  of(route: string): FakeExchange;
}

type ChatResult = StartedStream | WholeAnswer;

export interface WorldOptions
  extends
    Partial<Pick<AttemptHost<AttemptHandlers, ChatResult>, "start" | "firstOutput">>,
    Partial<Pick<AttemptLoopInput<AttemptHandlers, ChatResult>, "hedge" | "control">> {
  readonly routes: readonly string[];
  /** Default: a stream is asked for. */
  readonly stream?: boolean;
  /** What each new exchange does at once. */
  readonly script?: (route: string, exchange: FakeExchange) => void;
  readonly slowAfterMs?: number;
  /** Time without output after which a try is given up; default: none. */
  readonly givenUpAfterMs?: number;
  readonly mayRepeat?: (route: string) => boolean;
  readonly handlers?: Partial<AttemptHandlers>;
}

/** Runs the attempt loop in a world of its own. */
export function tryRoutes(options: WorldOptions) {
  const time = new ManualTime();
  const deadlines = new Deadlines({ clock: time, timer: time, tickMs });
  const control = options.control ?? new CallControl();
  const tries: World["tries"] = [];
  const reports: World["reports"] = [];
  const bugs: unknown[] = [];
  const host: AttemptHost<AttemptHandlers, ChatResult> = {
    start(route) {
      const exchange = new FakeExchange();
      tries.push({ route: route.id, exchange });
      options.script?.(route.id, exchange);
      return {
        exchange,
        createPipe: newChatPipe,
        readAnswer: (body) => readAnswer("chat", body),
        toClient: ({ bytes }) => bytes,
        decodeError: (status, body, waitSeconds) =>
          decodeProviderError("chat", status, body, {
            native: true,
            ...(waitSeconds === undefined ? {} : { retryAfterSeconds: waitSeconds }),
          }),
        mayRepeat: () => options.mayRepeat?.(route.id) ?? false,
        ...options.handlers,
      };
    },
    firstOutput: (begun, onSign) =>
      options.stream === false
        ? attemptAnswer(begun, { clock: time, deadlines })
        : attemptStream(begun, { clock: time, deadlines }, onSign),
    timeoutMs: () => options.givenUpAfterMs,
    slowAfterMs: () => options.stream === false ? undefined : options.slowAfterMs ?? 30_000,
    report: (route, outcome) => reports.push({ route: route.id, result: outcome }),
    onBug: (error) => bugs.push(error),
    ...defined({ start: options.start, firstOutput: options.firstOutput }),
  };
  const result = runAttempts<AttemptHandlers, ChatResult>({
    candidates: options.routes.map(routeOf),
    hedge: options.hedge,
    host,
    deadlines,
    clock: time,
    control,
  });
  const world: World = {
    time,
    deadlines,
    control,
    tries,
    reports,
    bugs,
    of(route) {
      const found = tries.filter((one) => one.route === route);
      if (found.length !== 1) throw new Error(`${route} was tried ${found.length} times`);
      return found[0]!.exchange;
    },
  };
  return { world, result };
}
