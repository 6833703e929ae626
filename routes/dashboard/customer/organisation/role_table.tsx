/** Shows what each role may do, beside the fields that choose one. */
import { acts, reachOf, type Role } from "../../../../core/people/organisations/acts.ts";
import { DataTable } from "../../components/mod.ts";
import { actNames, reachNames } from "../../text/act_names.ts";
import type { Locale } from "../../text/i18n.ts";
import { roleNames } from "../../text/role_names.ts";
import { organisationTexts } from "./texts.ts";

export function RoleTable({ locale, roles }: {
  readonly locale: Locale;
  readonly roles: readonly Role[];
}) {
  const t = organisationTexts[locale];
  return (
    <details>
      <summary>{t.roleActs}</summary>
      <p class="muted">{t.roleActsText}</p>
      <DataTable
        label={t.roleActs}
        rows={acts}
        columns={[
          { head: t.roleAct, cell: (act) => actNames[locale][act] },
          ...roles.map((role) => ({
            head: roleNames[locale][role],
            cell: (act: typeof acts[number]) => reachNames[locale][reachOf(role, act)],
          })),
        ]}
      />
    </details>
  );
}
