/**
 * The documentation as a site: an index, the guides, a page for each operation, each page as Markdown, a search index and
 * llms.txt. The API serves it below /docs, and scripts/build-docs.mjs writes it as files for any static host.
 */
import type { JsonSchema } from '../body/member-rules.js';
import { readChapters, readGuides, type Guide } from './guides.js';
import { escapeHtml } from './markdown.js';
import { overviewOf, referencePages } from './reference-pages.js';
import { frame, type NavSection } from './site-layout.js';

/** A page by its name in the URL. */
export interface SitePage {
  readonly name: string;
  readonly title: string;
  readonly html: string;
  readonly markdown: string;
}

/** Returns the address of a page, or of another file of the site, by its name. The index has the name ''. */
export type HrefOf = (name: string) => string;

export interface SiteFile {
  readonly type: string;
  readonly text: string;
}

const HTML = 'text/html; charset=utf-8';
const MARKDOWN = 'text/markdown; charset=utf-8';
const TEXT = 'text/plain; charset=utf-8';
const JSON_TYPE = 'application/json; charset=utf-8';
const SEARCH_INDEX = 'search.json';
const LLMS = 'llms.txt';

export class Site {
  private readonly guides: readonly Guide[];
  private readonly chapters: readonly Guide[];
  private readonly operations: readonly SitePage[];
  private readonly pages: ReadonlyMap<string, SitePage>;

  constructor(
    private readonly openApi: JsonSchema,
    private readonly hrefOf: HrefOf,
  ) {
    this.guides = readGuides(hrefOf);
    this.chapters = readChapters(hrefOf);
    this.operations = referencePages(openApi);
    this.pages = new Map([...this.guides, ...this.chapters, ...this.operations].map((page) => [page.name, page]));
  }

  /** Returns the names of all files; the index has the name ''. scripts/build-docs.mjs writes them. */
  names(): string[] {
    const pages = [...this.pages.keys()];
    return ['', ...pages, ...pages.map((name) => `${name}.md`), SEARCH_INDEX, LLMS];
  }

  /** Returns the index as '', a page, its Markdown, or another file; undefined for any other name. */
  file(name: string): SiteFile | undefined {
    if (name === '') return { type: HTML, text: this.framed(this.index()) };
    if (name === SEARCH_INDEX) return { type: JSON_TYPE, text: JSON.stringify(this.searchIndex()) };
    if (name === LLMS) return { type: TEXT, text: this.llms() };
    const page = this.pages.get(name);
    if (page !== undefined) return { type: HTML, text: this.framed(page) };
    const source = name.endsWith('.md') ? this.pages.get(name.slice(0, -'.md'.length)) : undefined;
    return source && { type: MARKDOWN, text: source.markdown };
  }

  private framed({ name, title, html }: Omit<SitePage, 'markdown'>): string {
    const source = name === '' ? '' : `<p><small><a href="${this.hrefOf(`${name}.md`)}">Markdown</a></small></p>`;
    const [home, searchIndex] = [this.hrefOf(''), this.hrefOf(SEARCH_INDEX)];
    return frame({ title, name, body: html + source, home, searchIndex, nav: this.nav() });
  }

  private nav(): NavSection[] {
    const section = (title: string, pages: readonly SitePage[]): NavSection => ({
      title,
      links: pages.map(({ name, title: shown }) => ({ name, title: shown, href: this.hrefOf(name) })),
    });
    return [
      section('Guides', this.guides),
      section('Rules of the interface', this.chapters),
      section('Operations', this.operations),
    ];
  }

  private index(): Omit<SitePage, 'markdown'> {
    const { title, version, html } = overviewOf(this.openApi);
    const list = (tag: string, pages: readonly SitePage[]): string =>
      `<${tag}>${pages.map((page) => `<li><a href="${this.hrefOf(page.name)}">${escapeHtml(page.title)}</a></li>`).join('')}</${tag}>`;
    const body = [
      `<h1>${escapeHtml(title)} <small>${escapeHtml(version)}</small></h1>`,
      html,
      `<h2>Guides</h2><p>Read them in this order.</p>${list('ol', this.guides)}`,
      `<h2>Operations</h2><p>For generators: openapi.json (OpenAPI 3.1). For language models: <a href="${this.hrefOf(LLMS)}">llms.txt</a>.</p>`,
      list('ul', this.operations),
    ];
    return { name: '', title, html: body.join('\n') };
  }

  /** One entry for each heading: address, page, heading, and the words below it, each once, without request programs. */
  private searchIndex(): [string, string, string, string][] {
    return [...this.pages.values()].flatMap(({ name, title, html }) =>
      html
        .split(/(?=<h[1-4] id=")/)
        .map((part): [string, string, string, string] => {
          const [, level = '1', anchor = '', heading = ''] = /^<h([1-4]) id="([^"]*)">(.*?)<\/h/s.exec(part) ?? [];
          const words = new Set(
            textOf(part.replace(/<fieldset class="tabs">.*?<\/fieldset>/s, ''))
              .toLowerCase()
              .match(/[\p{L}\p{N}][\p{L}\p{N}_.-]{2,}/gu),
          );
          const address = this.hrefOf(name) + (level === '1' ? '' : `#${anchor}`);
          return [address, title, textOf(heading) || title, ` ${[...words].join(' ')}`];
        })
        .filter(([, , , words]) => words !== ' '),
    );
  }

  private llms(): string {
    const { title, text } = overviewOf(this.openApi);
    const list = (pages: readonly SitePage[]): string =>
      pages.map((page) => `- [${page.title}](${this.hrefOf(`${page.name}.md`)})\n`).join('');
    return [
      `# ${title}\n\n> ${text.split('\n\n')[0] ?? ''}\n`,
      `## Guides\n\n${list(this.guides)}`,
      `## Rules of the interface\n\n${list(this.chapters)}`,
      `## Operations\n\n${list(this.operations)}`,
    ].join('\n');
  }
}

function textOf(html: string): string {
  return html
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
