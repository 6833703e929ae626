import { assert, assertEquals } from "../../../support/assert.ts";
import {
  type AttemptHandlers,
  maxPreambleBytes,
  refusalBodyMs,
  type StartedStream,
  type WholeAnswer,
} from "../../../../core/calls/attempts/attempt.ts";
import {
  type AttemptLoopResult,
  attemptsPerCall,
  attemptsPerRoute,
} from "../../../../core/calls/attempts/attempt_loop.ts";
import { GatewayError } from "../../../../core/lib/errors/errors.ts";
import { maxErrorBodyBytes } from "../../../../core/net/transport/read_whole.ts";
import { chatStream, tryRoutes, wholeAnswer } from "./call_world.ts";
import { type FakeExchange, settled } from "../stream/fake_exchange.ts";

type Result = AttemptLoopResult<AttemptHandlers, StartedStream | WholeAnswer>;

function errorOf(result: Result): GatewayError {
  assert(!result.ok, "it should have failed");
  return result.error;
}

function textOf(result: Result): string {
  assert(result.ok, result.ok ? "" : result.error.message);
  const { result: found } = result;
  return new TextDecoder().decode(found.kind === "stream" ? found.preamble : found.clientBytes);
}

const outcomes = (result: Result) =>
  result.attempts.map(({ route, outcome }) => `${route} ${outcome}`);
const noSuchModel = '{"error":{"message":"The model m does not exist","code":"model_not_found"}}';
const json = { "content-type": "application/json" };
const good = (exchange: FakeExchange) => exchange.head().send(chatStream.text("Hello"));

Deno.test("a role, pings and comments are not output: they are held back until the first text", async () => {
  const { world, result } = tryRoutes({ routes: ["a"] });
  const exchange = world.of("a").head().send(": ping\n\n", chatStream.role);
  await settled();
  assertEquals(world.reports, [], "nothing is decided yet");
  exchange.send(chatStream.text("Hello"));
  const found = await result;
  assertEquals(textOf(found), `: ping\n\n${chatStream.role}${chatStream.text("Hello")}`);
  assertEquals(outcomes(found), ["a ok"]);
  assertEquals(world.reports.map(({ result: { kind } }) => kind), ["ok"]);
});

Deno.test("after a route's time the next one starts beside it; the slower one is closed", async () => {
  const { world, result } = tryRoutes({ routes: ["a", "b"], slowAfterMs: 1_000 });
  world.of("a").head().send(chatStream.role);
  await settled();
  world.time.advance(1_100);
  await settled();
  assert(!world.of("a").wasCancelled, "slow is not dead");
  good(world.of("b"));
  const found = await result;
  assertEquals(outcomes(found), ["b ok", "a beaten"]);
  assert(world.of("a").wasCancelled);
  assertEquals(textOf(found), chatStream.text("Hello"), "nothing of the first route's preamble");
  assertEquals(world.deadlines.armedCount, 0);
});

Deno.test("output that arrives as its route is given up is not read from a closed exchange", async () => {
  const { world, result } = tryRoutes({ routes: ["a", "b"], givenUpAfterMs: 1_000 });
  const late = world.of("a").head().send(chatStream.role);
  await settled();
  late.send(chatStream.text("Too late"));
  world.time.advance(1_100);
  await settled();
  assert(late.wasCancelled);
  good(world.of("b"));
  const found = await result;
  assertEquals(outcomes(found), ["a upstream_timeout", "b ok"]);
  assertEquals(textOf(found), chatStream.text("Hello"));
  assertEquals(world.reports.map(({ result: { kind } }) => kind), ["failed", "ok"]);
});

Deno.test("the timeout of a route ends with its first output", async () => {
  const { world, result } = tryRoutes({ routes: ["a", "b"], slowAfterMs: 1_000 });
  good(world.of("a"));
  assert((await result).ok);
  world.time.advance(10_000);
  await settled();
  assertEquals(world.of("a").cancels, 0);
});

