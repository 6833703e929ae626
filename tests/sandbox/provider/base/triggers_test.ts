import { assert, assertEquals } from "../../../support/assert.ts";
import type { BodyStyle } from "../../../support/body_style.ts";
import { errorStatuses, readTriggers } from "../../../../sandbox/provider/base/triggers.ts";
import { UpstreamFailure } from "../../../../core/net/transport/transport.ts";
import {
  call,
  openCall,
  paths,
  readingOf,
  requestOf,
  styles,
  wholeReadingOf,
} from "../sandbox_calls.ts";

function streamOf(style: BodyStyle, text: string) {
  return call(paths[style], requestOf(style, text, { stream: true }));
}

/** Counts the reads that have output. */
function deltasIn(reads: readonly string[]): number {
  return reads.filter((read) =>
    /"delta":(?!\{\}|\{"role"|\{"stop_reason")/.test(read) && !read.includes("signature_delta")
  ).length;
}

Deno.test("triggers are removed from the text; of several of a kind the last counts", () => {
  const { text, triggers } = readTriggers(
    "a [[sandbox:slow 5]] b [[sandbox:slow 7]][[sandbox:empty]]",
  );
  assertEquals([text, triggers.slowMs, triggers.empty], ["a b", 7, true]);
  assertEquals(readTriggers("[[sandbox:Slow]] [[sandbox:slow x]]").triggers, {});
  assertEquals(readTriggers("[[sandbox:nothing]]").unknown, "nothing");
});

Deno.test("only the last turn triggers", async () => {
  const { status } = await call(paths.chat, {
    model: "m",
    messages: [
      { role: "user", content: "[[sandbox:error-500]]" },
      { role: "assistant", content: "no" },
      { role: "user", content: "Hi" },
    ],
  });
  assertEquals(status, 200);
});

Deno.test("every error status comes in the vendor's own style, streaming or not", async () => {
  for (const style of styles) {
    for (const status of errorStatuses) {
      for (const stream of [false, true]) {
        const answer = await call(
          paths[style],
          requestOf(style, `[[sandbox:error-${status}]]`, { stream }),
        );
        const body = JSON.parse(answer.text);
        assertEquals(answer.status, status);
        assertEquals(answer.header("retry-after"), status === 429 ? "2" : undefined);
        assertEquals(answer.header("content-type"), "application/json");
        assertEquals(body.type, style === "messages" ? "error" : undefined);
        assert(typeof body.error.message === "string" && typeof body.error.type === "string");
      }
    }
    const page = await call(paths[style], requestOf(style, "[[sandbox:html-error 503]]"));
    assertEquals([page.status, page.header("content-type")], [503, "text/html"]);
  }
  const { header } = await call(paths.chat, requestOf("chat", "[[sandbox:error-429 30]]"));
  assertEquals(header("retry-after"), "30");
});

Deno.test("slow waits once before the first output, pace before every other", async () => {
  for (const style of styles) {
    const slow = await streamOf(style, "Hello there [[sandbox:slow 700]]");
    assertEquals(slow.waits, [700], style);
    const paced = await streamOf(style, "Hello there [[sandbox:pace 30]]");
    assertEquals(paced.waits, [30], style);
    const whole = await call(paths[style], requestOf(style, "[[sandbox:slow 700]]"));
    assertEquals(whole.waits, [700], style);
  }
});

Deno.test("slow: the preamble arrives before the wait", async () => {
  for (const style of styles) {
    const waiting = Promise.withResolvers<void>();
    const { exchange } = openCall(
      paths[style],
      requestOf(style, "[[sandbox:slow 9]]", { stream: true }),
      {
        delay: (_ms, signal) => {
          waiting.resolve();
          return new Promise((resolve) => signal.addEventListener("abort", () => resolve()));
        },
      },
    );
    const { body } = await exchange.response;
    assert((await body.read()) !== null);
    const failed = (async () => {
      while (await body.read());
    })().catch((error) => error);
    await waiting.promise;
    exchange.cancel();
    const failure = await failed;
    assert(failure instanceof UpstreamFailure && failure.code === "cancelled", style);
  }
});

Deno.test("stall: headers come, then nothing until the call is cancelled", async () => {
  for (const style of styles) {
    for (const stream of [false, true]) {
      const { exchange } = openCall(
        paths[style],
        requestOf(style, "[[sandbox:stall]]", { stream }),
      );
      const response = await exchange.response;
      assertEquals(response.status, 200);
      const failed = response.body.read().catch((error) => error);
      exchange.cancel();
      const failure = await failed;
      assert(failure instanceof UpstreamFailure && failure.code === "cancelled");
    }
  }
});

Deno.test("stall-after: the given number of deltas, then nothing", async () => {
  for (const style of styles) {
    const body = requestOf(style, "Hello there [[sandbox:stall-after 1]]", { stream: true });
    const { exchange } = openCall(paths[style], body);
    const response = await exchange.response;
    const reads: string[] = [];
    const reading = (async () => {
      for (let bytes = await response.body.read(); bytes; bytes = await response.body.read()) {
        reads.push(new TextDecoder().decode(bytes));
        // Nothing follows the delta: the next read would wait for ever.
        if (deltasIn(reads) === 1) exchange.cancel();
      }
    })();
    const failure = await reading.catch((error) => error);
    assert(failure instanceof UpstreamFailure && failure.code === "cancelled", style);
    assertEquals(deltasIn(reads), 1);
  }
});

Deno.test("cut-after: the given number of deltas, then the connection breaks", async () => {
  for (const style of styles) {
    for (const [count, expected] of [[0, 0], [1, 1], [2, 2], [50, 2]] as const) {
      const cut = await streamOf(style, `Hello there [[sandbox:cut-after ${count}]]`);
      assertEquals(
        [cut.failure?.code, deltasIn(cut.reads)],
        ["cut", expected],
        `${style} ${count}`,
      );
    }
    const whole = await call(paths[style], requestOf(style, "Hello [[sandbox:cut-after 1]]"));
    assertEquals([whole.status, whole.failure?.code], [200, "cut"]);
    assert(Number(whole.header("content-length")) > whole.text.length);
  }
});

Deno.test("error-after: the given number of deltas, then an error inside the stream", async () => {
  for (const style of styles) {
    const body = requestOf(style, "Hello there [[sandbox:error-after 1]]");
    const reading = await readingOf(style, body);
    assertEquals([reading.state, reading.error?.code, reading.sawOutput], [
      "error",
      "overloaded",
      true,
    ]);
    assert((await call(paths[style], body)).status >= 500);
  }
});

Deno.test("error-in-200: status 200, but the body is an error", async () => {
  for (const style of styles) {
    const body = requestOf(style, "[[sandbox:error-in-200]]");
    assertEquals((await call(paths[style], body)).status, 200);
    assertEquals((await wholeReadingOf(style, body)).error?.code, "overloaded");
    const streamed = await readingOf(style, body);
    assertEquals([streamed.state, streamed.error?.code, streamed.sawOutput], [
      "error",
      "overloaded",
      false,
    ]);
  }
});

Deno.test("no-end: the body ends without the last event", async () => {
  for (const style of styles) {
    const { text, failure } = await streamOf(style, "Hi [[sandbox:no-end]]");
    assertEquals(failure, undefined);
    assert(!/message_stop|\[DONE\]|response\.completed/.test(text), style);
  }
});

Deno.test("usage can be left out, be absurd or be huge", async () => {
  for (const style of styles) {
    const options = style === "chat" ? { stream_options: { include_usage: true } } : {};
    for (
      const [name, rejected] of [["no-usage", false], ["absurd-usage", true], [
        "huge-usage",
        true,
      ]] as const
    ) {
      const body = requestOf(style, `Hi [[sandbox:${name}]]`, options);
      for (const reading of [await readingOf(style, body), await wholeReadingOf(style, body)]) {
        assertEquals(
          [reading.usage, reading.usageRejected],
          [undefined, rejected],
          `${style} ${name}`,
        );
      }
    }
  }
});

Deno.test("an empty answer has no output, a refusal has one", async () => {
  for (const style of styles) {
    const empty = requestOf(style, "[[sandbox:empty]][[sandbox:no-usage]]");
    const streamed = await readingOf(style, empty);
    assertEquals([streamed.state, streamed.sawOutput, streamed.usage], [
      "completed",
      false,
      undefined,
    ]);
    assertEquals((await wholeReadingOf(style, empty)).empty, true);
    const refusal = requestOf(style, "[[sandbox:refusal]]");
    assertEquals((await readingOf(style, refusal)).sawOutput, true);
    assertEquals((await wholeReadingOf(style, refusal)).empty, false);
  }
});

Deno.test("reasoning: the answer has reasoning that the request did not ask for", async () => {
  for (const style of styles) {
    const { usage } = await wholeReadingOf(style, requestOf(style, "Hi [[sandbox:reasoning]]"));
    assert(usage !== undefined && usage.reasoning > 0 && usage.reasoning < usage.output, style);
  }
});

Deno.test("split: the body comes in pieces of the given number of bytes", async () => {
  const plain = await streamOf("chat", "Hi");
  const split = await streamOf("chat", "Hi [[sandbox:split 7]]");
  assert(split.reads.every((read) => read.length <= 7));
  assertEquals(split.text.length, plain.text.length);
});

Deno.test("a cancelled exchange never answers", async () => {
  const { exchange } = openCall(paths.chat, requestOf("chat", "[[sandbox:slow 5]]"), {
    delay: (_ms, signal) =>
      new Promise((resolve) => signal.addEventListener("abort", () => resolve())),
  });
  exchange.cancel();
  exchange.cancel();
  const failure = await exchange.response.catch((error) => error);
  assert(failure instanceof UpstreamFailure && failure.code === "cancelled");
});

Deno.test("the view of a read is reused by the next", async () => {
  const { exchange } = openCall(paths.chat, requestOf("chat", "Hello there", { stream: true }));
  const { body } = await exchange.response;
  const first = await body.read();
  const copy = first?.slice();
  await body.read();
  assert(first !== null && copy !== undefined);
  assert(first.buffer.byteLength > 0 && String(first) !== String(copy));
});
