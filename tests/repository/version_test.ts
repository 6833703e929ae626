/** The version of the program is that of the changelog's newest entry, or of the release that it is on the way to. */
import { programVersion } from "../../core/lib/base/program_version.ts";
import { assert, assertEquals } from "../support/assert.ts";
import { sourceText } from "./source_files.ts";

Deno.test("a released program has the version of the changelog, another one comes after it", () => {
  const headings = [...sourceText("CHANGELOG.md").matchAll(/^## (\S+)/gm)].map(([, name]) => name);
  const [newest, released] = headings;
  const [version, label] = programVersion.split("-");
  if (newest !== "Unreleased") {
    assertEquals([version, label], [newest, undefined]);
    return;
  }
  assertEquals(label, "dev");
  const numbers = (text = "") => text.split(".").map(Number);
  const [major = 0, minor = 0, patch = 0] = numbers(version);
  const [lastMajor = 0, lastMinor = 0, lastPatch = 0] = numbers(released);
  assert(
    major > lastMajor || minor > lastMinor || patch > lastPatch,
    `${programVersion} comes after ${released}`,
  );
});

Deno.test("`--version` names the program and its runtime", async () => {
  const { code, stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-env", "main.ts", "--version"],
    cwd: new URL("../../", import.meta.url),
  }).output();
  const text = new TextDecoder().decode(stdout);
  assertEquals([code, text], [0, `gateway ${programVersion} (Deno ${Deno.version.deno})\n`]);
});
