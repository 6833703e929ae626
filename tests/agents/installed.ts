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
  aiSdk: `${folder}/ai_sdk_agent.mjs`,
} as const;

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
    const options = ["--ignore-scripts", "--no-package-lock", "--no-audit", "--no-fund"];
    return await runInstaller("npm", ["install", ...options], folder);
  });
  if ("missing" in installed) return installed.missing;
  // Beside the packages that it imports.
  await Deno.copyFile(`${here}ai_sdk_agent.mjs`, programs.aiSdk);
  return undefined;
}
