/**
 * `core` reaches built-ins that Node 20 or a browser lacks only through `core/lib/runtime/`. The type check of `core`
 * finds those that ES2023 does not have; this test finds those that its types allow.
 */
import { assertEquals } from "../support/assert.ts";
import { sourcesIn, sourceText } from "./source_files.ts";

const rules: readonly {
  readonly folders: readonly string[];
  readonly found: RegExp;
  readonly instead: string;
}[] = [
  // The types of the DOM know it, Node 20 does not.
  { folders: ["core"], found: /\bURL\.parse\(/u, instead: "parseUrl" },
  // Pages that were not sent over HTTPS have neither.
  {
    folders: ["core/wire", "core/lib/json"],
    found: /\bcrypto\.(?:randomUUID|subtle)\b/u,
    instead: "crypto.getRandomValues",
  },
  // Fails on Node 20 for values with exact numbers.
  { folders: ["core/wire"], found: /\bJSON\.stringify\(/u, instead: "stringifyExactly" },
];

/** The code of a file without its doc comments, whose examples run on Deno alone. */
function codeOf(text: string): string {
  return text.replaceAll(/\/\*\*[\s\S]*?\*\//gu, "");
}

function problemsOf(file: string, text: string): readonly string[] {
  const code = codeOf(text);
  return rules.filter(({ folders, found }) =>
    folders.some((folder) => file.startsWith(`${folder}/`)) && found.test(code)
  ).map(({ instead, found }) => `${file}: ${found.exec(code)?.[0]}…: use ${instead}`);
}

Deno.test("core uses built-ins that every runtime has", () => {
  const files = [...sourcesIn("core")].filter((file) => !file.startsWith("core/lib/runtime/"));
  assertEquals(files.flatMap((file) => problemsOf(file, sourceText(file))), []);
});

Deno.test("a built-in that some runtimes lack is found", () => {
  assertEquals(problemsOf("core/config/x.ts", "const url = URL.parse(text);").length, 1);
  assertEquals(problemsOf("core/wire/x.ts", "write(JSON.stringify(body));").length, 1);
  assertEquals(problemsOf("core/lib/json/x.ts", "crypto.randomUUID()").length, 1);
  assertEquals(problemsOf("core/wire/x.ts", "/** JSON.stringify(body) */ const a = 1;"), []);
});
