/** Errors of commands name what was typed: each option and operand of each command, sent wrong, once. */
import { assert, assertEquals } from "../../../../support/assert.ts";
import { commandForms } from "../../../../../routes/operator/cli/command_forms.ts";
import type { CommandForm } from "../../../../../routes/operator/cli/command.ts";
import { runCommand } from "../../../../support/gateways/admin_command.ts";
import { testConfig } from "../../../../support/gateways/gateway_in_process.ts";

/** No text of any field: it has a control character, and is no day, number, choice or id. */
const wrong = "x\u0001".repeat(300);

/** Options whose values are refused elsewhere than by a schema of input, or never. */
const free: Readonly<Record<string, string>> = {
  "provider-sheet --provider": "a provider without calls has no rows",
  "notice assign TARGET": "the notice is looked up first, and is not there",
};

/** Values with which the other options and operands of a command are right. */
const right: Readonly<Record<string, string>> = {
  ACCOUNT: "ann@example.com",
  VND: "5000",
  COUNT: "1",
  VERSION: "1",
  "SOURCE:ID": "sepay:1",
  DAY: "2026-11-01",
  KIND: "voucher",
  "--from": "2026-11-01",
  "--to": "2026-11-02",
  "--amount": "20k",
  "--budget": "100k",
  "--reason": "late bank",
  "--text": "late bank",
  "--note": "late bank",
  "--reference": "FT26334",
};

/** Without these, a campaign has more than one fault. */
const always: ReadonlySet<string> = new Set(["--amount", "--budget"]);

function argsOf(
  { words, operands, options }: CommandForm,
  fault: string,
  file: string,
): readonly string[] {
  const others: Readonly<Record<string, string>> = { ...right, FILE: file };
  const valueOf = (typed: string) => typed === fault ? wrong : others[typed] ?? "1";
  return [
    ...words,
    ...operands.map(valueOf),
    ...options.filter(({ name, value, needed }) =>
      value !== undefined &&
      (needed === true || `--${name}` === fault || always.has(`--${name}`))
    ).map(({ name }) => `--${name}=${valueOf(`--${name}`)}`),
  ];
}

Deno.test("each command names the option or operand that is wrong as it was typed", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const config = testConfig({ env: { GATEWAY_KV: `${folder}/gateway.sqlite3` } });
    await runCommand(config, ["account", "create", "--email", "ann@example.com"]);
    const file = `${folder}/catalogue.json`;
    await Deno.writeTextFile(file, "{}");
    const unnamed: string[] = [];
    let refusals = 0;
    for (const form of commandForms) {
      const { operands, options, words } = form;
      const { typed = {}, backup } = form.request(operands.map(() => "1"), {});
      if (backup !== undefined) continue;
      // Each field that has a name of its own is known by it.
      const names = Object.values(typed);
      const own = new Set(["--dry-run"]);
      for (const { name } of options) {
        const option = `--${name}`;
        assert(names.includes(option) || own.has(option), `${words.join(" ")} ${option}`);
      }
      for (const [field, name] of Object.entries(typed)) {
        const option = options.find((one) => `--${one.name}` === name);
        if (option !== undefined && option.value === undefined) continue;
        const command = `${words.join(" ")} ${name}`;
        const ran = await runCommand(
          config,
          argsOf(form, name, file),
          undefined,
          "sk-of-a-test-0123",
        );
        const said = `${ran.written}${ran.errors}`;
        if (ran.code === 0 || !said.includes(name)) {
          if (!Object.hasOwn(free, command)) unnamed.push(`${command}: ${ran.code} ${said}`);
          continue;
        }
        refusals++;
        const isSaid = new RegExp(`("message": "|; )${field}: |"param": "${field}"`).test(said);
        assert(!isSaid || name === field || name === `--${field}`, `${command}: ${said}`);
      }
    }
    assertEquals(unnamed, []);
    assert(refusals > 40, String(refusals));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
