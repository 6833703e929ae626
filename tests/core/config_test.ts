import { assert, assertEquals } from "@std/assert";
import { readConfig } from "../../core/config.ts";

const fileText = await Deno.readTextFile(new URL("../../gateway.json", import.meta.url));

/** The problems of an environment with the default file; empty if it starts. */
function problemsOf(environment: Record<string, string>): readonly string[] {
  const read = readConfig(environment, fileText);
  return read.ok ? [] : read.problems;
}

Deno.test("a host that is no part of a URL needs a public address", () => {
  for (const HOST of ["fe80::1%eth0", "gw.example/v1", "ann@gw.example", "gw example"]) {
    const problems = problemsOf({ HOST });
    assertEquals(problems.length, 1, HOST);
    assert(/HOST.*GATEWAY_BASE_URL/.test(problems[0]!), problems[0]);
  }
  assertEquals(problemsOf({ HOST: "fe80::1%eth0", GATEWAY_BASE_URL: "https://gw.example" }), []);
  for (const HOST of ["::1", "[::1]", "::", "0.0.0.0", "gateway.internal"]) {
    assertEquals(problemsOf({ HOST }), [], HOST);
  }
});
