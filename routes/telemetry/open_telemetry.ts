/**
 * Exports spans and metrics of calls through `@opentelemetry/api`. Deno's own exporter sends them when the process
 * runs with `OTEL_DENO=true`; otherwise this file is not used.
 *
 * Names follow the semantic conventions for generative AI; what they do not name is `gateway.*`. Spans are made when
 * a call is over, with its recorded times, so that a running call holds none.
 */
import {
  type Attributes,
  type Context,
  context,
  type Counter,
  type Histogram,
  type Meter,
  metrics,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
  TraceFlags,
  type Tracer,
} from "@opentelemetry/api";
import type { Catalog } from "../../core/catalog/catalog.ts";
import { formatVnd } from "../../core/billing/money/micro_vnd.ts";
import { billedInputTokens } from "../../core/billing/tokens/token_bounds.ts";
import type { Receipt } from "../../core/billing/usage/receipt.ts";
import type {
  AttemptTiming,
  CallObserver,
  CallTiming,
  RefusedCallLabels,
  RequestLabels,
} from "./telemetry.ts";
import { defined } from "../../core/lib/base/defined.ts";

const scope = "gateway";

const operationNames: Record<Receipt["kind"], string> = {
  chat: "chat",
  image: "generate_content",
  speech: "generate_content",
  video: "generate_content",
  embedding: "embeddings",
  transcription: "generate_content",
  rerank: "rerank",
  moderation: "moderation",
  completion: "text_completion",
};

/** Needs of the observer; tests replace tracer and meter. */
export interface OpenTelemetryOptions {
  /** The catalogue in force. */
  readonly catalog: () => Catalog;
  /** Default: the tracer of the runtime. */
  readonly tracer?: Tracer;
  readonly meter?: Meter;
}

interface Instruments {
  readonly duration: Histogram;
  readonly tokens: Histogram;
  readonly firstToken: Histogram;
  readonly cost: Histogram;
  readonly shortfall: Histogram;
  readonly claim: Histogram;
  readonly refused: Counter;
}

function createInstruments(meter: Meter): Instruments {
  return {
    duration: meter.createHistogram("gen_ai.client.operation.duration", {
      description: "GenAI operation duration",
      unit: "s",
      advice: {
        explicitBucketBoundaries: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12]
          .concat(
            [10.24, 20.48, 40.96, 81.92],
          ),
      },
    }),
    tokens: meter.createHistogram("gen_ai.client.token.usage", {
      description: "Number of input and output tokens used",
      unit: "{token}",
      advice: { explicitBucketBoundaries: Array.from({ length: 14 }, (_, i) => 4 ** i) },
    }),
    firstToken: meter.createHistogram("gen_ai.server.time_to_first_token", {
      description: "Time to generate first token for successful responses",
      unit: "s",
      advice: {
        explicitBucketBoundaries: [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75]
          .concat([1, 2.5, 5, 7.5, 10]),
      },
    }),
    cost: meter.createHistogram("gateway.call.cost", {
      description: "What a call was charged",
      unit: "{VND}",
      advice: { explicitBucketBoundaries: [0, 1, 5, 20, 100, 500, 2_000, 10_000] },
    }),
    shortfall: meter.createHistogram("gateway.call.shortfall", {
      description: "What a call cost beyond what its wallet held",
      unit: "{VND}",
    }),
    claim: meter.createHistogram("gateway.call.claim", {
      description: "What the provider of a call reported beyond what was charged",
      unit: "{VND}",
    }),
    refused: meter.createCounter("gateway.call.refused", {
      description: "Calls that were refused and have no receipt",
      unit: "{call}",
    }),
  };
}

/** The origin of an answer, by the names in the configuration. Never a host. */
interface Origin {
  readonly provider: string | undefined;
  readonly upstreamModel: string | undefined;
}

function originsOf({ models }: Catalog): ReadonlyMap<string, Origin> {
  return new Map(
    models.flatMap(({ routes }) =>
      routes.map(({ id, provider, upstreamModel }) => [id, { provider, upstreamModel }] as const)
    ),
  );
}

