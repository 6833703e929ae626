/** The list of the customer's pages, in the order of the navigation. A page that is not listed here is not served. */
import { activityPages } from "./customer/activity/activity_pages.tsx";
import { accountPages } from "./customer/account/account_pages.tsx";
import { mailsOffPages } from "./customer/account/mail_switches.tsx";
import { budgetPages } from "./customer/budgets/budgets_pages.tsx";
import { consentPages } from "./customer/keys/consent_page.tsx";
import { connectPage } from "./customer/connect/connect.tsx";
import type { DashboardDeps } from "./page/deps.ts";
import { docsPages } from "./public/docs/docs_pages.tsx";
import { homePage } from "./public/home/home_page.tsx";
import { invoicePages } from "./customer/invoices/invoices_pages.tsx";
import { keyPages } from "./customer/keys/keys_pages.tsx";
import { modelPage } from "./public/models/models_page.tsx";
import { familyPages } from "./public/model/family_page.tsx";
import { oneModelPage } from "./public/model/model_page.tsx";
import { organisationPages } from "./customer/organisation/organisation_pages.tsx";
import type { PageDeclaration } from "./page/page.ts";
import { playgroundPages } from "./customer/playground/playground_pages.tsx";
import { searchPages } from "./public/search/search_page.tsx";
import { mailLinkPages, resetPages } from "./customer/sign_in/mail_link.tsx";
import { companyPages } from "./customer/sign_in/company.tsx";
import { openIdPages } from "./customer/sign_in/openid.tsx";
import { passkeyPages } from "./customer/sign_in/passkey.tsx";
import { secondFactorPages } from "./customer/sign_in/second_factor.tsx";
import { signInPages } from "./customer/sign_in/sign_in.tsx";
import { signUpPages } from "./customer/sign_in/sign_up.tsx";
import { proofsPages } from "./public/proofs/proofs_page.tsx";
import { sitePages } from "./public/site/site_files.tsx";
import { incidentMailPages } from "./public/status/incident_mails.tsx";
import { trialPages } from "./public/trial/trial_pages.tsx";
import { statusPages } from "./public/status/status_page.tsx";
import { usagePages } from "./customer/usage/usage_pages.ts";
import { preferencePages } from "./visitor/cookies.ts";
import { walletPages } from "./customer/wallet/wallet_pages.tsx";
import { webhookPages } from "./customer/webhooks/webhook_pages.tsx";
import { welcomePages } from "./customer/welcome/welcome_page.tsx";

export const customerPages: readonly PageDeclaration<DashboardDeps>[] = [
  homePage,
  keyPages,
  consentPages,
  usagePages,
  searchPages,
  walletPages,
  budgetPages,
  invoicePages,
  webhookPages,
  modelPage,
  oneModelPage,
  familyPages,
  playgroundPages,
  trialPages,
  connectPage,
  docsPages,
  statusPages,
  proofsPages,
  incidentMailPages,
  sitePages,
  activityPages,
  accountPages,
  organisationPages,
  mailsOffPages,
  signInPages,
  passkeyPages,
  secondFactorPages,
  mailLinkPages,
  signUpPages,
  resetPages,
  openIdPages,
  companyPages,
  welcomePages,
  preferencePages,
];
