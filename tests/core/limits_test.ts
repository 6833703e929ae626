/** Bounds in a `limits.ts` are shared, those in `core/limits.ts` by several modules; any other is beside its user. */
import { assert, assertEquals } from "../support/assert.ts";
import { sourcesIn, sourceText } from "../repository/source_files.ts";

const files = ["core", "kv", "routes", "sandbox"].flatMap((folder) => [...sourcesIn(folder)]);

/** The source files that name each constant of one `limits.ts`. */
function usersOf(limits: string): { readonly name: string; readonly users: readonly string[] }[] {
  const others = files.filter((file) => file !== limits);
  return [...sourceText(limits).matchAll(/^export const (\w+)/gmu)].map(([, name = ""]) => ({
    name,
    users: others.filter((file) => new RegExp(`\\b${name}\\b`, "u").test(sourceText(file))),
  }));
}

Deno.test("each bound in core/limits.ts has users in more than one module", () => {
  const bounds = usersOf("core/limits.ts");
  assert(bounds.length > 0);
  const modules = (users: readonly string[]) =>
    new Set(users.map((file) => file.split("/").slice(0, 2).join("/"))).size;
  assertEquals(bounds.filter(({ users }) => modules(users) < 2).map(({ name }) => name), []);
});

Deno.test("each bound in the limits.ts of a folder has users in more than one file", () => {
  const folders = files.filter((file) => file.endsWith("/limits.ts"));
  assert(folders.length > 1);
  const single = folders.flatMap((limits) =>
    usersOf(limits).filter(({ users }) => users.length < 2).map(({ name }) => `${limits}: ${name}`)
  );
  assertEquals(single, []);
});
