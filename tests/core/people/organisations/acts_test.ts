import { assert, assertEquals } from "../../../support/assert.ts";
import { acts, givenRoles, mayOn, reachOf } from "../../../../core/people/organisations/acts.ts";

Deno.test("the owner may do everything, and nobody more than the owner", () => {
  for (const act of acts) assertEquals(reachOf("owner", act), "all", act);
});

Deno.test("who may only look changes nothing", () => {
  const changes = acts.filter((act) => !act.startsWith("view_"));
  for (const act of changes) assertEquals(reachOf("viewer", act), "no", act);
});

Deno.test("only the owner hands over, deletes and exports the organisation", () => {
  for (const act of ["hand_over", "delete_organisation", "export_organisation"] as const) {
    for (const role of givenRoles) assertEquals(reachOf(role, act), "no", `${role} ${act}`);
  }
});

Deno.test("what nobody is known to have made is not a member's own", () => {
  const developer = { role: "developer", personId: "acc_1" } as const;
  assert(mayOn(developer, "change_keys", "acc_1"));
  assert(!mayOn<string>(developer, "change_keys", "acc_2"));
  assert(!mayOn<string>(developer, "change_keys", undefined));
});
