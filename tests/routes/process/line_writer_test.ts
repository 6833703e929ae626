import { assert, assertEquals } from "../../support/assert.ts";
import {
  createLineWriter,
  logBacklogChars,
  logBufferChars,
} from "../../../routes/process/keep_serving.ts";

const lossLine = (lines: number) => `${lines} lost`;

/** An output that takes what the test lets it take. */
class TestOutput {
  readonly #decoder = new TextDecoder();
  written = "";
  calls = 0;
  /** The most it takes at a time; an error: it takes nothing. */
  state: number | Error = Infinity;
  #stuck: PromiseWithResolvers<void> | undefined;

  stick(): void {
    this.#stuck = Promise.withResolvers();
  }

  read(): void {
    this.#stuck?.resolve();
    this.#stuck = undefined;
  }

  readonly take = async (bytes: Uint8Array): Promise<number> => {
    this.calls++;
    await this.#stuck?.promise;
    if (this.state instanceof Error) throw this.state;
    const taken = bytes.subarray(0, this.state);
    this.written += this.#decoder.decode(taken, { stream: true });
    return taken.length;
  };

  get lines(): string[] {
    return this.written.trimEnd().split("\n");
  }
}

Deno.test("lines are written together, whole and in order, also where the output takes a few bytes at a time", async () => {
  const output = new TestOutput();
  output.state = 3;
  const lines = createLineWriter({ output: output.take, lossLine });
  lines.write("first đồng");
  lines.write("second");
  assertEquals(output.calls, 0);
  await lines.flush();
  assertEquals(output.lines, ["first đồng", "second"]);
});

Deno.test("many lines do not wait for the moment to pass", async () => {
  const output = new TestOutput();
  const lines = createLineWriter({ output: output.take, lossLine });
  lines.write("x".repeat(logBufferChars));
  assertEquals(output.calls, 1);
  await lines.flush();
});

Deno.test("a stuck output blocks no caller: beyond a bound lines are dropped and counted", async () => {
  const output = new TestOutput();
  output.stick();
  const lines = createLineWriter({ output: output.take, lossLine });
  lines.write("first");
  const flushed = lines.flush();
  const line = "x".repeat(1_023);
  const fit = logBacklogChars / 1_024;
  for (let i = 0; i < fit + 7; i++) lines.write(line);
  output.read();
  await flushed;
  await lines.flush();
  lines.write("last");
  await lines.flush();
  const lost = output.lines.filter((one) => one.endsWith(" lost"));
  assertEquals(lost.length, 1);
  const count = Number.parseInt(lost[0]!);
  assert(count >= 7, `${count} lost`);
  assertEquals(output.lines.filter((one) => one === line).length + count, fit + 7);
  assertEquals([output.lines[0], output.lines.at(-1)], ["first", "last"]);
});

Deno.test("a failing output is no error: its lines are counted until it works again", async () => {
  const output = new TestOutput();
  output.state = new Error("nobody reads");
  const lines = createLineWriter({ output: output.take, lossLine });
  lines.write("one");
  await lines.flush();
  lines.write("two");
  lines.write("three");
  await lines.flush();
  output.state = Infinity;
  lines.write("four");
  await lines.flush();
  assertEquals(output.lines, ["four", "3 lost"]);
});

Deno.test("the end waits for the last lines, but not for ever", async () => {
  const output = new TestOutput();
  output.stick();
  const lines = createLineWriter({ output: output.take, lossLine });
  lines.write("never read");
  await lines.flush();
  assertEquals(output.written, "");
  output.read();
  await lines.flush();
  assertEquals(output.lines, ["never read"]);
});
