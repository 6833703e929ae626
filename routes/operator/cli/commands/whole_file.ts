/** Writes files that are there as a whole or not at all. */
import { dirname, join } from "node:path";

/** Suffix of the name of a file that is not whole. */
const draftSuffix = ".part";

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
  const draft = `${path}${draftSuffix}`;
  try {
    using file = await Deno.open(draft, {
      write: true,
      create: true,
      truncate: true,
      mode: 0o600,
    });
    // Until it has its name, so that nobody takes it for the draft of a killed process.
    await file.lock(true);
    for await (const part of bytes) await writeAll(file, part);
    await file.sync();
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

/**
 * Removes the drafts of processes that were killed, of files that `isOurs` knows by their final names; returns how many.
 * The lock of a process ends with it.
 */
export async function removeDeadDrafts(
  folder: string,
  isOurs: (name: string) => boolean,
): Promise<number> {
  let removed = 0;
  for (const { name, isFile } of await Array.fromAsync(Deno.readDir(folder))) {
    if (!isFile || !name.endsWith(draftSuffix)) continue;
    if (!isOurs(name.slice(0, -draftSuffix.length))) continue;
    const draft = join(folder, name);
    using file = await Deno.open(draft, { write: true });
    if (!await file.tryLock(true)) continue;
    await Deno.remove(draft);
    removed++;
  }
  return removed;
}
