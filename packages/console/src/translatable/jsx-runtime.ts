/**
 * React's own JSX runtime, but for texts that stand beside other nodes: each gets an element of its own. A browser that
 * translates a page moves its texts into elements of the translator, and React goes on changing the texts that are no
 * longer on the page: what was shown stays for ever, or the page breaks. A text that is alone in its element is replaced
 * as a whole, whatever the translator made of it. The build puts this in the place of react/jsx-runtime (vite.config.mjs).
 */
import type { ElementType, Key, ReactNode } from 'react';
import { Fragment, jsx as reactJsx, jsxs as reactJsxs } from 'react/jsx-runtime';

export { Fragment };

/** Elements that may hold nothing but text. */
const TEXT_ONLY = new Set(['option', 'title', 'textarea', 'style', 'script', 'text', 'tspan']);

type Props = Readonly<Record<string, unknown>> & { readonly children?: ReactNode };

const isText = (child: ReactNode): child is string | number =>
  (typeof child === 'string' && child.trim() !== '') || typeof child === 'number';

const alone = (child: ReactNode, key?: string): ReactNode =>
  isText(child) ? reactJsx('span', { children: child }, key) : child;

const isHost = (type: ElementType | typeof Fragment): boolean =>
  type === Fragment || (typeof type === 'string' && !TEXT_ONLY.has(type));

/** An element with one child, or with a list of them. */
export function jsx(type: ElementType, props: Props, key?: Key): ReactNode {
  const { children } = props;
  if (!isHost(type)) return reactJsx(type, props, key);
  if (Array.isArray(children)) {
    const list = (children as ReactNode[]).map((child, index) => alone(child, `text ${index.toString()}`));
    return reactJsx(type, { ...props, children: list }, key);
  }
  // A fragment's one text may stand beside what is around the fragment.
  return type === Fragment ? reactJsx(type, { ...props, children: alone(children) }, key) : reactJsx(type, props, key);
}

/** An element with several children, as they stand in the source. */
export function jsxs(type: ElementType, props: Props, key?: Key): ReactNode {
  const { children } = props;
  if (!isHost(type) || !Array.isArray(children)) return reactJsxs(type, props, key);
  return reactJsxs(type, { ...props, children: (children as ReactNode[]).map((child) => alone(child)) }, key);
}
