/** Earlier states of the program, from the history of the repository. */
import { root } from "../../repository/source_files.ts";

/** Their names; "before organisations" is the last state in which an account was one person. */
export const releases = ["0.2.0", "before organisations"] as const;

/** One of them. */
export type Release = typeof releases[number];

/** Their commits, since a clone of the repository may have no tags. */
const commits: Readonly<Record<Release, string>> = {
  "0.2.0": "bf291282",
  "before organisations": "e0d6f4a2",
};

/** Whether the clone has the history with a release. */
export async function hasRelease(release: Release): Promise<boolean> {
  const args = ["cat-file", "-e", `${commits[release]}^{commit}`];
  try {
    const git = new Deno.Command("git", { args, cwd: root, stderr: "null" });
    return (await git.output()).success;
  } catch {
    return false;
  }
}

/** The files of a release in a folder of their own. */
export async function checkOut(
  release: Release,
): Promise<AsyncDisposable & { readonly root: URL }> {
  const folder = await Deno.makeTempDir({ prefix: "gateway-release-" });
  const command = `git archive ${commits[release]} | tar -x -C "$0"`;
  const { success } = await new Deno.Command("sh", { args: ["-c", command, folder], cwd: root })
    .output();
  if (!success) throw new Error(`the release ${release} cannot be checked out`);
  return {
    root: new URL(`file://${folder}/`),
    [Symbol.asyncDispose]: () => Deno.remove(folder, { recursive: true }),
  };
}
