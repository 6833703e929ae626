import { assertEquals } from "../../support/assert.ts";
import { createStopSignals, sameSignalMs } from "../../../routes/process/keep_serving.ts";
import { ManualTime } from "../../support/manual_time.ts";

Deno.test("the first signal stops, those with it are the same, a later one hurries", () => {
  const time = new ManualTime();
  const { stop, hurry, tell } = createStopSignals(time);
  const state = () => [stop.aborted, hurry.aborted];
  assertEquals(state(), [false, false]);
  tell();
  assertEquals(state(), [true, false]);
  time.advance(sameSignalMs - 1);
  tell();
  assertEquals(state(), [true, false]);
  time.advance(1);
  tell();
  assertEquals(state(), [true, true]);
});
