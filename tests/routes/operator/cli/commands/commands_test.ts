import { assert, assertEquals, assertStringIncludes } from "../../../../support/assert.ts";
import { type RanCommand, runCommand } from "../../../../support/gateways/admin_command.ts";
import { testConfig } from "../../../../support/gateways/gateway_in_process.ts";

/** Runs commands one after the other on a store of their own. */
async function onStore(run: (admin: (...args: string[]) => Promise<RanCommand>) => Promise<void>) {
  const folder = await Deno.makeTempDir();
  try {
    const config = testConfig({ env: { GATEWAY_KV: `${folder}/gateway.sqlite3` } });
    await run((...args) => runCommand(config, args));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const ann = "ann@example.com";
const credit = (...words: string[]) => ["credit", ann, ...words, "--reason", "topup cash"];

Deno.test("a command with a word, an option or a value that it does not understand does nothing", () =>
  onStore(async (admin) => {
    await admin("account", "create", "--email", ann);
    const slips: readonly (readonly [readonly string[], string])[] = [
      [credit("50", "000"), '"000" is one word too many'],
      [["credit", ann, "50000", "--reason", "topup", "cash"], '"cash" is one word too many'],
      [credit(), "VND is missing"],
      [["credit", ann, "50000"], "--reason is missing"],
      [["credit", ann, "50000", "--reason"], "--reason needs a value"],
      [[...credit("50000"), "--reason", "again"], "--reason is there twice"],
      [[...credit("50000"), "--name", "x"], 'Unknown option "--name"'],
      [[...credit("50000"), "-x"], 'Unknown option "-x"'],
      [["account", "create", "bob@example.com"], '"bob@example.com" is one word too many'],
      [["account", "create", "--name", "bob"], 'Unknown option "--name"'],
      [["account", "show"], "ACCOUNT is missing"],
      [["account", "show", ""], "ACCOUNT is missing"],
      [["account", "bob@example.com"], "Unknown command"],
      [["maintenance"], "Unknown command"],
      [["maintenance", "off", "--message", "x"], 'Unknown option "--message"'],
      [["outbox", "revive"], "QUEUE:ID is missing"],
      [["sums"], "Unknown command"],
      [["verify", "all"], '"all" is one word too many'],
      [[], "No command"],
    ];
    for (const [args, problem] of slips) {
      const ran = await admin(...args);
      assertEquals([ran.code, ran.written], [2, ""], args.join(" "));
      assertStringIncludes(ran.errors, problem);
      assertStringIncludes(ran.errors, "Usage: deno task admin");
    }
    assertEquals(JSON.parse((await admin("account", "show", ann)).written).balanceVnd, "0");
    assertEquals(JSON.parse((await admin("account")).written).data.length, 1);
  }));

Deno.test("amounts mean the same as in the operator's forms, and are repeated in the answer", () =>
  onStore(async (admin) => {
    await admin("account", "create", "--email", ann);
    const moves: readonly (readonly [string, string, string])[] = [
      ["50.000", "Credited 50 000 VND", "50000"],
      ["50,000", "Credited 50 000 VND", "100000"],
      ["50 000", "Credited 50 000 VND", "150000"],
      ["1.050.000đ", "Credited 1 050 000 VND", "1200000"],
      ["-50", "Debited 50 VND", "1199950"],
      ["-50.000", "Debited 50 000 VND", "1149950"],
    ];
    for (const [typed, summary, balanceVnd] of moves) {
      const ran = await admin(...credit(typed));
      assertEquals(ran.code, 0, `${typed}: ${ran.written}${ran.errors}`);
      const answer = JSON.parse(ran.written);
      assertEquals([answer.summary, answer.balanceVnd], [summary, balanceVnd], typed);
    }
    for (const unclear of ["50.5", "50.0000", "1.00.000", "5e4", "0", "-0", "fifty", "--", "−50"]) {
      const ran = await admin(...credit(unclear));
      assert(ran.code !== 0, unclear);
    }
    assertEquals(JSON.parse((await admin("account", "show", ann)).written).balanceVnd, "1149950");
  }));

Deno.test("a repeated operation reports that nothing moved", () =>
  onStore(async (admin) => {
    await admin("account", "create", "--email", ann);
    const args = [...credit("50.000"), "--operation=receipt-4711"];
    await admin(...args);
    const again = JSON.parse((await admin(...args)).written);
    assertEquals([again.summary, again.balanceVnd], [
      "Nothing moved: this operation has credited 50 000 VND before",
      "50000",
    ]);
  }));

Deno.test("a refused command says what is wrong and what would be right", () =>
  onStore(async (admin) => {
    await admin("account", "create", "--email", ann);
    await admin(...credit("50.000"), "--operation", "receipt-4711");
    const voucher = JSON.parse(
      (await admin("campaign", "make", "voucher", "Tet", "--amount", "20000", "--budget", "5tr"))
        .written,
    );
    const refusals: readonly (readonly [readonly string[], string])[] = [
      [
        ["margins", "--from", "2026-12-02", "--to", "2026-12-01"],
        "--from: 2026-12-02 is after",
      ],
      [["provider-sheet", "--from", "2026-12-02", "--to", "2026-12-01"], "is after to"],
      [["catalog", "rollback", "99", "--reason", "test"], "There is no such version"],
      [[...credit("60.000"), "--operation", "receipt-4711"], "was used for 50000 VND"],
      [credit("-60.000"), "the wallet has 50000 VND"],
      [["credit", ann, "5", "--reason", "x"], "must have 3 to 500 characters"],
      [[...credit("5"), "--operation", "short"], "must have 8 to 100 characters"],
      [["campaign", "make", "gift", "Tet"], "KIND: must be signup, voucher or bonus"],
      [["campaign", "make", "signup", "Tet", "--amount", "5"], "--budget: must be whole VND"],
      [["campaign", "codes", voucher.id, "0"], "COUNT: must be at least 1"],
    ];
    for (const [args, problem] of refusals) {
      const ran = await admin(...args);
      assert(ran.code !== 0, args.join(" "));
      assertStringIncludes(JSON.parse(ran.written).error.message, problem);
    }
    assertEquals(JSON.parse((await admin("account", "show", ann)).written).balanceVnd, "50000");
  }));

Deno.test("help is given wherever it is asked for, and changes nothing", () =>
  onStore(async (admin) => {
    await admin("account", "create", "--email", ann);
    for (
      const args of [["--help"], ["-h"], ["help"], ["key", "create", ann, "--help"], [
        "credit",
        "help",
      ]]
    ) {
      const ran = await admin(...args);
      assertEquals([ran.code, ran.errors], [0, ""], args.join(" "));
      for (
        const command of [
          "account create",
          "outbox revive QUEUE:ID",
          "credit ACCOUNT VND --reason R",
        ]
      ) {
        assertStringIncludes(ran.written, command);
      }
    }
    assertEquals(JSON.parse((await admin("account", "show", ann)).written).keys, []);
  }));

Deno.test("the export is written to its end, one record a line", () =>
  onStore(async (admin) => {
    await admin("account", "create", "--email", ann);
    await admin(...credit("50.000"));
    const { code, written, errors } = await admin("export");
    assertEquals([code, errors], [0, ""]);
    const kinds = written.trimEnd().split("\n").map((line) => JSON.parse(line).key[0]);
    for (const kind of ["account", "ledger", "wallet"]) assert(kinds.includes(kind), kind);
  }));
