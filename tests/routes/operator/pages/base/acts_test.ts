/** Each act of the operator's pages is an operation, and leaves one line in the audit log. */
import { assert, assertEquals } from "../../../../support/assert.ts";
import { listCampaigns } from "../../../../../kv/money/credits/campaigns.ts";
import { listAuditLines, type OperatorAct } from "../../../../../kv/people/audit/operator_audit.ts";
import { listAnnouncements } from "../../../../../kv/people/operators/announcements.ts";
import { askForInvoice, issued, paidOrder } from "../../../../support/worlds/invoice_requests.ts";
import { operatorWorld } from "../../../../support/worlds/operator_world.ts";

/** What is sent to a page, and the act that its line names; a refusal leaves no line. */
type Sent = readonly [string, Readonly<Record<string, string>>, OperatorAct | undefined];

Deno.test("an act of a page leaves one line, and one that was refused none", () =>
  operatorWorld(async ({ world, operator }) => {
    const { kv } = world;
    const staff = await operator("staff");
    const ann = await world.customer("ann");
    const requests: string[] = [];
    for (let at = 0; at < 2; at++) {
      const made = await askForInvoice(world, ann.id, [(await paidOrder(world, ann)).code]);
      assert(made.ok);
      requests.push(made.invoice.id);
    }
    const linesOf = async () => (await listAuditLines(kv, { count: 100 })).map(({ act }) => act);
    const sendAll = async (table: readonly Sent[]) => {
      for (const [path, form, act] of table) {
        world.nowMs += 1_000;
        const before = await linesOf();
        const { status } = await staff.post(`/operator/${path}`, form);
        const name = `${path} ${JSON.stringify(form)}`;
        assertEquals(status === 400, act === undefined, `${status} for ${name}`);
        const fresh = await linesOf();
        assertEquals(fresh.slice(0, fresh.length - before.length), act ? [act] : [], name);
      }
    };
    const account = `accounts/${ann.id}`;
    const removal = { edit: "model", name: "image-1", remove: "yes", base: "1", reason: "r" };
    const terms = { kind: "voucher", name: "Tet", amount: "20k", budget: "100k" };
    const told = { kind: "incident", title: "Slow", text: "We look at it." };
    const [first, second] = requests.map((id) => `invoices/${id}/move`);
    assert(first !== undefined && second !== undefined);
    await sendAll([
      [`${account}/note`, { text: " " }, undefined],
      [`${account}/note`, { text: "x".repeat(501) }, undefined],
      [`${account}/note`, { text: "asks for invoices" }, "note_added"],
      [`${account}/sign-out`, { reason: "" }, undefined],
      [`${account}/sign-out`, { reason: "lost laptop" }, "account_signed_out"],
      [`${account}/block`, { reason: "" }, undefined],
      [`${account}/block`, { reason: "abuse" }, "account_blocked"],
      [`${account}/unblock`, { reason: "paid" }, "account_unblocked"],
      [`${account}/limits`, { requestsPerMinute: "60", reason: "" }, undefined],
      [`${account}/limits`, { models: "none 1 2 3", reason: "r" }, undefined],
      [`${account}/limits`, { requestsPerMinute: "60", reason: "large" }, "rate_limits_changed"],
      ["campaigns", { ...terms, budget: "" }, undefined],
      ["campaigns", terms, "campaign_made"],
      ["announcements", { ...told, title: "" }, undefined],
      ["announcements", told, "announcement_published"],
      [first, { to: "lost" }, undefined],
      [first, { to: "sent" }, undefined],
      [first, { to: "issued", ...issued, series: "" }, undefined],
      [first, { to: "issued", ...issued }, "invoice_issued"],
      [first, { to: "sent" }, "invoice_sent"],
      [first, { to: "replaced", reason: "" }, undefined],
      [first, { to: "replaced", reason: "wrong name" }, "invoice_replaced"],
      [second, { to: "rejected", reason: "no such company" }, "invoice_rejected"],
      ["service/maintenance", { on: "yes", message: "" }, undefined],
      ["service/maintenance", { on: "yes", message: "soon" }, "maintenance_changed"],
      ["service/maintenance", { on: "no" }, "maintenance_changed"],
      ["catalogue/apply", { ...removal, reason: "" }, undefined],
      ["catalogue/apply", { ...removal, reason: "a\u0000b" }, undefined],
      ["catalogue/apply", { ...removal, from: "soon" }, undefined],
      ["catalogue/apply", { ...removal, base: "7" }, undefined],
      ["catalogue/apply", { ...removal, edit: "provider", name: "sandbox" }, undefined],
      ["catalogue/apply", removal, "catalog_applied"],
      ["catalogue/rollback", { base: "1", version: "1" }, undefined],
      ["catalogue/rollback", { base: "2", version: "9" }, undefined],
      ["catalogue/rollback", { base: "2", version: "x" }, undefined],
      ["catalogue/rollback", { base: "2", version: "1" }, "catalog_applied"],
      ["catalogue/withdraw", { base: "3" }, undefined],
    ]);
    const [campaign] = await listCampaigns(kv);
    const [announcement] = await listAnnouncements(kv);
    await sendAll([
      [`campaigns/${campaign?.id}/pause`, {}, "campaign_paused"],
      [`campaigns/${campaign?.id}/pause`, {}, undefined],
      [`campaigns/${campaign?.id}/resume`, {}, "campaign_resumed"],
      [`campaigns/${campaign?.id}/codes.csv`, { count: "0", uses: "1" }, undefined],
      [`campaigns/${campaign?.id}/codes.csv`, { count: "2", uses: "1" }, "vouchers_made"],
      [`announcements/${announcement?.id}`, { text: "", ends: "yes" }, undefined],
      [`announcements/${announcement?.id}`, { text: "Over.", ends: "yes" }, "announcement_updated"],
    ]);
  }));
