/** Icons, drawn as strokes on a grid of 20. Each one has a visible label, or one for screen readers. */
const PATHS = {
  home: 'M3 9.5 10 4l7 5.5V16H3zM8 16v-4h4v4',
  orders: 'M4 5h12M4 10h12M4 15h7',
  money: 'M3 6h14v9H3zM3 9h14M6 12.5h3',
  keys: 'M12.5 7.5a3 3 0 1 0-2.8 3.9L4 17v-2.5M6.5 14.5 8 16M12 8h.01',
  settings: 'M4 6h7M15 6h1M4 14h1M9 14h7M13 4v4M7 12v4',
  search: 'M9 15A6 6 0 1 0 9 3a6 6 0 0 0 0 12zM13.5 13.5 17 17',
  price: 'M4 4h6l6 6-6 6-6-6zM7.5 7.5h.01',
  projects: 'M3 6h5l2 2h7v8H3z',
  people:
    'M7 9a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM2.5 16c0-3 2-4.5 4.5-4.5S11.5 13 11.5 16M13 9a2 2 0 1 0 0-4M14 11.700c2 .3 3.5 1.7 3.5 4.3',
  pool: 'M10 3s5 5.5 5 9a5 5 0 0 1-10 0c0-3.5 5-9 5-9z',
  deposits: 'M10 3v9M6.5 8.5 10 12l3.5-3.500M4 16h12',
  reports: 'M4 16V9M9 16V4M14 16v-5',
  system: 'M3 5h14v5H3zM3 12h14v4H3zM6 7.500h.01M6 14h.01',
  inbox: 'M3 11 5 4h10l2 7v5H3zM3 11h4l1 2h4l1-2h4',
  account: 'M10 10a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM3.5 17c0-3.5 2.8-5 6.5-5s6.5 1.5 6.5 5',
  good: 'M4 10.5 8 14.5 16 6',
  wait: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM10 6v4l3 2',
  returned: 'M5 8h8a3.5 3.5 0 0 1 0 7H8M5 8l3-3M5 8l3 3',
  refill: 'M15.5 8A6 6 0 1 0 16 11.500M16 3.500V8h-4.500',
  sleep: 'M15.5 12.500A6.5 6.5 0 0 1 7.500 4.500a6.5 6.5 0 1 0 8 8z',
  bad: 'M5 5l10 10M15 5 5 15',
  warn: 'M10 3.5 17.5 16h-15zM10 8.500v3.500M10 14h.01',
  info: 'M10 17a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM10 9v5M10 6.500h.01',
  unknown:
    'M7.5 7.500a2.5 2.5 0 1 1 3.5 2.300c-.7.3-1 .8-1 1.700M10 14.500h.01M10 17.500a7.5 7.5 0 1 0 0-15 7.5 7.5 0 0 0 0 15z',
  copy: 'M7 7h9v9H7zM4 13V4h9',
  out: 'M12 4H4v12h8M9 10h8M14 7l3 3-3 3',
  next: 'M8 5l5 5-5 5',
  bolt: 'M11 2.5 4.5 11.500H9L8 17.500l7-9.500h-4.500z',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" focusable="false">
      <path
        d={PATHS[name]}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.6"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
