/** Puts the tests of conversion into one script that needs nothing of its runtime. */
import { defined } from "../../core/lib/base/defined.ts";
import { encodeBase64 } from "../../core/lib/runtime/built_ins.ts";
import { root, sourcesIn } from "../repository/source_files.ts";
import type { Files } from "./registry.ts";

/** Folders whose tests run on every runtime. */
const folders = [
  "tests/conformance",
  "tests/core/lib/json",
  "tests/core/lib/runtime",
  "tests/core/lib/sse",
  "tests/core/wire",
];

/** Tests that cannot run everywhere, with the reason. */
export const exclusions: Readonly<Record<string, string>> = {
  "the page of the conversion matrix is what `deno task report:matrix` writes":
    "reads a file on disk",
  "the module is what its source compiles to: deno task wasm": "reads a file on disk",
  "the task prints one line for each direction": "starts a Deno process with files on disk",
};

/** Files of tests that cannot be bundled, with the reason. */
const excludedFiles: Readonly<Record<string, string>> = {
  "tests/conformance/converse_sdk_test.ts": "a vendor's library that does not bundle for browsers",
  "tests/core/lib/json/number_list_steps_test.ts": "counts steps through V8's inspector",
  "tests/core/wire/conversion/request_steps_test.ts": "counts steps through V8's inspector",
};

const recordingsPath = "/recordings";

/** The recordings that WIRE_FIXTURES names, by the path under which the script finds them. */
function recordedFiles(): Files | undefined {
  const folder = Deno.env.get("WIRE_FIXTURES");
  if (folder === undefined || folder === "") return undefined;
  const files: Record<string, string> = {};
  for (const style of ["chat", "errors", "messages", "responses"]) {
    for (const { name } of Deno.readDirSync(`${folder}/${style}`)) {
      const bytes = Deno.readFileSync(`${folder}/${style}/${name}`);
      files[`${recordingsPath}/${style}/${name}`] = encodeBase64(bytes);
    }
  }
  return files;
}

function setupSource(): string {
  const files = recordedFiles();
  const environment = {
    // Properties have their cases on Deno; a few of them show what another runtime does otherwise.
    PROPERTY_CASES: "hundredth",
    ...defined({ SEED: Deno.env.get("SEED") }),
    ...(files === undefined ? {} : { WIRE_FIXTURES: recordingsPath }),
  };
  const registry = new URL("tests/runtimes/registry.ts", root).href;
  return [
    `import { install } from ${JSON.stringify(registry)};`,
    `install(${JSON.stringify(files ?? {})}, ${JSON.stringify(environment)});`,
  ].join("\n");
}

/** The script hands its promise of a report to whoever runs it. */
function entrySource(): string {
  const registry = new URL("tests/runtimes/registry.ts", root).href;
  const files = folders.flatMap((folder) => [...sourcesIn(folder)])
    .filter((file) => file.endsWith("_test.ts") && !Object.hasOwn(excludedFiles, file)).sort();
  return [
    `import "./setup.ts";`,
    ...files.map((file) => `import ${JSON.stringify(new URL(file, root).href)};`),
    `import { runTests } from ${JSON.stringify(registry)};`,
    `globalThis.runReport = runTests(${JSON.stringify(Object.keys(exclusions))});`,
  ].join("\n");
}

/** The imports of the tests, with portable assertions in place of Node's. */
function importMap(): string {
  const config: { readonly imports: Readonly<Record<string, string>> } = JSON.parse(
    Deno.readTextFileSync(new URL("tests/deno.json", root)),
  );
  const imports = {
    ...config.imports,
    "node:assert/strict": new URL("tests/support/portable_assert.ts", root).href,
  };
  return JSON.stringify({ imports });
}

/** Writes the script into `folder`; returns its path. */
export async function bundleTests(folder: string): Promise<string> {
  await Deno.writeTextFile(`${folder}/setup.ts`, setupSource());
  await Deno.writeTextFile(`${folder}/entry.ts`, entrySource());
  await Deno.writeTextFile(`${folder}/import_map.json`, importMap());
  const path = `${folder}/tests.mjs`;
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["bundle", "--quiet", "--no-lock", "--platform", "browser"],
      ...["--import-map", `${folder}/import_map.json`],
      ...["--output", path, `${folder}/entry.ts`],
    ],
    cwd: folder,
    stdout: "null",
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return path;
}
