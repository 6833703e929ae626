/** The list of the customer's pages, in the order of the navigation. A page that is not listed here is not served. */
import { accountPages } from "./account/mod.tsx";
import { connectPage } from "./connect/connect.tsx";
import type { DashboardDeps } from "./deps.ts";
import { docsPages } from "./docs/mod.tsx";
import { homePage } from "./home/mod.tsx";
import { invoicePages } from "./invoices/invoices_pages.tsx";
import { keyPages } from "./keys/mod.tsx";
import { modelPage } from "./models/mod.tsx";
import { oneModelPage } from "./model/mod.tsx";
import type { PageDeclaration } from "./page.ts";
import { playgroundPages } from "./playground/mod.tsx";
import { searchPages } from "./search/mod.tsx";
import { mailLinkPages } from "./sign_in/mail_link.tsx";
import { openIdPages } from "./sign_in/openid.tsx";
import { resetPages } from "./sign_in/reset.tsx";
import { signInPages } from "./sign_in/sign_in.tsx";
import { signUpPages } from "./sign_in/sign_up.tsx";
import { sitePages } from "./site/mod.tsx";
import { statusPages } from "./status/status_page.tsx";
import { usagePages } from "./usage/mod.ts";
import { preferencePages } from "./visitor/preferences.ts";
import { walletPages } from "./wallet/wallet_pages.tsx";
import { welcomePages } from "./welcome/mod.tsx";

export const customerPages: readonly PageDeclaration<DashboardDeps>[] = [
  homePage,
  keyPages,
  usagePages,
  searchPages,
  walletPages,
  invoicePages,
  modelPage,
  oneModelPage,
  playgroundPages,
  connectPage,
  docsPages,
  statusPages,
  sitePages,
  accountPages,
  signInPages,
  mailLinkPages,
  signUpPages,
  resetPages,
  openIdPages,
  welcomePages,
  preferencePages,
];
