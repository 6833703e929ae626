/** The languages of pages and mails. */
export type Locale = "vi" | "en";
