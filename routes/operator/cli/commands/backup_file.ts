/** Writes and reads the encrypted file of a backup. */
import { dirname } from "node:path";
import { type BackupSummary, checkBackup } from "../../../../kv/services/backup/backup.ts";
import { openStream, sealStream } from "../../../../kv/services/backup/sealed_stream.ts";

/** Bytes that are read at once. */
const readBytes = 262_144;

/** Opens the plain bytes of a file as often as they are read. */
export function backupFileBytes(
  path: string,
  key: Uint8Array<ArrayBuffer>,
): AsyncIterable<Uint8Array> {
  return {
    async *[Symbol.asyncIterator]() {
      using file = await Deno.open(path);
      yield* openStream(partsOf(file), key);
    },
  };
}

async function* partsOf(file: Deno.FsFile): AsyncGenerator<Uint8Array> {
  for (;;) {
    const buffer = new Uint8Array(readBytes);
    const count = await file.read(buffer);
    if (count === null) return;
    yield buffer.subarray(0, count);
  }
}

async function exists(path: string): Promise<boolean> {
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
 * Encrypts the bytes of a backup into a new file, and reads the file again before it gets its name: what has the name is
 * whole and can be decrypted with the key.
 *
 * @throws if the file exists, or the bytes break off
 */
export async function writeBackupFile(
  path: string,
  plain: AsyncIterable<Uint8Array>,
  key: Uint8Array<ArrayBuffer>,
): Promise<BackupSummary> {
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
      for await (const bytes of sealStream(plain, key)) await writeAll(file, bytes);
      await file.sync();
    }
    const summary = await checkBackup(backupFileBytes(draft, key));
    await Deno.rename(draft, path);
    // Some systems cannot open folders, and sync them on their own.
    await syncFolder(path).catch(() => {});
    return summary;
  } catch (error) {
    await Deno.remove(draft).catch(() => {});
    throw error;
  }
}
