/**
 * Exports the building blocks of pages.
 *
 * - Folder `routes/dashboard/components/`: building blocks of pages: cards, tables, forms, charts,
 *   icons.
 * - In: values and texts of a page.
 * - Out: markup.
 * - Never: reads the store.
 */
export * from "./blocks.tsx";
export * from "./chart.tsx";
export * from "./code_block.tsx";
export * from "./data_table.tsx";
export * from "./form.tsx";
export * from "../page/icons.tsx";
