/** Bounds in a `limits.ts` are shared, those in `core/lib/base/limits.ts` by several modules; any other is beside its user. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { sourcesIn, sourceText } from "../../../repository/source_files.ts";

const files = ["core", "kv", "routes", "sandbox"].flatMap((folder) => [...sourcesIn(folder)]);

/** The source files that have each word. */
const filesOfWord = Map.groupBy(
  files.flatMap((file) =>
    [...new Set(sourceText(file).match(/\w+/gu))].map((word) => ({ word, file }))
  ),
  ({ word }) => word,
);

/** The source files that name each constant of one `limits.ts`. */
function usersOf(limits: string): { readonly name: string; readonly users: readonly string[] }[] {
  return [...sourceText(limits).matchAll(/^export const (\w+)/gmu)].map(([, name = ""]) => ({
    name,
    users: (filesOfWord.get(name) ?? []).map(({ file }) => file).filter((file) => file !== limits),
  }));
}

Deno.test("each bound in core/lib/base/limits.ts has users in more than one module", () => {
  const bounds = usersOf("core/lib/base/limits.ts");
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
