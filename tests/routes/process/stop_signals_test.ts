import { assertEquals } from "../../support/assert.ts";
import { createStopSignals, sameSignalMs } from "../../../routes/process/keep_serving.ts";
import { ManualTime } from "../../support/manual_time.ts";

Deno.test("the first signal stops, those with it are the same, a later one hurries", () => {
  const time = new ManualTime();
  const { stop, abort, notify } = createStopSignals(time);
  const state = () => [stop.aborted, abort.aborted];
  assertEquals(state(), [false, false]);
  notify();
  assertEquals(state(), [true, false]);
  time.advance(sameSignalMs - 1);
  notify();
  assertEquals(state(), [true, false]);
  time.advance(1);
  notify();
  assertEquals(state(), [true, true]);
});
