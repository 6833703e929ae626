/** Writes files that are there as a whole or not at all. */
import { dirname } from "node:path";

/** Whether anything has this name. */
export async function exists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

async function writeAll(file: Deno.FsFile, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
}

async function syncFolder(path: string): Promise<void> {
  using folder = await Deno.open(dirname(path));
  await folder.sync();
}

/**
 * Writes a new file, readable by its owner alone, and gives it its name once `check` has found the whole draft right.
 *
 * @throws if the file exists, the bytes break off, or the check fails; then no file is left
 */
export async function writeWholeFile<Checked>(
  path: string,
  bytes: AsyncIterable<Uint8Array>,
  check: (draft: string) => Promise<Checked>,
): Promise<Checked> {
  if (await exists(path)) throw new Error(`${path} exists`);
  const draft = `${path}.part`;
  try {
    {
      using file = await Deno.open(draft, {
        write: true,
        create: true,
        truncate: true,
        mode: 0o600,
      });
      for await (const part of bytes) await writeAll(file, part);
      await file.sync();
    }
    const checked = await check(draft);
    await Deno.rename(draft, path);
    // Some systems cannot open folders, and sync them on their own.
    await syncFolder(path).catch(() => {});
    return checked;
  } catch (error) {
    await Deno.remove(draft).catch(() => {});
    throw error;
  }
}
