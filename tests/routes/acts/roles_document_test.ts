/** `docs/roles.md` is what people have reviewed: a row of the tables of roles, acts and pages that differs is found. */
import { assertEquals } from "../../support/assert.ts";
import { rolesPageText } from "../../../docs/write_roles.ts";

Deno.test("docs/roles.md says who may do what, and where; `deno task roles` writes it", () => {
  const committed = Deno.readTextFileSync(new URL("../../../docs/roles.md", import.meta.url));
  assertEquals(rolesPageText(), committed);
});