const beforeOutput: Record<string, (exchange: FakeExchange) => void> = {
  "refuses the connection": (x) => x.fail("connect"),
  "breaks before the head": (x) => x.fail("cut"),
  "breaks after the head": (x) => x.head().fail("cut"),
  "breaks after the preamble": (x) => x.head().send(chatStream.role).fail("cut"),
  "ends cleanly after the preamble": (x) => x.head().send(chatStream.role).end(),
  "ends without a byte": (x) => x.head().end(),
  "falls silent": (x) => x.head().fail("timeout"),
  "speaks no HTTP": (x) => x.fail("protocol"),
  "reports an error before output": (x) => x.head().send(chatStream.error("server_error")),
  "reports an error in the piece that holds the first output": (x) =>
    x.head().send(chatStream.text("Hel") + chatStream.error("overloaded_error")),
  "answers 200 with an error object": (x) =>
    x.head(200, json).send('{"error":{"message":"no","type":"server_error"}}').end(),
  "answers 200 with a page": (x) =>
    x.head(200, { "content-type": "text/html" }).send("<html>Sorry</html>").end(),
  "answers 200 with a page and no type": (x) => x.head(200, {}).send("<html>Sorry</html>").end(),
  "answers 200 with a whole answer": (x) => x.head(200, json).send(wholeAnswer).end(),
  "packs its answer in a way that cannot be undone": (x) =>
    x.head(200, { "content-type": "text/event-stream", "content-encoding": "zstd" })
      .send(new Uint8Array([0x28, 0xb5, 0x2f, 0xfd])),
  "packs its answer badly": (x) =>
    x.head(200, { "content-type": "text/event-stream", "content-encoding": "gzip" })
      .send(new Uint8Array([0x1f, 0x8b, 8])).end(),
  "answers 500": (x) => x.head(500, json).send("{}").end(),
  "answers 503 with a page": (x) => x.head(503, { "content-type": "text/html" }).send("<p>").end(),
  "answers 429": (x) => x.head(429, json).send("{}").end(),
  "answers 404 for its model": (x) => x.head(404, json).send(noSuchModel).end(),
  "answers 401 to our key": (x) => x.head(401, json).send("{}").end(),
  "answers 403 to our key": (x) => x.head(403, json).send("{}").end(),
  "answers with a redirect": (x) => x.head(302, { location: "http://elsewhere.example/" }).end(),
  "answers a status and breaks": (x) => x.head(500, json).fail("cut"),
  "sends events that are no JSON": (x) => x.head().send("data: {nonsense\n\n"),
  "sends half a UTF-8 character where JSON should be": (x) =>
    x.head().send(new Uint8Array([0x64, 0x61, 0x74, 0x61, 0x3a, 0xc3, 0x0a, 0x0a])).end(),
};

for (const [what, script] of Object.entries(beforeOutput)) {
  Deno.test(`a route that ${what} is replaced before the client notices`, async () => {
    const { world, result } = tryRoutes({
      routes: ["a", "b"],
      script: (route, exchange) => route === "a" ? script(exchange) : good(exchange),
    });
    const found = await result;
    assertEquals(textOf(found), chatStream.text("Hello"));
    assertEquals(found.attempts.length, 2);
    assertEquals(world.reports.map(({ route, result: { kind } }) => `${route} ${kind}`), [
      "a failed",
      "b ok",
    ]);
    assert(
      world.of("a").wasDrained || world.of("a").wasCancelled,
      "its connection is not left open",
    );
    assertEquals(world.deadlines.armedCount, 0);
  });
}

Deno.test("a preamble without end is given up at its bound", async () => {
  const { result } = tryRoutes({
    routes: ["a", "b"],
    script: (route, exchange) => {
      if (route === "b") good(exchange);
      else exchange.head().send(`: ${"x".repeat(maxPreambleBytes)}\n\n`, ": more\n\n");
    },
  });
  assertEquals(outcomes(await result), ["a upstream_unreachable", "b ok"]);
});

const callersOwn: Record<string, readonly [number, string, string]> = {
  "a plain 400": [
    400,
    '{"error":{"message":"bad temperature","type":"invalid_request_error"}}',
    "invalid_request",
  ],
  "a 413": [413, "", "request_too_large"],
  "a 422": [422, '{"detail":"no"}', "invalid_request"],
  "a prompt that is too long": [
    400,
    '{"error":{"message":"This model\'s maximum context length is 10","code":"context_length_exceeded"}}',
    "context_length_exceeded",
  ],
  "a refusal of the content": [
    400,
    '{"error":{"message":"no","code":"content_policy_violation"}}',
    "content_policy_violation",
  ],
};

for (const [what, [status, body, code]] of Object.entries(callersOwn)) {
  Deno.test(`${what} is the caller's: no other route is asked and no route is blamed`, async () => {
    const { world, result } = tryRoutes({
      routes: ["a", "b"],
      script: (_route, exchange) => exchange.head(status, json).send(body).end(),
    });
    const found = await result;
    assertEquals(errorOf(found).code, code);
    assertEquals(found.attempts.length, 1);
    assertEquals(world.tries.length, 1);
  });
}

Deno.test("a huge refusal is judged by its status", async () => {
  const { result, world } = tryRoutes({
    routes: ["a", "b"],
    script: (_route, exchange) =>
      exchange.head(400, json).send(
        "x".repeat(maxErrorBodyBytes),
        "x".repeat(maxErrorBodyBytes),
      ),
  });
  assertEquals(errorOf(await result).code, "invalid_request");
  assert(world.of("a").wasCancelled, "the rest is not read");
});

