import { relinkMarkdown, renderMarkdown, titleOf } from '../../../src/platform/http/openapi/markdown.js';

const html = (text: string): string =>
  renderMarkdown(text, (target) => (target.endsWith('.md') ? `/docs/${target.replace('.md', '')}` : undefined));

test('turns a page into HTML, with its first heading as title', () => {
  const page = '# A `b` & c\n\nOne\ntwo **three** *four*.\n\n- a\n  b\n- [ ] c\n\n1. d\n2. e\n';
  expect(titleOf(page)).toBe('A `b` & c');
  expect(html(page).split('\n').filter(Boolean)).toEqual([
    '<h1 id="a-b--c">A <code>b</code> &amp; c</h1>',
    '<p>One two <b>three</b> <i>four</i>.</p>',
    '<ul><li>a b</li><li>☐ c</li></ul>',
    '<ol><li>d</li><li>e</li></ol>',
  ]);
});

test('a table has a head and rows, and its cells may contain bars', () => {
  expect(html('| a | b |\n| --- | --- |\n| `c` | d\\|e |')).toBe(
    '<table><tr><th>a</th><th>b</th></tr><tr><td><code>c</code></td><td>d|e</td></tr></table>',
  );
});

test('an item that explains an error code has the code as its anchor', () => {
  expect(html('- `NOT_FOUND` (404): a\n- `NOT_FOUND` or b\n- NOT_FOUND (404): c')).toBe(
    '<ul><li id="NOT_FOUND"><code>NOT_FOUND</code> (404): a</li><li><code>NOT_FOUND</code> or b</li><li>NOT_FOUND (404): c</li></ul>',
  );
});

test('shows code verbatim, without markup', () => {
  expect(html('```js\nif (a < b && c) return `**d**`;\n\n# e\n```')).toBe(
    '<pre>if (a &lt; b &amp;&amp; c) return `**d**`;\n\n# e</pre>',
  );
  expect(html('`[a](b.md) **c** <d>`')).toBe('<p><code>[a](b.md) **c** &lt;d&gt;</code></p>');
});

test('a large number stays on one line, and code keeps its spaces', () => {
  expect(html('about 65 000 of 10 000 000, in `1 000`')).toBe(
    '<p>about 65\u00a0000 of 10\u00a0000\u00a0000, in <code>1 000</code></p>',
  );
});

test('links a target that is shown, and writes other links as text', () => {
  expect(html('[a `b`](c.md), [d](../src/e.ts)')).toBe('<p><a href="/docs/c">a <code>b</code></a>, d</p>');
});

test('gives Markdown other links, without the link where there is none, and leaves code as it is', () => {
  const page = '[a\n`b`](c.md#d), [e](../src/f.ts), `[g](c.md)`\n\n```sh\n[h](c.md)\n```\n';
  const relinked = relinkMarkdown(page, (target) => (target.startsWith('c.md') ? `/docs/${target}` : undefined));
  expect(relinked).toBe('[a\n`b`](/docs/c.md#d), e, `[g](c.md)`\n\n```sh\n[h](c.md)\n```\n');
});

test('page content is text, never HTML', () => {
  expect(html('<script>alert("1")</script> <!-- gone -->')).toBe(
    '<p>&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt; </p>',
  );
});
