/** Installs the pinned libraries for Python into a virtual environment beside this file, once per machine. */
const folder = new URL("./", import.meta.url).pathname;

/** The interpreter with the libraries, or the reason why there is none. */
export type InstalledPython =
  | { readonly program: string }
  | { readonly missing: string };

/** Installs the libraries in the versions that `requirements.txt` pins, unless they are installed. */
export async function installPython(): Promise<InstalledPython> {
  const environment = `${folder}.venv`;
  const program = `${environment}/bin/python`;
  const stamp = `${environment}/.installed-for`;
  const wanted = await Deno.readTextFile(`${folder}requirements.txt`);
  if (await Deno.readTextFile(stamp).catch(() => "") === wanted) return { program };
  const missing = await run("python3", ["-m", "venv", environment]) ??
    await run(program, ["-m", "pip", "install", "--quiet", "-r", `${folder}requirements.txt`]);
  if (missing !== undefined) return { missing };
  await Deno.writeTextFile(stamp, wanted);
  return { program };
}

async function run(program: string, args: readonly string[]): Promise<string | undefined> {
  try {
    const { success, stdout, stderr } = await new Deno.Command(program, {
      args: [...args],
      stdout: "piped",
      stderr: "piped",
    }).output();
    if (success) return undefined;
    const said = new TextDecoder().decode(stderr) + new TextDecoder().decode(stdout);
    return `${program} failed: ${said.slice(-500)}`;
  } catch {
    return `${program} is not installed`;
  }
}
