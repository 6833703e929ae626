/**
 * Registers and runs tests where there is no `Deno.test`. The bundle imports this module first, so that the tests after
 * it register here, also on Deno.
 */

interface TestDefinition {
  readonly name: string;
  readonly ignore?: boolean;
  readonly fn: () => unknown;
}

/** What a runtime reports once all tests have run. */
export interface RunReport {
  readonly ran: number;
  readonly ignored: number;
  /** Exclusions that named no test. */
  readonly unknownExclusions: readonly string[];
  readonly failures: readonly { readonly name: string; readonly error: string }[];
}

const tests: TestDefinition[] = [];

function register(nameOrTest: string | TestDefinition, fn?: () => unknown): void {
  if (typeof nameOrTest !== "string") tests.push(nameOrTest);
  else if (fn !== undefined) tests.push({ name: nameOrTest, fn });
  else throw new TypeError("This form of Deno.test is not supported here");
}

/** Files by their path, base64; the tests read them as Deno does. */
export type Files = Readonly<Record<string, string>>;

function bytesOf(files: Files, path: string): Uint8Array<ArrayBuffer> {
  const base64 = files[path];
  if (base64 === undefined) throw new Error(`No file ${path}`);
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** The entries of a folder, each once. */
function* entriesOf(files: Files, folder: string): Generator<{ readonly name: string }> {
  const prefix = folder.replace(/\/?$/, "/");
  const inside = Object.keys(files).filter((path) => path.startsWith(prefix));
  const names = new Set(inside.map((path) => path.slice(prefix.length).split("/")[0] ?? ""));
  for (const name of names) yield { name };
}

/** Puts the part of `Deno` that the tests use into this runtime. */
export function install(files: Files, environment: Readonly<Record<string, string>>): void {
  const value = {
    test: register,
    env: { get: (name: string) => environment[name] },
    readDirSync: (folder: string) => entriesOf(files, folder),
    readFileSync: (path: string) => bytesOf(files, path),
    readTextFileSync: (path: string) => new TextDecoder().decode(bytesOf(files, path)),
    // What a test reports is printed by the suites that run it on Deno.
    stdout: { writeSync: (bytes: Uint8Array) => bytes.length },
  };
  Object.defineProperty(globalThis, "Deno", { value, configurable: true });
}

/** Runs all registered tests in their order, but for those that `excluded` names. */
export async function runTests(excluded: readonly string[]): Promise<RunReport> {
  const failures: { name: string; error: string }[] = [];
  const names = new Set(tests.map(({ name }) => name));
  const chosen = tests.filter(({ name }) => !excluded.includes(name));
  let ran = 0;
  for (const { name, ignore, fn } of chosen) {
    if (ignore === true) continue;
    ran++;
    try {
      await fn();
    } catch (error) {
      failures.push({ name, error: error instanceof Error ? String(error.stack) : String(error) });
    }
  }
  return {
    ran,
    ignored: chosen.length - ran,
    unknownExclusions: excluded.filter((name) => !names.has(name)),
    failures,
  };
}
