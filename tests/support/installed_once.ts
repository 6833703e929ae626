/**
 * Programs of others that tests install once per machine. They are kept in the user's cache folder, outside of the
 * checkout, so that every checkout uses the same, and a clean one installs nothing.
 */

/** What is installed, or the reason why it cannot be. */
export type Installed = { readonly folder: string } | { readonly missing: string };

const cache = Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME") ?? "/tmp"}/.cache`;

/** The folder for programs that are pinned by this text: another text has another folder. */
export async function folderFor(name: string, pins: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(pins));
  return `${cache}/unified-model-gateway-tests/${name}-${new Uint8Array(digest, 0, 8).toHex()}`;
}

/**
 * Installs programs into their folder, unless that was done before. Of several processes one installs, and the others
 * wait for it.
 *
 * @param install returns the reason if it fails
 */
export async function installOnce(
  folder: string,
  install: (folder: string) => Promise<string | undefined>,
): Promise<Installed> {
  await Deno.mkdir(folder, { recursive: true });
  using lock = await Deno.open(`${folder}/.lock`, { create: true, write: true });
  await lock.lock(true);
  const stamp = `${folder}/.complete`;
  if (await Deno.stat(stamp).then(() => true, () => false)) return { folder };
  const missing = await install(folder);
  if (missing !== undefined) return { missing };
  await Deno.writeTextFile(stamp, "");
  return { folder };
}

/** Runs a program of an installation to its end; the reason if it fails. */
export async function runInstaller(
  program: string,
  args: readonly string[],
  cwd: string,
): Promise<string | undefined> {
  try {
    const { success, stdout, stderr } = await new Deno.Command(program, {
      args: [...args],
      cwd,
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).output();
    if (success) return undefined;
    const said = new TextDecoder().decode(stderr) + new TextDecoder().decode(stdout);
    return `${program} failed: ${said.slice(-500)}`;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return `${program} is not installed`;
    throw error;
  }
}

/** Installs packages of Python into a virtual environment; the folder has them in `bin`. */
export async function installPython(
  name: string,
  requirements: string,
): Promise<Installed> {
  const python = await folderFor(name, requirements);
  return await installOnce(python, async (folder) => {
    const path = `${folder}/requirements.txt`;
    await Deno.writeTextFile(path, requirements);
    return await runInstaller("python3", ["-m", "venv", folder], folder) ??
      await runInstaller(`${folder}/bin/pip`, ["install", "--quiet", "-r", path], folder);
  });
}
