/** The merchants' guides of the documentation: pages of docs/, in reading order. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path/posix';
import { ownFile } from '../../support/own-files.js';
import { relinkMarkdown, renderMarkdown, titleOf } from './markdown.js';

/** File names in docs/. docs/README.md lists them in the same order. */
export const GUIDES = [
  'first-order',
  'signing',
  'check-your-signature',
  'retries',
  'events',
  'never-miss-an-order',
  'paying-in',
  'errors',
  'faq',
  'why-did-it-burn',
  'rehearse-the-bad-days',
  'going-live',
  'how-long',
  'auto-delegation',
  'interface',
  'glossary',
] as const;

/** Pages of docs/interface/ that docs/interface.md links. GET /docs/interface-orders shows docs/interface/orders.md. */
export const CHAPTERS = [
  'conventions',
  'quotes',
  'orders',
  'delivery',
  'account',
  'events',
  'auto-delegation',
  'client-family',
  'test-projects',
  'explain',
] as const;

export interface Guide {
  readonly name: string;
  readonly title: string;
  readonly html: string;
  readonly markdown: string;
}

/** Returns the address of a page by its name. */
type HrefOf = (name: string) => string;

const NAMES: ReadonlySet<string> = new Set([...GUIDES, ...CHAPTERS.map((name) => `interface-${name}`)]);

/** Reads and renders all guides. */
export function readGuides(hrefOf: HrefOf): readonly Guide[] {
  return GUIDES.map((name) => readPage(name, `${name}.md`, hrefOf));
}

/** Reads and renders the pages of docs/interface/. */
export function readChapters(hrefOf: HrefOf): readonly Guide[] {
  return CHAPTERS.map((name) => readPage(`interface-${name}`, `interface/${name}.md`, hrefOf));
}

function readPage(name: string, path: string, hrefOf: HrefOf): Guide {
  const source = readFileSync(ownFile(`docs/${path}`), 'utf8');
  const folder = join(path, '..');
  const html = renderMarkdown(source, (target) => linkTo(folder, target, hrefOf));
  const markdown = relinkMarkdown(source, (target) => linkTo(folder, target, (page) => hrefOf(`${page}.md`)));
  return { name, title: titleOf(source), html, markdown };
}

/** Returns the served address of a link in a page of `folder`; undefined for a file that only the repository has. */
function linkTo(folder: string, target: string, hrefOf: HrefOf): string | undefined {
  if (/^(?:https:|#)/.test(target)) return target;
  const [, path = '', anchor = ''] = /^([\w./-]+)\.md(#[\w-]+)?$/.exec(target) ?? [];
  const name = join(folder, path).replace('/', '-');
  return NAMES.has(name) ? hrefOf(name) + anchor : undefined;
}
