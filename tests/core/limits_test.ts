/** Only bounds that several modules share are in `core/limits.ts`; any other is beside its user. */
import { assert, assertEquals } from "../support/assert.ts";
import * as limits from "../../core/limits.ts";

const root = new URL("../../", import.meta.url);
const layers = ["core/", "kv/", "routes/", "sandbox/"];

function* sources(folder: string): Generator<string> {
  for (const { name, isDirectory } of Deno.readDirSync(new URL(folder, root))) {
    if (isDirectory) yield* sources(`${folder}${name}/`);
    else if (/\.tsx?$/.test(name)) yield `${folder}${name}`;
  }
}

Deno.test("each bound in core/limits.ts has users in more than one module", () => {
  const names = Object.keys(limits);
  assert(names.length > 0);
  const modulesOf = new Map(names.map((name) => [name, new Set<string>()]));
  for (const layer of layers) {
    for (const path of sources(layer)) {
      if (path === "core/limits.ts") continue;
      const module = path.split("/").slice(0, 2).join("/");
      const text = Deno.readTextFileSync(new URL(path, root));
      for (const name of names) {
        if (new RegExp(`\\b${name}\\b`).test(text)) modulesOf.get(name)?.add(module);
      }
    }
  }
  assertEquals(names.filter((name) => (modulesOf.get(name)?.size ?? 0) < 2), []);
});
