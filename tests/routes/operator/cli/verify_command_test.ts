import { assert, assertEquals } from "../../../support/assert.ts";
import { readAdminCommand } from "../../../../routes/operator/cli/command_forms.ts";

const pathOf = (...args: string[]) => {
  const read = readAdminCommand(args);
  return read.kind === "request" ? read.request.path : read.kind;
};

Deno.test("verify takes a day to begin with, and an option without a value to read everything", () => {
  assertEquals(pathOf("verify"), "/verify");
  assertEquals(pathOf("verify", "--full"), "/verify?full=yes");
  assertEquals(pathOf("verify", "--from", "2026-11-20"), "/verify?from=2026-11-20");
  assertEquals(
    pathOf("verify", "--full", "--from", "2026-11-20"),
    "/verify?full=yes&from=2026-11-20",
  );
});

Deno.test("a slip in the options of verify is refused", () => {
  for (const args of [["--full", "yes"], ["--from"], ["--full", "--full"], ["--form", "x"]]) {
    const read = readAdminCommand(["verify", ...args]);
    assert(read.kind === "refused", args.join(" "));
    assertEquals(read.usage, "Usage: deno task admin verify [--full] [--from DAY]\n");
  }
});