class OpenTelemetryObserver implements CallObserver {
  readonly #tracer: Tracer;
  readonly #instruments: Instruments;
  readonly #catalog: () => Catalog;
  #seen: Catalog | undefined;
  #origins: ReadonlyMap<string, Origin> = new Map();
  /** Of the catalogue before: calls end after it. */
  #formerOrigins: ReadonlyMap<string, Origin> = new Map();

  constructor({ catalog, tracer, meter }: OpenTelemetryOptions) {
    this.#tracer = tracer ?? trace.getTracer(scope);
    this.#instruments = createInstruments(meter ?? metrics.getMeter(scope));
    this.#catalog = catalog;
  }

  #originOf(routeId: string): Origin | undefined {
    const catalog = this.#catalog();
    if (catalog !== this.#seen) {
      this.#seen = catalog;
      this.#formerOrigins = this.#origins;
      this.#origins = originsOf(catalog);
    }
    return this.#origins.get(routeId) ?? this.#formerOrigins.get(routeId);
  }

  /** The span ends with the head of the answer; that of a call ends with the call. */
  readonly within = <Answered extends { readonly status: number }>(
    { method, path, traceparent }: RequestLabels,
    answer: () => Answered | Promise<Answered>,
  ): Answered | Promise<Answered> => {
    const parent = parentOf(traceparent);
    const span = this.#tracer.startSpan(method, {
      kind: SpanKind.SERVER,
      attributes: { "http.request.method": method, "url.path": path },
    }, parent);
    const answered = context.with(trace.setSpan(parent, span), answer);
    if (!(answered instanceof Promise)) return ended(span, answered);
    return answered.then((one) => ended(span, one), (error) => {
      span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
      throw error;
    });
  };

  refused({ endpoint, status, code }: RefusedCallLabels): void {
    this.#instruments.refused.add(1, {
      "http.route": endpoint,
      "http.response.status_code": status,
      "error.type": code,
    });
  }

  begin(): Context {
    return context.active();
  }

  call(receipt: Receipt, timing?: CallTiming): void {
    const common = this.#commonAttributes(receipt);
    this.#record(receipt, common);
    this.#trace(receipt, common, timing);
  }

  /** Attributes that spans and metrics share; each has few values. */
  #commonAttributes(receipt: Receipt): Attributes {
    const origin = this.#originOf(receipt.route ?? "");
    const failed = ["failed", "broken", "withheld"].includes(receipt.outcome);
    return {
      "gen_ai.operation.name": operationNames[receipt.kind],
      "gen_ai.provider.name": origin?.provider ?? "none",
      "gen_ai.request.model": receipt.model,
      ...(origin?.upstreamModel === undefined
        ? {}
        : { "gen_ai.response.model": origin.upstreamModel }),
      ...(failed ? { "error.type": lastResult(receipt) } : {}),
    };
  }

  #record(receipt: Receipt, common: Attributes): void {
    const { duration, tokens, firstToken, cost, shortfall, claim } = this.#instruments;
    duration.record(receipt.latencyMs / 1000, common);
    const { usage } = receipt;
    if (usage !== undefined && receipt.kind === "chat") {
      tokens.record(billedInputTokens(usage), { ...common, "gen_ai.token.type": "input" });
      tokens.record(usage.output, { ...common, "gen_ai.token.type": "output" });
    }
    if (receipt.stream && receipt.firstOutputMs !== undefined) {
      firstToken.record(receipt.firstOutputMs / 1000, common);
    }
    // A `number` is enough for statistics; the exact amounts are in the ledger.
    const money = { "gen_ai.request.model": receipt.model, "gateway.outcome": receipt.outcome };
    cost.record(Number(formatVnd(receipt.costMicroVnd)), money);
    if (receipt.shortfallMicroVnd > 0n) {
      shortfall.record(Number(formatVnd(receipt.shortfallMicroVnd)), money);
    }
    if (receipt.claimMicroVnd !== undefined) {
      claim.record(Number(formatVnd(receipt.claimMicroVnd)), money);
    }
  }

  #trace(receipt: Receipt, common: Attributes, timing: CallTiming | undefined): void {
    const origin = isContext(timing?.origin) ? timing.origin : context.active();
    const wallMs = (monotonicMs: number) =>
      receipt.startedAtMs + monotonicMs - (timing?.startedMs ?? 0);
    const endMs = timing === undefined
      ? receipt.startedAtMs + receipt.latencyMs
      : wallMs(timing.endedMs);
    const span = this.#tracer.startSpan(`${common["gen_ai.operation.name"]} ${receipt.model}`, {
      kind: SpanKind.CLIENT,
      startTime: receipt.startedAtMs,
      attributes: { ...common, ...callAttributes(receipt, timing) },
    }, origin);
    const inside = trace.setSpan(origin, span);
    for (const one of timing?.attempts ?? []) this.#traceAttempt(one, inside, wallMs);
    if (timing !== undefined) {
      this.#tracer.startSpan("settle", {
        startTime: wallMs(timing.settleStartedMs),
        attributes: {
          "gateway.cost.vnd": formatVnd(receipt.costMicroVnd),
          "gateway.outcome": receipt.outcome,
        },
      }, inside).end(endMs);
    }
    if (common["error.type"] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(endMs);
  }

  #traceAttempt(
    one: AttemptTiming,
    inside: Context,
    wallMs: (monotonicMs: number) => number,
  ): void {
    const origin = this.#originOf(one.route);
    const span = this.#tracer.startSpan(`attempt ${one.route}`, {
      kind: SpanKind.CLIENT,
      startTime: wallMs(one.startedMs),
      attributes: {
        "gateway.route": one.route,
        "gateway.attempt.result": one.result,
        "gen_ai.provider.name": origin?.provider ?? "none",
        "gen_ai.request.model": origin?.upstreamModel ?? "none",
        ...(isFault(one.result) ? { "error.type": one.result } : {}),
      },
    }, inside);
    if (isFault(one.result)) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(wallMs(one.endedMs));
  }
}

