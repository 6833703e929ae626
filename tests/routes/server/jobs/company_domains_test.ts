import { assertEquals } from "../../../support/assert.ts";
import { hourMs } from "../../../../core/lib/time/durations.ts";
import { createAccount } from "../../../../kv/people/accounts/accounts.ts";
import {
  addCompanyDomain,
  verifyDomain,
} from "../../../../kv/people/organisations/company_sign_in.ts";
import { companyDomainJob } from "../../../../routes/server/jobs/mails.ts";
import { ManualTime } from "../../../support/manual_time.ts";

Deno.test("the job asks for each record every six hours, and hints at the mail that it queues", async () => {
  using kv = await Deno.openKv(":memory:");
  const time = new ManualTime(Date.UTC(2026, 10, 28));
  const nowMs = time.nowMs();
  const { id } = await createAccount(kv, { nowMs, email: "owner@acme.example" });
  await addCompanyDomain(kv, id, "acme.example", { nowMs });
  await verifyDomain(kv, id, "acme.example", { isPublished: () => true, nowMs });
  const asked: string[] = [];
  let hints = 0;
  const resolveTxt = (name: string) => {
    asked.push(name);
    return Promise.resolve([]);
  };
  const job = companyDomainJob({ kv, clock: time }, resolveTxt, () => hints++);
  const looks: (readonly [number, number])[] = [];
  for (let hour = 1; hour <= 13; hour++) {
    await time.advance(hourMs);
    await job.run();
    if (hour % 6 === 0) looks.push([asked.length, hints]);
  }
  assertEquals(looks, [[1, 1], [2, 1]], "the second look finds nothing new");
  assertEquals(asked[0], "_gateway-verification.acme.example");
});
