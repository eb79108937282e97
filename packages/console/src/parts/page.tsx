/** A page: one heading, which receives the focus on navigation and sets the window title. */
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
  /** Collapsed to its heading on phones, unless the URL links to it. */
  readonly isSecondary?: boolean;
}

/** A section of a page: heading on the left on wide screens, content on the right. */
export function Section({ title, note, actions, children, id, isSecondary = false }: SectionProps) {
  const section = useRef<HTMLElement>(null);
  const body = useId();
  const isNamed = id !== undefined && location.hash === `#${id}`;
  const [isOpened, setOpened] = useState(isNamed);
  const isFolding = useIsNarrow() && isSecondary;
  const isOpen = isOpened || !isFolding;
  useEffect(() => {
    if (id === undefined || location.hash !== `#${id}`) return;
    // Deferred until the page has scrolled to its top.
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
