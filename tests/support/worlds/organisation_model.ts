/**
 * A model of an organisation: what its members, keys, invitations and budgets are after each step, as a person who has
 * read the documents expects it. It knows nothing of the code: who may do what is read from `docs/roles.md`, which people
 * have reviewed.
 */
import * as fc from "../property.ts";
import { assert } from "../assert.ts";
import {
  organisationNames,
  type SettingAct,
  settingActNames,
  SettingsModel,
  settingValues,
} from "./organisation_settings.ts";

/** People by number; the first one is the owner in the beginning, the last ones are strangers. */
export const peopleCount = 5;

export const givenRoles = ["admin", "developer", "billing", "viewer"] as const;
export const programRoles = ["admin", "billing", "viewer"] as const;
export type Role = "owner" | typeof givenRoles[number];

/** Who does a step: a person on pages, or a program with one of the management keys. */
export interface Actor {
  readonly by: "page" | "api";
  /** The number of the person, or of the management key among those that there are. */
  readonly at: number;
}

/** What can be tried. Keys and budgets are chosen by a number among those that there are. */
export type Step =
  & { readonly instance: 0 | 1; readonly actor: Actor }
  & (
    | { readonly does: "invite"; readonly whom: number; readonly role: typeof givenRoles[number] }
    | { readonly does: "withdraw" | "remove" | "hand_over"; readonly whom: number }
    | { readonly does: "accept" | "leave" }
    | { readonly does: "change_role"; readonly whom: number; readonly role: Role }
    | { readonly does: "make_key" }
    | { readonly does: "rotate_key" | "revoke_key" | "call"; readonly key: number }
    | { readonly does: "make_program"; readonly role: typeof programRoles[number] }
    | { readonly does: "revoke_program"; readonly program: number }
    | {
      readonly does: "make_budget";
      readonly of: "all" | "key" | "foreign_key";
      readonly key: number;
      readonly vnd: number;
    }
    | { readonly does: "rename_key"; readonly key: number; readonly name: string }
    | { readonly does: "remove_budget"; readonly budget: number }
    | { readonly does: "change_budget"; readonly budget: number; readonly vnd: number }
    | { readonly does: "set"; readonly act: SettingAct; readonly value: number }
  );

const whom = fc.nat({ max: peopleCount - 1 });
const any = fc.nat({ max: 11 });
const budgetVnd = fc.integer({ min: 1, max: 2_000 });
/** Those who have been members from the beginning try more than strangers. */
const person = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(0, 1) },
  { weight: 2, arbitrary: whom },
);
const actor: fc.Arbitrary<Actor> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ by: fc.constant("page" as const), at: person }) },
  { weight: 2, arbitrary: fc.record({ by: fc.constant("api" as const), at: any }) },
);
const onPage: fc.Arbitrary<Actor> = fc.record({ by: fc.constant("page" as const), at: person });
const at = { instance: fc.constantFrom(0 as const, 1 as const), actor };
const byPerson = { ...at, actor: onPage };

function kind(weight: number, arbitrary: fc.Arbitrary<Step>) {
  return { weight, arbitrary };
}

