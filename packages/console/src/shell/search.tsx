/** Search box, focused by "/". Merchants search their project, operators the whole service. */
import { useEffect, useRef, useState, type SubmitEvent } from 'react';
import { useLocation } from 'wouter';
import type { SessionAnswer } from '../../../../src/modules/console/api-shapes.js';
import { withQuery } from '../api/client.js';
import { Icon } from '../parts/icons.js';
import { SEARCH } from '../text/search.js';
import { pathOf, type ProjectOnPage } from './project.js';

interface SearchProps {
  readonly session: SessionAnswer;
  readonly project: ProjectOnPage | undefined;
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

export function Search({ session: { audience }, project }: SearchProps) {
  const field = useRef<HTMLInputElement>(null);
  const [, go] = useLocation();
  const [sought, setSought] = useState('');
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (event.key !== SEARCH.key || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector('dialog[open]') !== null) return;
      event.preventDefault();
      field.current?.focus();
    };
    addEventListener('keydown', pressed);
    return () => removeEventListener('keydown', pressed);
  }, []);
  // A merchant without a project has nothing to search.
  if (audience === 'merchant' && project === undefined) return null;
  const place = audience === 'merchant' && project !== undefined ? pathOf(project.id, '/search') : '/search';
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    const q = sought.trim();
    if (q === '') return;
    setSought('');
    go(withQuery(place, { q }));
  };
  const label = audience === 'operator' ? SEARCH.labelService : SEARCH.label;
  return (
    <form role="search" className="search" onSubmit={send}>
      <Icon name="search" />
      <input
        ref={field}
        type="search"
        name="find"
        aria-label={label}
        placeholder={label}
        autoComplete="off"
        spellCheck={false}
        maxLength={255}
        value={sought}
        onChange={(event) => setSought(event.currentTarget.value)}
      />
      <kbd aria-hidden="true">{SEARCH.key}</kbd>
    </form>
  );
}
