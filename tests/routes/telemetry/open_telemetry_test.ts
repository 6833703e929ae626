import { assert, assertEquals } from "../../support/assert.ts";
import { startGateway } from "../../support/gateways/started_gateway.ts";
import { until } from "../../support/until.ts";
import { bearerPost } from "../../support/api_post.ts";

interface Attribute {
  readonly key: string;
  readonly value: Record<string, unknown>;
}

interface Span {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly Attribute[];
  readonly status?: { readonly code?: number };
}

interface Metric {
  readonly name: string;
  readonly unit?: string;
}

/** A collector that takes what Deno's exporter sends, as OTLP over HTTP in JSON. */
class Collector implements AsyncDisposable {
  readonly bodies: string[] = [];
  readonly #server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request) => {
      this.bodies.push(`${new URL(request.url).pathname} ${await request.text()}`);
      return Response.json({});
    },
  );

  get endpoint(): string {
    return `http://127.0.0.1:${this.#server.addr.port}`;
  }

  #sent(path: string): Record<string, never[]>[] {
    return this.bodies.filter((body) => body.startsWith(`${path} `))
      .map((body) => JSON.parse(body.slice(path.length + 1)));
  }

  get spans(): Span[] {
    return this.#sent("/v1/traces").flatMap(({ resourceSpans = [] }) =>
      resourceSpans.flatMap(({ scopeSpans }: { scopeSpans: { spans: Span[] }[] }) =>
        scopeSpans.flatMap(({ spans }) => spans)
      )
    );
  }

  get metrics(): Metric[] {
    return this.#sent("/v1/metrics").flatMap(({ resourceMetrics = [] }) =>
      resourceMetrics.flatMap(({ scopeMetrics }: { scopeMetrics: { metrics: Metric[] }[] }) =>
        scopeMetrics.flatMap(({ metrics }) => metrics)
      )
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

function attributesOf(span: Span | undefined): Record<string, unknown> {
  return Object.fromEntries(
    (span?.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]),
  );
}

Deno.test(
  "OTEL_DENO=true: spans and metrics by the conventions for generative AI, no prompt, no key",
  {
    sanitizeOps: false,
    sanitizeResources: false,
  },
  async () => {
    await using collector = new Collector();
    let key: string;
    {
      await using gateway = await startGateway({
        env: {
          // Only the gateway's own server makes spans without the query of a URL.
          GATEWAY_HTTP_SERVER: "own",
          OTEL_DENO: "true",
          OTEL_DENO_CONSOLE: "ignore",
          OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
          OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
          OTEL_METRIC_EXPORT_INTERVAL: "500",
          OTEL_BSP_SCHEDULE_DELAY: "200",
        },
      });
      key = gateway.key;
      for (const stream of [true, false]) {
        const response = await fetch(bearerPost(`${gateway.address}/v1/chat/completions`, key, {
          model: "premium-1",
          stream,
          max_tokens: 50,
          messages: [{ role: "user", content: "A prompt that nobody else may read" }],
        }, { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01" }));
        await response.text();
      }
      const asked = await fetch(
        `${gateway.address}/v1beta/models/premium-1:generateContent?key=${key}`,
        {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ contents: [{ role: "user", parts: [{ text: "Hi" }] }] }),
        },
      );
      await asked.text();
      assertEquals(asked.status, 200);
      await until(
        () =>
          collector.spans.filter(({ name }) => name === "settle").length === 3 &&
          collector.metrics.some(({ name }) => name === "gen_ai.client.token.usage"),
        "all is exported",
      );
    }

    const { spans } = collector;
    const requests = spans.filter((span) => attributesOf(span)["url.path"] !== undefined);
    assertEquals(
      requests.map((span) => attributesOf(span)["http.response.status_code"]),
      [200, 200, 200],
    );
    const ofGemini = requests.find(({ name, traceId }) =>
      name === "POST" && traceId !== "0af7651916cd43dd8448eb211c80319c"
    );
    assertEquals(
      attributesOf(ofGemini)["url.path"],
      "/v1beta/models/premium-1:generateContent",
    );
    const calls = spans.filter(({ name, traceId }) =>
      name === "chat premium-1" && traceId !== ofGemini?.traceId
    );
    assertEquals(calls.length, 2, spans.map(({ name }) => name).join());
    for (const call of calls) {
      assertEquals(call.traceId, "0af7651916cd43dd8448eb211c80319c", "the client's trace goes on");
      const attributes = attributesOf(call);
      assertEquals(attributes["gen_ai.operation.name"], "chat");
      assertEquals(attributes["gen_ai.request.model"], "premium-1");
      assertEquals(attributes["gen_ai.response.model"], "premium-1");
      assertEquals(attributes["gen_ai.provider.name"], "sandbox");
      assert(Number(attributes["gen_ai.usage.input_tokens"]) > 0);
      assert(Number(attributes["gen_ai.usage.output_tokens"]) > 0);
      assert(Number(attributes["gateway.cost.vnd"]) > 0);
      assertEquals(attributes["gateway.outcome"], "completed");
      const inside = spans.filter(({ parentSpanId }) => parentSpanId === call.spanId);
      assertEquals(
        inside.map(({ name }) => name.split(" ")[0]).sort(),
        ["attempt", "settle"],
        "one try, one settlement",
      );
      for (const { startTimeUnixNano, endTimeUnixNano } of inside) {
        assert(BigInt(startTimeUnixNano) >= BigInt(call.startTimeUnixNano) - 2_000_000n);
        assert(BigInt(endTimeUnixNano) <= BigInt(call.endTimeUnixNano) + 2_000_000n);
        assert(BigInt(startTimeUnixNano) <= BigInt(endTimeUnixNano));
      }
    }
    const units = new Map(collector.metrics.map(({ name, unit }) => [name, unit]));
    assertEquals(units.get("gen_ai.client.operation.duration"), "s");
    assertEquals(units.get("gen_ai.client.token.usage"), "{token}");
    assertEquals(units.get("gen_ai.server.time_to_first_token"), "s");
    assertEquals(units.get("gateway.call.cost"), "{VND}");
    const everything = collector.bodies.join("\n");
    for (const secret of [key, key.slice(3), "nobody else may read"]) {
      assert(!everything.includes(secret), "a secret left with the telemetry");
    }
  },
);
