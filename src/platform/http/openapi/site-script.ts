/** The script of the documentation's pages: search, copy buttons, and blocks that a keyboard can scroll. The pages are complete without it. */
export const SITE_SCRIPT = `(() => {
  const box = document.getElementById('search');
  const hits = document.getElementById('hits');
  let index;
  const load = () => (index ??= fetch(box.dataset.index).then((answer) => answer.json()));
  const scoreOf = ([, title, heading, words], terms) => {
    const top = (title + ' ' + heading).toLowerCase();
    let score = 0;
    for (const term of terms) {
      if (top.includes(term)) score += 5;
      else if (words.includes(' ' + term)) score += 2;
      else if (words.includes(term)) score += 1;
      else return 0;
    }
    return score;
  };
  const show = (found) => {
    hits.hidden = found === undefined;
    hits.replaceChildren(...(found ?? []).map(([href, title, heading]) => {
      const item = document.createElement('li');
      const link = document.createElement('a');
      link.href = href;
      link.textContent = heading === title ? title : title + ': ' + heading;
      item.append(link);
      return item;
    }));
    if (found?.length === 0) hits.textContent = 'Nothing found. Search for fewer words.';
  };
  box.hidden = false;
  box.addEventListener('focus', load);
  box.addEventListener('input', async () => {
    const text = box.value;
    const terms = text.toLowerCase().split(/[^\\p{L}\\p{N}_.-]+/u).filter((term) => term.length > 2);
    if (terms.length === 0) return show(undefined);
    const sections = await load();
    if (box.value !== text) return;
    const scored = sections.map((section) => [scoreOf(section, terms), section]).filter(([score]) => score > 0);
    scored.sort(([one], [other]) => other - one);
    // The best section of each page.
    const pages = new Map();
    for (const [, section] of scored) {
      const page = section[0].split('#')[0];
      if (!pages.has(page)) pages.set(page, section);
    }
    show([...pages.values()].slice(0, 20));
  });
  // The chosen language stays chosen on the next page, where the browser allows storage.
  const language = (chosen) => {
    try {
      if (chosen !== undefined) localStorage.setItem('language', chosen);
      return localStorage.getItem('language');
    } catch {
      return null;
    }
  };
  for (const choice of document.querySelectorAll('.tabs input')) {
    if (choice.value === language()) choice.checked = true;
    choice.addEventListener('change', () => language(choice.value));
  }
  // A keyboard scrolls only blocks that take focus.
  for (const block of document.querySelectorAll('pre, table')) {
    if (block.scrollWidth > block.clientWidth) block.tabIndex = 0;
  }
  if (navigator.clipboard === undefined) return;
  for (const block of document.querySelectorAll('pre')) {
    const text = block.textContent;
    const button = document.createElement('button');
    button.textContent = 'Copy';
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(text);
      button.textContent = 'Copied';
    });
    block.append(button);
  }
})();`;
