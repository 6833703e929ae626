/**
 * Earlier versions of the runtime, from npm: the platform chooses the version, and its newest one is not always ours.
 * Installed once per machine.
 */
import { folderFor, installOnce, runInstaller } from "../../installed_once.ts";

/** The last version of each line that the platform has run on since the gateway knows it. */
const versions = ["2.5.7", "2.6.8", "2.7.9"] as const;

/** A runtime, or why it cannot be had here. */
export type EarlierRuntime =
  & { readonly version: string }
  & ({ readonly program: string } | { readonly missing: string });

/** Installs each of them. The package has the program in a package for each platform, which needs no script. */
export async function earlierRuntimes(): Promise<readonly EarlierRuntime[]> {
  const runtimes: EarlierRuntime[] = [];
  for (const version of versions) {
    const name = `@deno/linux-x64-glibc@${version}`;
    const installed = await installOnce(await folderFor("deno", name), async (folder) => {
      await Deno.writeTextFile(`${folder}/package.json`, "{}");
      const options = ["--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund"];
      const problem = await runInstaller("npm", ["install", ...options, name], folder);
      if (problem === undefined) await Deno.chmod(programIn(folder), 0o755);
      return problem;
    });
    runtimes.push(
      "missing" in installed
        ? { version, missing: installed.missing }
        : { version, program: programIn(installed.folder) },
    );
  }
  return runtimes;
}

function programIn(folder: string): string {
  return `${folder}/node_modules/@deno/linux-x64-glibc/deno`;
}
