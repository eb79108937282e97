/** Mantine theme: colours, and shared component settings. */
import { createTheme, type MantineColorsTuple } from '@mantine/core';

const green: MantineColorsTuple = [
  '#e8f6f0',
  '#d0ebe0',
  '#a3d8c3',
  '#72c4a4',
  '#4bb48b',
  '#2ea579',
  '#15855e',
  '#0b6e4f',
  '#085a40',
  '#044430',
];

export const theme = createTheme({
  primaryColor: 'green',
  primaryShade: { light: 7, dark: 4 },
  autoContrast: true,
  colors: { green },
  defaultRadius: 4,
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", "Cascadia Mono", "Roboto Mono", "DejaVu Sans Mono", monospace',
  respectReducedMotion: true,
  cursorType: 'pointer',
});

/** Returns the CSP nonce that the console process put into this page; empty in the dev server. */
export function pageNonce(): string {
  const meta = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]');
  return meta?.nonce ?? '';
}
