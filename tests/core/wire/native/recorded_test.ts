/**
 * Runs over streams recorded from providers, which are not part of this project: `WIRE_FIXTURES` names a folder with
 * `messages/`, `chat/`, `responses/` and `errors/` full of `*.sse` files. Without it the test is left out.
 */
import { assert, assertEquals } from "../../../support/assert.ts";
import type { Style } from "../../../../core/wire/contract/contract.ts";
import { assertSplitMakesNoDifference, pipeParts } from "./piping.ts";

// An empty name is none, as in the conformance suite.
const folder = Deno.env.get("WIRE_FIXTURES") || undefined;

function styleOf(path: string): Style {
  if (path.includes("/messages")) return "messages";
  return path.includes("/responses") ? "responses" : "chat";
}

/** The name of the model that a stream tells: a client that sent it gets the same bytes. */
function modelOf(bytes: Uint8Array): string {
  const names = [...new TextDecoder().decode(bytes).matchAll(/"model": ?"([^"]+)"/g)];
  return names.at(0)?.[1] ?? "m";
}

function* recordings(root: string): Generator<string> {
  for (const style of ["messages", "chat", "responses", "errors"]) {
    for (const entry of Deno.readDirSync(`${root}/${style}`)) {
      if (entry.name.endsWith(".sse")) yield `${root}/${style}/${entry.name}`;
    }
  }
}

Deno.test({
  name: folder === undefined
    ? "recorded streams: left out, WIRE_FIXTURES names no folder"
    : "recorded streams pass unchanged, under any split, and their usage is found",
  ignore: folder === undefined,
  fn() {
    assert(folder !== undefined);
    let count = 0;
    for (const path of recordings(folder)) {
      const style = styleOf(path.slice(folder.length));
      const bytes = Deno.readFileSync(path);
      const clientModel = modelOf(bytes);
      const whole = pipeParts(style, [bytes], { clientModel });
      const isError = path.includes("/errors/");
      assertEquals(whole.reading.state, isError ? "error" : "completed", path);
      const sent = new TextDecoder().decode(bytes);
      if (isError) assert(sent.startsWith(whole.passed), path);
      else assertEquals(whole.passed + whole.ending, sent, path);
      assertEquals(whole.reading.usageRejected, false, path);
      const mayLackUsage = isError || /anthropic-compat-tool-index/.test(path);
      if (!mayLackUsage) assert(whole.reading.usage !== undefined, `${path} has no usage`);
      assertSplitMakesNoDifference(style, bytes, { clientModel }, 20);
      assertSplitMakesNoDifference(style, bytes, { clientModel: "another" }, 10);
      assertSplitMakesNoDifference(
        style,
        bytes,
        { injectedUsage: true, clientWantsUsage: false },
        10,
      );
      count++;
    }
    assert(count > 0, "the folder holds no recordings");
  },
});
