/**
 * The programs of a cluster that elects its primary itself.
 *
 * - Folder `tests/support/servers/patroni/`: PostgreSQL under Patroni and etcd.
 * - In: where PostgreSQL is installed.
 * - Out: running processes on the loopback address, which end with the test.
 * - Never: touches a cluster or a service of the machine.
 */
import { postgresPrograms } from "../postgres_server.ts";

/** What a cluster needs, by Debian's package. */
export const programPaths = {
  "patroni": "/usr/bin/patroni",
  "etcd-server": "/usr/bin/etcd",
} as const;

async function isFile(path: string): Promise<boolean> {
  return await Deno.stat(path).then((found) => found.isFile, () => false);
}

/** The packages that are not installed here. */
export async function missingPackages(): Promise<readonly string[]> {
  const missing = (await postgresPrograms()) === undefined ? ["postgresql"] : [];
  for (const [name, path] of Object.entries(programPaths)) {
    if (!await isFile(path)) missing.push(name);
  }
  return missing;
}