Deno.test("a refusal whose body does not arrive is judged by its status after a short wait", async () => {
  const { result, world } = tryRoutes({
    routes: ["a", "b"],
    script: (route, exchange) => route === "a" ? exchange.head(503, json) : good(exchange),
  });
  await settled();
  world.time.advance(refusalBodyMs + 20);
  assertEquals(outcomes(await result), ["a service_unavailable", "b ok"]);
});

Deno.test("a refused key is exchanged for another one of the same provider, then the next route is tried", async () => {
  const { result } = tryRoutes({
    routes: ["a", "b"],
    mayRepeat: (route) => route === "a",
    script: (route, exchange) => {
      if (route === "b") good(exchange);
      else exchange.head(401, json).send("{}").end();
    },
  });
  const found = await result;
  assertEquals(outcomes(found), [
    ...Array.from({ length: attemptsPerRoute }, () => "a upstream_unreachable"),
    "b ok",
  ]);
});

Deno.test("a second key that works is enough", async () => {
  let tries = 0;
  const { result } = tryRoutes({
    routes: ["a", "b"],
    mayRepeat: () => tries === 1,
    script: (_route, exchange) => {
      if (tries++ === 0) exchange.head(401, json).send("{}").end();
      else good(exchange);
    },
  });
  assertEquals(outcomes(await result), ["a upstream_unreachable", "a ok"]);
});

Deno.test("each route is tried at most once, and their number is bounded", async () => {
  const routes = Array.from({ length: attemptsPerCall + 3 }, (_, i) => `r${i}`);
  const { result } = tryRoutes({ routes, script: (_route, exchange) => exchange.fail("connect") });
  const found = await result;
  assertEquals(errorOf(found).status, 502);
  assertEquals(found.attempts.map(({ route }) => route), routes.slice(0, attemptsPerCall));
});

Deno.test("of several failures the client gets the rate limit, with the soonest retry-after", async () => {
  const { result } = tryRoutes({
    routes: ["a", "b", "c"],
    script: (route, exchange) => {
      if (route === "c") return void exchange.fail("connect");
      const seconds = route === "a" ? "30" : "7";
      exchange.head(429, { ...json, "retry-after": seconds }).send("{}").end();
    },
  });
  const error = errorOf(await result);
  assertEquals([error.code, error.status, error.retryAfterSeconds], [
    "rate_limit_exceeded",
    429,
    7,
  ]);
});

Deno.test("a rate limit with a date and no clock of the provider ends by our own clock", async () => {
  const { result } = tryRoutes({
    routes: ["a"],
    script: (_route, exchange) => {
      const until = new Date(Date.UTC(2026, 10, 20, 0, 0, 30)).toUTCString();
      exchange.head(429, { ...json, "retry-after": until }).send("{}").end();
    },
  });
  const error = errorOf(await result);
  assertEquals([error.code, error.retryAfterSeconds], ["rate_limit_exceeded", 30]);
});

Deno.test("a provider that does not know its model is a 502 for the client, not a 404", async () => {
  const { result } = tryRoutes({
    routes: ["a"],
    script: (_route, exchange) => exchange.head(404, json).send(noSuchModel).end(),
  });
  const error = errorOf(await result);
  assertEquals([error.code, error.status], ["upstream_unreachable", 502]);
});

Deno.test("a route that cannot carry the request is skipped, without blame and without an exchange", async () => {
  let begun = 0;
  const { result, world } = tryRoutes({
    routes: ["a", "b"],
    start: () => {
      begun++;
      throw new GatewayError("conversion_refused", "no images here", { param: "messages.0" });
    },
  });
  const error = errorOf(await result);
  assertEquals([error.code, error.param, begun], ["conversion_refused", "messages.0", 2]);
  assertEquals(world.deadlines.armedCount, 0);
});

Deno.test("routes that cannot carry the request do not use up the attempts of a call", async () => {
  const many = Array.from({ length: 2 * attemptsPerCall }, (_, i) => `unsuited${i}`);
  const { result, world } = tryRoutes({
    routes: [...many, "a"],
    script: (route, exchange) => {
      if (route !== "a") throw new GatewayError("conversion_refused", "no");
      good(exchange);
    },
  });
  const found = await result;
  assertEquals(textOf(found), chatStream.text("Hello"));
  assertEquals(found.attempts.length, many.length + 1);
  assertEquals(world.deadlines.armedCount, 0);
});

Deno.test("the error of an outage wins over that of a route that could not carry the request", async () => {
  const { result } = tryRoutes({
    routes: ["a", "b"],
    script: (route, exchange) => {
      if (route === "b") throw new GatewayError("conversion_refused", "no");
      exchange.fail("connect");
    },
  });
  assertEquals(errorOf(await result).code, "upstream_unreachable");
});

