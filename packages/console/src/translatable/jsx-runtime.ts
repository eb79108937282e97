/**
 * React's JSX runtime, except that each text next to other nodes is wrapped in an element. A browser's page translation
 * moves text nodes into elements of its own. React then updates the detached nodes: old text stays visible, or the page
 * breaks. A text that is the only child is replaced as a whole, so it needs no wrapper. The build substitutes this
 * module for react/jsx-runtime (vite.config.mjs).
 */
import type { ElementType, Key, ReactNode } from 'react';
import { Fragment, jsx as reactJsx, jsxs as reactJsxs } from 'react/jsx-runtime';

export { Fragment };

/** Elements that may contain text only. */
const TEXT_ONLY = new Set(['option', 'title', 'textarea', 'style', 'script', 'text', 'tspan']);

type Props = Readonly<Record<string, unknown>> & { readonly children?: ReactNode };

const isText = (child: ReactNode): child is string | number =>
  (typeof child === 'string' && child.trim() !== '') || typeof child === 'number';

const alone = (child: ReactNode, key?: string): ReactNode =>
  isText(child) ? reactJsx('span', { children: child }, key) : child;

const isHost = (type: ElementType | typeof Fragment): boolean =>
  type === Fragment || (typeof type === 'string' && !TEXT_ONLY.has(type));

/** Creates an element with one child or with a list of children. */
export function jsx(type: ElementType, props: Props, key?: Key): ReactNode {
  const { children } = props;
  if (!isHost(type)) return reactJsx(type, props, key);
  if (Array.isArray(children)) {
    const list = (children as ReactNode[]).map((child, index) => alone(child, `text ${index.toString()}`));
    return reactJsx(type, { ...props, children: list }, key);
  }
  // The only text of a fragment may be a sibling of nodes around the fragment.
  return type === Fragment ? reactJsx(type, { ...props, children: alone(children) }, key) : reactJsx(type, props, key);
}

/** Creates an element with several static children. */
export function jsxs(type: ElementType, props: Props, key?: Key): ReactNode {
  const { children } = props;
  if (!isHost(type) || !Array.isArray(children)) return reactJsxs(type, props, key);
  return reactJsxs(type, { ...props, children: (children as ReactNode[]).map((child) => alone(child)) }, key);
}
