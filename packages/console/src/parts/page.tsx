/** A page: one heading, which has the focus when the page is come to, and the window's title from it. */
import { useEffect, useId, useRef, useState, type ReactNode } from 'react';
import { COMMON } from '../text/common.js';
import { Icon } from './icons.js';
import { useIsNarrow } from './narrow.js';

interface PageProps {
  readonly title: string;
  readonly lead?: ReactNode;
  readonly actions?: ReactNode;
  readonly above?: ReactNode;
  readonly children: ReactNode;
}

export function Page({ title, lead, actions, above, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · ${COMMON.product}`;
    heading.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [title]);
  return (
    <>
      <header className="page-head">
        {above}
        <div className="page-head-row">
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {actions !== undefined && <div className="page-actions">{actions}</div>}
        </div>
        {lead !== undefined && <p className="lead">{lead}</p>}
      </header>
      {children}
    </>
  );
}

interface SectionProps {
  readonly title: string;
  readonly note?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
  readonly id?: string;
  /** On a phone its name alone stands there until it is opened, unless a link leads to it. */
  readonly isSecondary?: boolean;
}

/** A part of a page: its name at the left where there is width, what it says at the right. */
export function Section({ title, note, actions, children, id, isSecondary = false }: SectionProps) {
  const section = useRef<HTMLElement>(null);
  const body = useId();
  const isNamed = id !== undefined && location.hash === `#${id}`;
  const [isOpened, setOpened] = useState(isNamed);
  const isFolding = useIsNarrow() && isSecondary;
  const isOpen = isOpened || !isFolding;
  useEffect(() => {
    if (id === undefined || location.hash !== `#${id}`) return;
    // After the page has gone to its top.
    const turn = setTimeout(() => section.current?.scrollIntoView());
    return () => clearTimeout(turn);
  }, [id]);
  return (
    <section
      ref={section}
      className={isFolding ? 'section section-folding' : 'section'}
      {...(id !== undefined && { id })}
    >
      <div className="section-head">
        <h2>
          {isFolding ? (
            <button type="button" aria-expanded={isOpen} aria-controls={body} onClick={() => setOpened(!isOpen)}>
              <Icon name="next" /> {title}
            </button>
          ) : (
            title
          )}
        </h2>
        {isOpen && note !== undefined && <p className="dim">{note}</p>}
        {isOpen && actions}
      </div>
      <div className="section-body" id={body} hidden={!isOpen}>
        {children}
      </div>
    </section>
  );
}
