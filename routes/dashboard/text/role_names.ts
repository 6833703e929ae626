/** Names of the roles of members on pages. */
import type { Role } from "../../../core/people/organisations/acts.ts";
import type { Locale } from "./i18n.ts";

export const roleNames: Readonly<Record<Locale, Readonly<Record<Role, string>>>> = {
  en: {
    owner: "owner",
    admin: "admin",
    developer: "developer",
    billing: "billing",
    viewer: "viewer",
  },
  vi: {
    owner: "chủ sở hữu",
    admin: "quản trị viên",
    developer: "lập trình viên",
    billing: "kế toán",
    viewer: "người xem",
  },
};
