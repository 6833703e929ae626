/**
 * Installs the pinned coding agents with npm, once per machine: about a gigabyte of programs that the gateway itself
 * does not need.
 */
const folder = new URL("./", import.meta.url).pathname;

/** Where the programs of the agents are, relative to this folder. */
export const programs = {
  claude: `${folder}node_modules/@anthropic-ai/claude-code-linux-x64/claude`,
  codex: `${folder}node_modules/.bin/codex`,
  opencode: `${folder}node_modules/opencode-linux-x64-baseline/bin/opencode`,
  gemini: `${folder}node_modules/.bin/gemini`,
  aiSdk: `${folder}ai_sdk_agent.mjs`,
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
  const stamp = `${folder}node_modules/.installed-for`;
  const wanted = await Deno.readTextFile(`${folder}package.json`);
  if (await Deno.readTextFile(stamp).catch(() => "") === wanted) {
    return undefined;
  }
  try {
    const { success, stderr } = await new Deno.Command("npm", {
      // There is no lock file, because it would have to name platform packages that are published later; exact versions
      // are pinned instead.
      args: [
        "install",
        "--ignore-scripts",
        "--no-package-lock",
        "--no-audit",
        "--no-fund",
      ],
      cwd: folder,
      stdout: "null",
      stderr: "piped",
    }).output();
    if (!success) {
      return `npm failed: ${new TextDecoder().decode(stderr).slice(-500)}`;
    }
  } catch {
    return "npm is not installed";
  }
  await Deno.writeTextFile(stamp, wanted);
  return undefined;
}