/** Ends the span of a request with the status of its answer. */
function ended<Answered extends { readonly status: number }>(
  span: Span,
  answered: Answered,
): Answered {
  span.setAttribute("http.response.status_code", answered.status);
  if (answered.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
  return answered;
}

/** The position that a client's `traceparent` names, by W3C Trace Context; the beginning of a trace otherwise. */
function parentOf(traceparent: string | null): Context {
  const [, traceId, spanId, flags] =
    /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent ?? "") ?? [];
  if (traceId === undefined || spanId === undefined) return ROOT_CONTEXT;
  const traceFlags = Number.parseInt(flags ?? "", 16) & TraceFlags.SAMPLED;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}

const faultless: ReadonlySet<string> = new Set(["ok", "beaten", "stopped"]);

function isFault(result: string): boolean {
  return !faultless.has(result);
}

function lastResult(receipt: Receipt): string {
  const last = receipt.attempts.at(-1)?.outcome;
  return last === undefined || !isFault(last) ? receipt.outcome : last;
}

/**
 * Whether a value is a context: `begin` makes one and `call` gets it back, through code that does not know
 * OpenTelemetry.
 */
function isContext(value: unknown): value is Context {
  return typeof value === "object" && value !== null && "getValue" in value && "setValue" in value;
}

function callAttributes(receipt: Receipt, timing: CallTiming | undefined): Attributes {
  const { usage } = receipt;
  return {
    ...(usage === undefined ? {} : {
      "gen_ai.usage.input_tokens": billedInputTokens(usage),
      "gen_ai.usage.output_tokens": usage.output,
      "gen_ai.usage.cache_read.input_tokens": usage.cacheRead,
      "gen_ai.usage.cache_creation.input_tokens": usage.cacheWrite,
    }),
    ...(timing?.stopReason === undefined
      ? {}
      : { "gen_ai.response.finish_reasons": [timing.stopReason] }),
    "gateway.request.id": receipt.requestId,
    "gateway.style": receipt.style,
    "gateway.stream": receipt.stream,
    "gateway.outcome": receipt.outcome,
    "gateway.cost.vnd": formatVnd(receipt.costMicroVnd),
    "gateway.usage.estimated": receipt.estimated,
    "gateway.attempts": receipt.attempts.length,
    "http.response.status_code": receipt.status,
    ...defined({
      "gateway.route": receipt.route,
      "gateway.first_output.ms": receipt.firstOutputMs,
    }),
  };
}

/** Makes the observer that exports. */
export function openTelemetry(options: OpenTelemetryOptions): CallObserver {
  return new OpenTelemetryObserver(options);
}