/** Any step. Those that give and take rights are tried more often. */
export const anyStep: fc.Arbitrary<Step> = fc.oneof(
  kind(
    4,
    fc.record({
      ...at,
      does: fc.constant("invite" as const),
      whom,
      role: fc.constantFrom(...givenRoles),
    }),
  ),
  kind(
    4,
    fc.record({
      ...at,
      does: fc.constantFrom("withdraw" as const, "remove", "remove", "remove"),
      whom,
    }),
  ),
  kind(3, fc.record({ ...byPerson, does: fc.constantFrom("accept" as const, "accept", "leave") })),
  kind(2, fc.record({ ...byPerson, does: fc.constant("hand_over" as const), whom })),
  kind(
    4,
    fc.record({
      ...at,
      does: fc.constant("change_role" as const),
      whom,
      role: fc.constantFrom<Role>(...givenRoles, "owner"),
    }),
  ),
  kind(2, fc.record({ ...at, does: fc.constant("make_key" as const) })),
  kind(
    5,
    fc.record({
      ...at,
      does: fc.constantFrom("rotate_key" as const, "revoke_key", "call"),
      key: any,
    }),
  ),
  kind(
    1,
    fc.record({
      ...byPerson,
      does: fc.constant("make_program" as const),
      role: fc.constantFrom(...programRoles),
    }),
  ),
  kind(1, fc.record({ ...at, does: fc.constant("revoke_program" as const), program: any })),
  kind(
    2,
    fc.record({
      ...at,
      does: fc.constant("make_budget" as const),
      of: fc.constantFrom("all" as const, "key", "foreign_key"),
      key: any,
      vnd: budgetVnd,
    }),
  ),
  kind(
    1,
    fc.record({ ...at, does: fc.constant("change_budget" as const), budget: any, vnd: budgetVnd }),
  ),
  kind(
    2,
    fc.record({
      ...at,
      does: fc.constant("rename_key" as const),
      key: any,
      name: fc.constantFrom("first", "second"),
    }),
  ),
  kind(1, fc.record({ ...at, does: fc.constant("remove_budget" as const), budget: any })),
  kind(
    8,
    fc.record({
      ...at,
      does: fc.constant("set" as const),
      act: fc.constantFrom(...settingActNames),
      value: fc.nat({ max: settingValues - 1 }),
    }),
  ),
);

/**
 * The roles of the first people in the beginning. The second one was an admin when their keys were made, and often is one
 * still; the third one often changes only what is their own, and the fourth may be a stranger.
 */
export const anyStart: fc.Arbitrary<readonly (Role | undefined)[]> = fc.record({
  second: fc.oneof(
    { weight: 2, arbitrary: fc.constant("admin" as const) },
    fc.constantFrom(...givenRoles),
  ),
  third: fc.oneof(
    { weight: 1, arbitrary: fc.constant("developer" as const) },
    { weight: 1, arbitrary: fc.constantFrom(...givenRoles) },
  ),
  fourth: fc.constantFrom(undefined, ...givenRoles),
}).map(({ second, third, fourth }) => ["owner", second, third, fourth]);

// Who may do what, by the document.

type Reach = "all" | "own" | "no";

/** What a section of `docs/roles.md` says. */
interface DocumentedAct {
  readonly all: readonly string[];
  readonly own: readonly string[];
  readonly places: readonly string[];
}

function readRoles(): ReadonlyMap<string, DocumentedAct> {
  const text = Deno.readTextFileSync(new URL("../../../docs/roles.md", import.meta.url));
  const sections = text.matchAll(
    /^`(\w+)`\. For ([\w, ]+)\.(?: On what they have made: ([\w, ]+)\.)?\n\n((?:- .*\n)+)/gm,
  );
  const names = (list = "") => list.split(", ").filter((name) => name !== "");
  return new Map([...sections].map(([, act = "", all, own, places = ""]) => [act, {
    all: names(all),
    own: names(own),
    places: places.split("\n").filter((line) => line !== ""),
  }]));
}

const documented = readRoles();

/** The act of a page, form or operation, as the document has it: `form \`/keys\``. */
export function actAt(place: string): string {
  const found = [...documented].find(([, { places }]) =>
    places.some((line) => line === `- ${place}` || line.startsWith(`- ${place}:`))
  );
  assert(found !== undefined, `docs/roles.md has no ${place}`);
  return found[0];
}

function reach(role: Role, act: string): Reach {
  const found = documented.get(act);
  assert(found !== undefined, `docs/roles.md has no act ${act}`);
  return found.all.includes(role) ? "all" : found.own.includes(role) ? "own" : "no";
}

// The model.

interface Invitation {
  readonly role: Role;
  readonly by: number;
  /** The management key that was used. */
  readonly program: number | undefined;
}

interface Key {
  /** Whose it is; absent: the organisation's own. */
  readonly maker: number | undefined;
  active: boolean;
  name: string;
}

/** The name with which keys are made. */
export const keyName = "key";

