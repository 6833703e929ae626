import { assertEquals, assertRejects } from "../../../../support/assert.ts";
import { CallControl } from "../../../../../core/calls/attempts/attempt_loop.ts";
import {
  relayedBody,
  type RelayedOutcome,
} from "../../../../../routes/api/media/base/event_delivery.ts";
import { FakeExchange, settled } from "../../../../core/calls/stream/fake_exchange.ts";

const cases = [
  { reason: "call_timeout", isWaiting: false, expected: "client_gone" },
  { reason: "call_timeout", isWaiting: true, expected: "broken" },
  { reason: "shutdown", isWaiting: false, expected: "broken" },
] as const;

for (const { reason, isWaiting, expected } of cases) {
  const client = isWaiting ? "waits for more" : "has stopped reading";
  Deno.test(`${reason} of audio whose client ${client} ends it as ${expected}`, async () => {
    const exchange = new FakeExchange().head().send("audio", "and more");
    const control = new CallControl();
    const ends: [RelayedOutcome, string | undefined][] = [];
    const body = relayedBody({
      exchange,
      body: exchange,
      control,
      onEnd: (outcome, endCode) => {
        ends.push([outcome, endCode]);
        return Promise.resolve();
      },
    });
    const reader = body.getReader();
    await reader.read();
    if (isWaiting) await reader.read();
    const waiting = isWaiting ? assertRejects(() => reader.read()) : undefined;
    await settled();
    control.stop(reason);
    await settled();
    await waiting;
    assertEquals(ends, [[expected, expected === "broken" ? reason : undefined]]);
    await assertRejects(() => reader.read());
  });
}
