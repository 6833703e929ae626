/** Line icons of the dashboard. They are decoration: the texts beside them carry the meaning. */

const shapes = {
  home: "M3.5 11 12 4l8.5 7M6 9.5V20h12V9.5M10 20v-5h4v5",
  key: "M14.5 9.5a4.5 4.5 0 1 1-1.6-3.4 4.5 4.5 0 0 1 1.6 3.4Zm-1.2 2.8 7.2 7.2m-3-3-2 2",
  usage: "M4 20V4m0 16h16M8 16v-4m4 4V7m4 9v-6",
  wallet:
    "M4 7.5A2.5 2.5 0 0 1 6.5 5H17v3m-13-.5V17a2 2 0 0 0 2 2h13a1 1 0 0 0 1-1V9a1 1 0 0 0-1-1H5M16.5 13.5h.01",
  invoice: "M6 3.5h12v17l-2.4-1.6L13.2 20.5 12 19l-1.2 1.5-2.4-1.6L6 20.5v-17ZM9 8h6m-6 3.5h6",
  models: "M12 3.5 20 8v8l-8 4.5L4 16V8l8-4.5Zm0 0V12m0 0 8-4m-8 4-8-4m8 4v8.5",
  playground: "M5 5h14v10H10l-4 4v-4H5V5Zm4 3.8 2 1.7-2 1.7M13 12h2.5",
  status: "M3.5 12h4l2.5-6.500 4 13 2.500-6.500h4",
  docs: "M5 4.500h9l5 5V19.500H5v-15ZM14 4.500v5h5M8.5 13h7m-7 3h5",
  connect: "M9 7 4.5 12 9 17m6-10 4.5 5-4.5 5M13 5.5l-2 13",
  account: "M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8Zm-7.5 8.5a7.5 7.5 0 0 1 15 0",
  operator: "M12 3.5 19 6v5.5c0 4.2-2.8 7.4-7 9-4.2-1.6-7-4.8-7-9V6l7-2.5Zm-2.8 8.3 2.1 2.1 3.7-4",
  people:
    "M9.5 11.5a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7ZM3 19.5a6.5 6.5 0 0 1 13 0M15.5 4.8a3.5 3.5 0 0 1 0 6.4M18 14.2a6.5 6.5 0 0 1 3 5.3",
  switches:
    "M4 8h9m5 0h2M4 16h2m5 0h9M15.5 10.5a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Zm-7 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5Z",
  list: "M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01",
  bank: "M4 9.5 12 4.5l8 5H4Zm2 0V17m4-7.5V17m4-7.5V17m4-7.5V17M4 19.5h16",
  webhook:
    "M9.5 8.5a3 3 0 1 1 4.4 1.3l2.6 4.700m-7.500-3.800L6.500 15.500m0 0a3 3 0 1 0 2.900 3.500h7.100m0-4.500a3 3 0 1 1-1.800 4.500",
  menu: "M4 7h16M4 12h16M4 17h16",
  check: "m5 12.5 4.5 4.5L19 7.5",
  copy: "M9 9h10v11H9V9ZM15 9V4H5v11h4",
  plus: "M12 5v14M5 12h14",
  info: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18Zm0-10v5m0-8.2h.01",
  warning: "M12 4 2.8 19.5h18.4L12 4Zm0 6v4.5m0 2.5h.01",
  language:
    "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18ZM3.5 9.5h17m-17 5h17M12 3c-5 5.5-5 12.5 0 18 5-5.5 5-12.5 0-18Z",
  theme:
    "M12 16.500a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9Zm0-13v1.500m0 14v1.500M3.5 12H5m14 0h1.500M6 6l1 1m10 10 1 1m0-12-1 1M7 17l-1 1",
  search: "M10.5 17a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13Zm4.700-1.800L20 20",
  signOut: "M10 4.500H5v15h5M14.5 8l4 4-4 4m4-4H9.5",
  external: "M13.5 4.500H19.500v6M19.5 4.500l-8 8M9.5 6h-4.500v13h13v-4.5",
  download: "M12 4v11m0 0 4.5-4.500M12 15l-4.5-4.500M5 19.500h14",
} as const;

/** The names of the icons. */
export type IconName = keyof typeof shapes;

/** One icon, hidden from screen readers. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg
      class="icon"
      viewBox="0 0 24 24"
      width="20"
      height="20"
      fill="none"
      stroke="currentColor"
      stroke-width="1.7"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
      focusable="false"
    >
      <path d={shapes[name]} />
    </svg>
  );
}

/** The logo of the service: several lines that join. */
export function Mark() {
  return (
    <svg
      class="mark"
      viewBox="0 0 32 32"
      width="28"
      height="28"
      aria-hidden="true"
      focusable="false"
    >
      <rect width="32" height="32" rx="9" fill="currentColor" />
      <g fill="none" stroke="#fff" stroke-width="2.4" stroke-linecap="round">
        <path d="M7 9.500c6 0 5 6.5 10 6.500M7 22.500c6 0 5-6.5 10-6.500M7 16h18" />
        <path d="m21 11.8 4.2 4.200-4.2 4.200" stroke-linejoin="round" />
      </g>
    </svg>
  );
}