interface Program {
  readonly role: Role;
  readonly maker: number;
  active: boolean;
}

interface Budget {
  readonly key: number | undefined;
  vnd: number;
  spentMicroVnd: bigint;
}

/** Invitations of one address that are mailed within the hour that a sequence takes. */
const mailsPerAddress = 5;

/** What a step may do: nothing, or what the model then has done. */
export class OrganisationModel {
  readonly roles = new Map<number, Role>();
  /** In the beginning the second person has invited the last one. */
  readonly invitations = new Map<number, Invitation>([
    [peopleCount - 1, { role: "admin", by: 1, program: undefined }],
  ]);
  /** The second person has a key and a management key, and the third one a key. */
  readonly keys: Key[] = [1, 2].map((maker) => ({ maker, active: true, name: keyName }));
  readonly programs: Program[] = [{ role: "admin", maker: 1, active: true }];
  readonly budgets: Budget[] = [];
  readonly settings = new SettingsModel();
  readonly #mails = new Map<number, number>();

  constructor(start: readonly (Role | undefined)[]) {
    for (const [person, role] of start.entries()) if (role) this.roles.set(person, role);
  }

  /** The person behind an actor, with the roles that have to allow what is done; absent: nobody of the organisation. */
  #acting(
    { by, at }: Actor,
  ): { readonly person: number; readonly roles: readonly Role[] } | undefined {
    if (by === "page") {
      const role = this.roles.get(at);
      return role && { person: at, roles: [role] };
    }
    const program = this.programs[at];
    const maker = program?.active === true ? this.roles.get(program.maker) : undefined;
    if (program === undefined || maker === undefined) return undefined;
    return { person: program.maker, roles: [program.role, maker] };
  }

  /** Whether somebody may do an act, on what `owner` has made if one is named; `undefined`: on nobody's. */
  may(actor: Actor, act: string, of?: { readonly owner: number | undefined }): boolean {
    const acting = this.#acting(actor);
    return acting !== undefined && acting.roles.every((role) => {
      const found = reach(role, act);
      if (of === undefined) return found !== "no";
      return found === "all" || (found === "own" && of.owner === acting.person);
    });
  }

  /** Whether whoever invited may still do so. */
  #isRightful({ by, program }: Invitation): boolean {
    const actor: Actor = program === undefined
      ? { by: "page", at: by }
      : { by: "api", at: program };
    return this.may(actor, "change_members");
  }

  openInvitations(): [number, Role][] {
    return [...this.invitations].filter(([, one]) => this.#isRightful(one))
      .map(([whom, { role }]) => [whom, role] as [number, Role]);
  }

  #leaves(person: number): void {
    this.roles.delete(person);
    for (const key of this.keys) if (key.maker === person) key.active = false;
    for (const program of this.programs) if (program.maker === person) program.active = false;
  }

  /** The step with numbers of what there is; absent if it could not be sent, or mails to the address are used up. */
  resolve(step: Step): Step | undefined {
    const actor = step.actor.by === "page"
      ? step.actor
      : { ...step.actor, at: step.actor.at % this.programs.length };
    const sent = { ...step, actor };
    switch (sent.does) {
      case "invite":
        return (this.#mails.get(sent.whom) ?? 0) < mailsPerAddress ? sent : undefined;
      case "accept": {
        // Whoever is invited answers, if somebody is.
        const invited = [...this.invitations.keys()];
        const at = invited[actor.at % invited.length] ?? actor.at;
        return { ...sent, actor: { by: "page", at } };
      }
      case "rotate_key":
      case "revoke_key":
      case "rename_key":
      case "call":
      case "make_budget":
        return { ...sent, key: sent.key % this.keys.length };
      case "revoke_program":
        return { ...sent, program: sent.program % this.programs.length };
      case "change_budget":
      case "remove_budget": {
        const count = this.budgets.length;
        return count === 0 ? undefined : { ...sent, budget: sent.budget % count };
      }
      case "set":
        return this.settings.canBeTried(sent.act, sent.value) ? sent : undefined;
      default:
        return sent;
    }
  }

  get name(): string {
    return organisationNames[this.settings.singles.name] ?? "";
  }

  /** Does what a step does, as far as who tries it may. */
  apply(step: Step): void {
    const { actor } = step;
    switch (step.does) {
      case "invite":
        return this.#invite(actor, step);
      case "withdraw":
        if (this.may(actor, "change_members")) this.invitations.delete(step.whom);
        return;
      case "accept": {
        const invitation = this.invitations.get(actor.at);
        if (invitation === undefined || !this.#isRightful(invitation)) return;
        this.invitations.delete(actor.at);
        this.roles.set(actor.at, invitation.role);
        return;
      }
      case "leave":
        if (this.roles.has(actor.at) && this.roles.get(actor.at) !== "owner") {
          this.#leaves(actor.at);
        }
        return;
      case "remove":
      case "change_role":
      case "hand_over":
        return this.#changeMember(step);
      case "make_key":
        return this.#makeKey(actor);
      case "rotate_key":
      case "call":
        return;
      case "revoke_key":
      case "rename_key": {
        const key = this.keys[step.key];
        if (!key || !this.may(actor, "change_keys", { owner: key.maker })) return;
        if (step.does !== "rename_key") key.active = false;
        else if (key.active) key.name = step.name;
        return;
      }
      default:
        return this.#changeSettings(step);
    }
  }

  #invite(actor: Actor, { whom, role }: Extract<Step, { does: "invite" }>): void {
    if (!this.may(actor, "change_members")) return;
    this.#mails.set(whom, (this.#mails.get(whom) ?? 0) + 1);
    if (this.roles.has(whom)) return;
    const { person } = this.#acting(actor) ?? { person: actor.at };
    const program = actor.by === "api" ? actor.at : undefined;
    this.invitations.set(whom, { role, by: person, program });
  }

  #changeMember(
    step: Extract<Step, { does: "remove" | "change_role" | "hand_over" | "withdraw" }>,
  ) {
    const { actor, whom } = step;
    const role = this.roles.get(whom);
    if (role === undefined || role === "owner") return;
    if (step.does === "hand_over") {
      if (!this.may(actor, "hand_over")) return;
      this.roles.set(actor.at, "admin");
      this.roles.set(whom, "owner");
    } else if (this.may(actor, "change_members")) {
      if (step.does === "remove") this.#leaves(whom);
      else if (step.does === "change_role" && step.role !== "owner") {
        this.roles.set(whom, step.role);
      }
    }
  }

  #makeKey(actor: Actor): void {
    if (!this.may(actor, "change_keys")) return;
    const { person } = this.#acting(actor) ?? { person: undefined };
    const isOrganisations = actor.by === "api" &&
      this.may(actor, "change_keys", { owner: undefined });
    this.keys.push({ maker: isOrganisations ? undefined : person, active: true, name: keyName });
  }

  #changeSettings(step: Step): void {
    const { actor } = step;
    if (step.does === "make_program" && this.may(actor, "change_management_keys")) {
      this.programs.push({ role: step.role, maker: actor.at, active: true });
    }
    if (step.does === "revoke_program" && this.may(actor, "change_management_keys")) {
      const program = this.programs[step.program];
      if (program) program.active = false;
    }
    if (step.does === "make_budget" && this.may(actor, "change_budgets")) {
      // The key of another organisation is none of this one.
      if (step.of === "foreign_key") return;
      const key = step.of === "key" ? step.key : undefined;
      this.budgets.push({ key, vnd: step.vnd, spentMicroVnd: 0n });
    }
    if (step.does === "change_budget" && this.may(actor, "change_budgets")) {
      const budget = this.budgets[step.budget];
      if (budget) budget.vnd = step.vnd;
    }
    if (step.does === "remove_budget" && this.may(actor, "change_budgets")) {
      this.budgets.splice(step.budget, 1);
    }
    if (step.does === "set" && this.may(actor, actAt(`operation \`${step.act}\``))) {
      this.settings.apply(step.act, step.value);
    }
  }
}
