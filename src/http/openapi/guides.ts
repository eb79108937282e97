/** The pages for merchants that GET /docs links and GET /docs/{name} shows: those of docs/, in the order to read them. */
import { readFileSync } from 'node:fs';
import { ownFile } from '../../base/own-files.js';
import { renderMarkdown, titleOf } from './markdown.js';

/** Names of files in docs/. docs/README.md lists them in the same order. */
export const GUIDES = [
  'first-order',
  'signing',
  'check-your-signature',
  'retries',
  'events',
  'never-miss-an-order',
  'paying-in',
  'errors',
  'rehearse-the-bad-days',
  'going-live',
  'auto-delegation',
  'interface',
  'glossary',
] as const;

export interface Guide {
  readonly name: string;
  readonly title: string;
  readonly html: string;
}

const isGuide = (name: string): boolean => GUIDES.some((each) => each === name);

/** Reads and renders all of them. */
export function readGuides(): readonly Guide[] {
  return GUIDES.map((name) => {
    const text = readFileSync(ownFile(`docs/${name}.md`), 'utf8');
    return { name, title: titleOf(text), html: renderMarkdown(text, linkTo) };
  });
}

/** Where a link of such a page leads to here; undefined for what is in the repository alone. */
function linkTo(target: string): string | undefined {
  if (/^(?:https:|#)/.test(target)) return target;
  const [, name = '', anchor = ''] = /^([\w-]+)\.md(#[\w-]+)?$/.exec(target) ?? [];
  return isGuide(name) ? `/docs/${name}${anchor}` : undefined;
}
