/** The frame of each page of the documentation: style, script, content security policy and navigation. */
import { createHash } from 'node:crypto';
import { escapeHtml } from './markdown.js';
import { SITE_SCRIPT } from './site-script.js';

const STYLE = `:root{color-scheme:light dark;--text:#1b1f24;--faint:#57606a;--back:#fff;--code:#f3f5f7;--line:#d0d7de;--link:#0550ae}
@media(prefers-color-scheme:dark){:root{--text:#e3e8ee;--faint:#9aa4af;--back:#12161b;--code:#1c232b;--line:#343d47;--link:#79b8ff}}
*{box-sizing:border-box}body{font:16px/1.55 system-ui,sans-serif;margin:0;color:var(--text);background:var(--back);overflow-wrap:anywhere}
a{color:var(--link)}header{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:center;padding:.6rem 1rem;border-bottom:1px solid var(--line)}
header input{flex:1 1 12rem;max-width:28rem;font:inherit;padding:.3rem .6rem;color:inherit;background:var(--code);border:1px solid var(--line);border-radius:6px}
main{padding:1rem;max-width:56rem;min-width:0}nav{padding:1rem;font-size:14px;border-top:1px solid var(--line)}
nav h2{font-size:13px;margin:1rem 0 .3rem;color:var(--faint)}nav ul{list-style:none;margin:0;padding:0}nav li{margin:.25rem 0}
nav a{text-decoration:none}nav a[aria-current]{font-weight:700;color:inherit}
h1,h2,h3,h4{line-height:1.25}main h2{margin-top:2.2rem;padding-top:1.2rem;border-top:1px solid var(--line)}
code,pre{font:13px/1.5 ui-monospace,monospace;background:var(--code);border-radius:4px}code{padding:.1em .3em}h1 code{font-size:.75em}
pre{position:relative;padding:.8rem;overflow:auto;overflow-wrap:normal}pre button{position:absolute;top:.4rem;right:.4rem;font:12px system-ui,sans-serif}
table{display:block;overflow-x:auto;border-collapse:collapse;margin:.5rem 0 1rem;overflow-wrap:normal}
td,th{border:1px solid var(--line);padding:.35rem .55rem;text-align:left;vertical-align:top}th,li:target{background:var(--code)}
summary{cursor:pointer;font-weight:600;margin:.4rem 0}small{color:var(--faint)}
.tabs{border:0;padding:0;margin:0;min-width:0}.tabs legend{font-size:13px;color:var(--faint)}.tabs input{position:absolute;opacity:0}
.tabs label{display:inline-block;padding:.25rem .7rem;cursor:pointer;border-bottom:2px solid transparent}
.tabs input:checked+label{font-weight:700;border-color:var(--link)}.tabs input:focus-visible+label{outline:2px solid var(--link)}.tabs pre{display:none}
.tabs input:nth-of-type(1):checked~pre:nth-of-type(1),.tabs input:nth-of-type(2):checked~pre:nth-of-type(2),
.tabs input:nth-of-type(3):checked~pre:nth-of-type(3),.tabs input:nth-of-type(4):checked~pre:nth-of-type(4),
.tabs input:nth-of-type(5):checked~pre:nth-of-type(5){display:block}
#hits{list-style:none;margin:0;padding:0 1rem}#hits li{padding:.35rem 0;border-bottom:1px solid var(--line)}
@media(min-width:60rem){.site{display:grid;grid-template-columns:18rem minmax(0,1fr)}main{grid-column:2;grid-row:1;padding:1rem 2rem}
nav{grid-column:1;grid-row:1;border-top:0;border-right:1px solid var(--line)}header .to-nav{display:none}}
@media(max-width:40rem){pre:has(button){padding-top:2.2rem}.members,.members tbody{display:block}.members tr:first-child{display:none}
.members tr{display:flex;flex-wrap:wrap;border:1px solid var(--line);border-bottom:0}.members tr:last-child{border-bottom:1px solid var(--line)}
.members td{border:0;min-width:0;overflow-wrap:anywhere}.members td:last-child{flex:1 0 100%}}`;

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

/** A page's content security policy: its own style and script, by hash, and the search index of the same host. */
export const PAGE_POLICY = [
  "default-src 'none'",
  `style-src ${hashOf(STYLE)}`,
  `script-src ${hashOf(SITE_SCRIPT)}`,
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** A link of the navigation. */
export interface NavLink {
  readonly name: string;
  readonly title: string;
  readonly href: string;
}

export interface NavSection {
  readonly title: string;
  readonly links: readonly NavLink[];
}

interface Frame {
  readonly title: string;
  /** The page's own name, which the navigation marks. */
  readonly name: string;
  readonly body: string;
  readonly home: string;
  readonly searchIndex: string;
  readonly nav: readonly NavSection[];
}

/** Returns a whole HTML page. The navigation follows the text, so that a phone shows the text first. */
export function frame({ title, name, body, home, searchIndex, nav }: Frame): string {
  const sections = nav.map(
    (section) =>
      `<h2>${escapeHtml(section.title)}</h2><ul>${section.links.map((link) => navItem(link, name)).join('')}</ul>`,
  );
  return [
    '<!doctype html><html lang="en"><head><meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    `<title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body>`,
    `<header><a href="${home}">Documentation</a><a class="to-nav" href="#pages">All pages</a>`,
    `<input id="search" type="search" placeholder="Search" aria-label="Search the documentation" data-index="${searchIndex}" hidden></header>`,
    '<ul id="hits" aria-live="polite" hidden></ul>',
    `<div class="site"><main>${body}</main><nav id="pages" aria-label="Pages">${sections.join('')}</nav></div>`,
    `<script>${SITE_SCRIPT}</script></body></html>`,
  ].join('\n');
}

function navItem({ name, title, href }: NavLink, current: string): string {
  const mark = name === current ? ' aria-current="page"' : '';
  return `<li><a href="${href}"${mark}>${escapeHtml(title)}</a></li>`;
}
