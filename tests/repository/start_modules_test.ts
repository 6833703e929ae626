/**
 * A start loads what every gateway needs. Pages, commands, the sandbox and the endpoints that few gateways serve are
 * loaded with their first use (`docs/performance.md`); one static import of them would undo that.
 */
import { assert, assertEquals } from "../support/assert.ts";
import { root } from "./source_files.ts";

interface ModuleInfo {
  readonly specifier: string;
  readonly dependencies?: readonly {
    readonly isDynamic?: boolean;
    readonly code?: { readonly specifier?: string };
  }[];
}

/** What a start leaves to its first use, and the files in it that are loaded all the same: they only lead there. */
const leftOut: readonly { readonly folder: string; readonly except: readonly string[] }[] = [
  {
    folder: "routes/dashboard/",
    except: ["page/navigation.ts", "page/page.ts", "visitor/mounting.ts"],
  },
  { folder: "routes/operator/pages/", except: [] },
  { folder: "routes/operator/cli/", except: ["socket.ts"] },
  { folder: "sandbox/", except: [] },
  { folder: "routes/api/media/images/", except: [] },
  { folder: "routes/api/media/speech/", except: [] },
  { folder: "kv/engine/postgres/", except: [] },
];

/** The modules that a module imports, directly or through others, without dynamic imports. */
async function staticModules(path: string): Promise<ReadonlyMap<string, string>> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", path],
    cwd: root,
    stderr: "inherit",
  }).output();
  const { modules, roots }: {
    readonly modules: readonly ModuleInfo[];
    readonly roots: readonly string[];
  } = JSON.parse(new TextDecoder().decode(stdout));
  const known = new Map(modules.map((module) => [module.specifier, module]));
  const importers = new Map(roots.map((specifier) => [specifier, ""]));
  // Entries that are added meanwhile are visited, too.
  for (const specifier of importers.keys()) {
    for (const { isDynamic, code } of known.get(specifier)?.dependencies ?? []) {
      const target = code?.specifier;
      if (isDynamic !== true && target !== undefined && !importers.has(target)) {
        importers.set(target, specifier);
      }
    }
  }
  return importers;
}

Deno.test("what a start does not need is imported with its first use", async () => {
  for (const path of ["main.ts", "routes/server/workers/entry.ts"]) {
    const importers = await staticModules(path);
    assert(
      importers.size > 300,
      `${path} imports ${importers.size} modules: the graph is not read`,
    );
    const found = [...importers].flatMap(([specifier, importer]) => {
      const file = specifier.slice(root.href.length);
      const part = leftOut.find(({ folder }) => file.startsWith(folder));
      const isLeftOut = part !== undefined && !part.except.includes(file.slice(part.folder.length));
      return isLeftOut ? [`${file}, imported by ${importer.slice(root.href.length)}`] : [];
    });
    assertEquals(found, []);
  }
});

Deno.test("a start loads no module that is expensive by itself", async () => {
  const importers = await staticModules("main.ts");
  const found = [...importers].filter(([specifier]) =>
    /^node:(?:crypto|zlib)$|^npm:\/?(?:gpt-tokenizer|nodemailer|postgres|oauth4webapi)\b/u.test(
      specifier,
    )
  );
  assertEquals(found, []);
});
