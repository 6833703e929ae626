/** One try of one route as something that can be raced, stopped and reported. */
import type { Route } from "../catalog/catalog.ts";
import type { Clock } from "../clock.ts";
import type { Deadlines } from "../deadlines.ts";
import { GatewayError } from "../errors.ts";
import type { Attempt } from "../receipt.ts";
import {
  asGatewayError,
  attemptAnswer,
  type AttemptHandlers,
  attemptStream,
  type StartedStream,
  type WholeAnswer,
} from "./attempt.ts";
import { type CallControl, stopError } from "./call_control.ts";

/** How a try ended, for the health of its route. */
export type AttemptResult =
  | { readonly kind: "ok"; readonly ms: number }
  | { readonly kind: "failed"; readonly ms: number; readonly error: GatewayError }
  /** Ended from outside; says nothing about the route. */
  | { readonly kind: "stopped"; readonly ms: number };

export interface RacerInput<Handlers extends AttemptHandlers> {
  readonly route: Route;
  readonly start: (route: Route) => Handlers;
  readonly stream: boolean;
  readonly slowAfterMs: number;
  readonly deadlines: Deadlines;
  readonly clock: Clock;
  readonly control: CallControl;
  readonly report: (route: Route, result: AttemptResult) => void;
}

export type RaceOutcome<Handlers extends AttemptHandlers> =
  | {
    readonly ok: true;
    readonly route: Route;
    readonly handlers: Handlers;
    readonly result: StartedStream | WholeAnswer;
  }
  | { readonly ok: false; readonly error: GatewayError; readonly mayRepeat: boolean };

export class Racer<Handlers extends AttemptHandlers> {
  readonly route: Route;
  /** Never rejects for anything but a bug. */
  readonly outcome: Promise<RaceOutcome<Handlers>>;
  readonly #input: RacerInput<Handlers>;
  readonly #startedMs: number;
  #handlers: Handlers | undefined;
  #beaten = false;
  #slow = false;
  #attempt: Attempt | undefined;

  constructor(input: RacerInput<Handlers>) {
    this.route = input.route;
    this.#input = input;
    this.#startedMs = input.clock.monotonicMs();
    this.outcome = this.#run();
  }

  /** What the receipt says of this try; set when {@linkcode outcome} is. */
  get attempt(): Attempt | undefined {
    return this.#attempt;
  }

  /** Another route was quicker: stop, and do not hold it against this one. */
  beat(): void {
    this.#beaten = true;
    this.#handlers?.exchange.cancel();
  }

  async #run(): Promise<RaceOutcome<Handlers>> {
    const { input, cancel } = {
      input: this.#input,
      cancel: () => this.#handlers?.exchange.cancel(),
    };
    const slowness = input.deadlines.create(() => {
      this.#slow = true;
      cancel();
    });
    try {
      const handlers = input.start(input.route);
      this.#handlers = handlers;
      input.control.attach(cancel);
      if (input.stream) slowness.arm(input.slowAfterMs);
      const result = input.stream ? await attemptStream(handlers) : await attemptAnswer(handlers);
      this.#finish("ok", (ms) => ({ kind: "ok", ms }));
      return { ok: true, route: input.route, handlers, result };
    } catch (failure) {
      cancel();
      return this.#failed(failure);
    } finally {
      slowness.disarm();
      input.control.detach(cancel);
    }
  }

  #failed(failure: unknown): RaceOutcome<Handlers> {
    const { stopped } = this.#input.control;
    if (this.#beaten || stopped !== undefined) {
      this.#finish(this.#beaten ? "beaten" : "stopped", (ms) => ({ kind: "stopped", ms }));
      return { ok: false, error: stopError(stopped ?? "client_gone"), mayRepeat: false };
    }
    const error = this.#slow
      ? new GatewayError("upstream_timeout", "The provider of this model did not answer in time")
      : asGatewayError(failure);
    this.#finish(error.code, (ms) => ({ kind: "failed", ms, error }));
    return { ok: false, error, mayRepeat: this.#handlers?.mayRepeat?.() ?? false };
  }

  #finish(outcome: string, result: (ms: number) => AttemptResult): void {
    const ms = Math.round(this.#input.clock.monotonicMs() - this.#startedMs);
    this.#attempt = { route: this.route.id, outcome, ms };
    this.#input.report(this.route, result(ms));
  }
}
