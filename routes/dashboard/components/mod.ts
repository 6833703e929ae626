/** Everything that pages are built of. */
export * from "./blocks.tsx";
export * from "./chart.tsx";
export * from "./data_table.tsx";
export * from "./form.tsx";
export * from "./icons.tsx";
export * from "./support.tsx";
