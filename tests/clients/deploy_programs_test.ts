/** The files of `deploy/` as the programs read them that they are written for: Kubernetes, hadolint, systemd, Prometheus. */
import { assert, assertEquals, assertStringIncludes } from "../support/assert.ts";
import { installPython } from "../support/installed_once.ts";

const deploy = new URL("../../deploy/", import.meta.url).pathname;
const pins = await Deno.readTextFile(new URL("./python/deploy_requirements.txt", import.meta.url));
const python = await installPython("deploy", pins);
if ("missing" in python) {
  Deno.test(`skipped: no Python, since ${python.missing}`, { ignore: true }, () => {});
}

interface Ran {
  readonly code: number;
  readonly said: string;
}

async function run(program: string, args: readonly string[], env = {}): Promise<Ran> {
  const { code, stdout, stderr } = await new Deno.Command(program, {
    args: [...args],
    env: { NO_COLOR: "1", ...env },
  }).output();
  const decoder = new TextDecoder();
  return { code, said: decoder.decode(stderr) + decoder.decode(stdout) };
}

/** Runs one of the installed programs; skipped where they cannot be installed. */
function programTest(name: string, test: (bin: string, scratch: string) => Promise<void>): void {
  Deno.test({ name, ignore: "missing" in python }, async () => {
    if ("missing" in python) return;
    await inScratch((scratch) => test(`${python.folder}/bin`, scratch));
  });
}

async function inScratch(test: (scratch: string) => Promise<void>): Promise<void> {
  const scratch = await Deno.makeTempDir();
  try {
    await test(scratch);
  } finally {
    await Deno.remove(scratch, { recursive: true });
  }
}

/** Kinds of manifests that belong to other programs, and whose schemas Kubernetes does not have. */
const foreign = new Set(["kustomization.yaml", "monitoring"]);

programTest(
  "the manifests fit the schemas of Kubernetes, and a misspelt field does not",
  async (bin, scratch) => {
    const files = Array.from(Deno.readDirSync(`${deploy}kubernetes`), ({ name }) => name)
      .filter((name) => !foreign.has(name));
    assert(files.length >= 8);
    const paths = files.map((name) => `${deploy}kubernetes/${name}`);
    const validate = (...some: string[]) =>
      run(`${bin}/kubernetes-validate`, ["--strict", ...some]);
    const { code, said } = await validate(...paths);
    assertEquals([code, said.match(/^(?!INFO).+/gmu)], [0, null]);
    assertEquals(
      said.match(/passed for resource/gu)?.length,
      files.length + 3,
      "four in one file",
    );
    const wrong = `${scratch}/wrong.yaml`;
    const text = await Deno.readTextFile(`${deploy}kubernetes/network-policy.yaml`);
    await Deno.writeTextFile(wrong, text.replace("podSelector", "podSelectors"));
    assert((await validate(wrong)).code !== 0);
  },
);

programTest("hadolint has no warning about the image", async (bin, scratch) => {
  const lint = (file: string) => run(`${bin}/hadolint`, ["--failure-threshold", "warning", file]);
  assertEquals((await lint(`${deploy}docker/Dockerfile`)).code, 0);
  await Deno.writeTextFile(`${scratch}/Dockerfile`, "FROM debian\nRUN cd /tmp && apt-get update\n");
  const { code, said } = await lint(`${scratch}/Dockerfile`);
  assert(code !== 0);
  assertStringIncludes(said, "DL3006");
});

const hasSystemd = await run("systemd-analyze", ["--version"]).then(() => true, () => false);

Deno.test({
  name: "systemd accepts the units and their timers, and knows every setting",
  ignore: !hasSystemd,
}, () =>
  inScratch(async (scratch) => {
    const names = Array.from(Deno.readDirSync(`${deploy}systemd`), ({ name }) => name);
    // The units expect Deno where packages put it; here it is where this test runs it from.
    const copy = async (name: string, to: string, change = (text: string) => text) => {
      const text = await Deno.readTextFile(`${deploy}systemd/${name}`);
      await Deno.writeTextFile(to, change(text.replaceAll("/usr/bin/deno", Deno.execPath())));
    };
    const units = names.filter((name) => /\.(?:service|timer)$/u.test(name));
    assertEquals(units.length, 8);
    for (const name of units) await copy(name, `${scratch}/${name}`);
    await Deno.mkdir(`${scratch}/gateway-.service.d`);
    const shared = `${scratch}/gateway-.service.d/jobs.conf`;
    await copy("gateway-jobs.conf", shared);
    const verify = (...some: string[]) =>
      run("systemd-analyze", ["verify", "--man=no", ...some.map((name) => `${scratch}/${name}`)], {
        SYSTEMD_UNIT_PATH: `${scratch}:/lib/systemd/system:/usr/lib/systemd/system`,
      });
    const instances = units.map((name) => name.replace("@.", "@8787."));
    assertEquals(await verify(...instances), { code: 0, said: "" });
    await copy("gateway-jobs.conf", shared, (text) => text.replace("ProtectHome", "ProtectHouse"));
    assertStringIncludes((await verify("gateway-verify.service")).said, "ProtectHouse");
  }));