Deno.test("without a candidate the call fails at once", async () => {
  const found = await tryRoutes({ routes: [] }).result;
  assertEquals([errorOf(found).status, found.attempts.length], [502, 0]);
});

Deno.test("after a defect of ours the next route is tried, the defect is reported, and no route is blamed", async () => {
  const { result, world } = tryRoutes({
    routes: ["a", "b"],
    handlers: {
      createPipe: () => {
        throw new TypeError("a bug");
      },
    },
    script: (_route, exchange) => good(exchange),
  });
  assertEquals(errorOf(await result).code, "internal_error");
  assertEquals(world.bugs.length, 2);
  assertEquals(world.reports.map(({ result: { kind } }) => kind), ["stopped", "stopped"]);
  assert(world.of("a").wasCancelled && world.of("b").wasCancelled);
});

Deno.test("a start that throws a defect is reported, so that its place is free again", async () => {
  const { result, world } = tryRoutes({
    routes: ["a"],
    start: () => {
      throw new TypeError("a bug");
    },
  });
  assertEquals(errorOf(await result).code, "internal_error");
  assertEquals(world.reports.map(({ result: { kind } }) => kind), ["stopped"]);
});

for (const reason of ["client_gone", "call_timeout", "shutdown"] as const) {
  Deno.test(`a call stopped by ${reason} while it waits ends at once and blames no route`, async () => {
    const { result, world } = tryRoutes({ routes: ["a", "b"] });
    world.of("a").head();
    await settled();
    world.control.stop(reason);
    const found = await result;
    const expected = { client_gone: 408, call_timeout: 504, shutdown: 503 }[reason];
    assertEquals(errorOf(found).status, expected);
    assert(world.of("a").wasCancelled);
    // The receipt tells a call that took too long by the code of its answer.
    assertEquals(outcomes(found), [
      reason === "call_timeout" ? "a upstream_timeout" : "a stopped",
    ]);
    assertEquals(world.reports.map(({ result: { kind } }) => kind), ["stopped"]);
    assertEquals(world.tries.length, 1, "no further route is begun");
    assertEquals(world.deadlines.armedCount, 0);
  });
}

Deno.test("a whole answer is passed on unchanged and read on the way", async () => {
  const { result } = tryRoutes({
    routes: ["a"],
    stream: false,
    script: (_route, exchange) => exchange.head(200, json).send(wholeAnswer).end(),
  });
  const found = await result;
  assertEquals(textOf(found), wholeAnswer);
  assert(found.ok && found.result.kind === "answer");
  assertEquals(found.result.reading.usage?.output, 2);
});

const badAnswers: Record<string, (exchange: FakeExchange) => void> = {
  "is a page": (x) => x.head(200, { "content-type": "text/html" }).send("<html>").end(),
  "is cut": (x) => x.head(200, json).send(wholeAnswer.slice(0, -1)).fail("cut"),
  "ends early but cleanly": (x) => x.head(200, json).send(wholeAnswer.slice(0, -1)).end(),
  "is a list": (x) => x.head(200, json).send("[]").end(),
  "is an error": (x) =>
    x.head(200, json).send('{"error":{"message":"no","code":"server_error"}}').end(),
  "is no UTF-8": (x) => x.head(200, json).send(new Uint8Array([0x22, 0xff, 0x22])).end(),
  "is packed": (x) =>
    x.head(200, { ...json, "content-encoding": "gzip" }).send(new Uint8Array([0x1f, 0x8b])).end(),
  "has no end": (x) => {
    x.head(200, json);
    for (let i = 0; i < 5; i++) x.send(new Uint8Array(8 * 1024 * 1024));
  },
};

for (const [what, script] of Object.entries(badAnswers)) {
  Deno.test(`a whole answer that ${what} is asked of the next route`, async () => {
    const { result } = tryRoutes({
      routes: ["a", "b"],
      stream: false,
      script: (route, exchange) =>
        route === "a" ? script(exchange) : exchange.head(200, json).send(wholeAnswer).end(),
    });
    const found = await result;
    assertEquals(textOf(found), wholeAnswer);
    assertEquals(found.attempts.length, 2);
  });
}

Deno.test("after an answer that cannot be converted to the client's style the next route is tried", async () => {
  const { result, world } = tryRoutes({
    routes: ["a", "b"],
    stream: false,
    script: (_route, exchange) => exchange.head(200, json).send(wholeAnswer).end(),
    handlers: {
      toClient: () => {
        throw new GatewayError("upstream_unreachable", "no answer");
      },
    },
  });
  assertEquals(errorOf(await result).status, 502);
  assertEquals(world.tries.length, 2);
});
