/** A page: one heading, which has the focus when the page is come to, and the window's title from it. */
import { useEffect, useRef, type ReactNode } from 'react';
import { COMMON } from '../text/common.js';

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
}

/** A part of a page: its name at the left where there is width, what it says at the right. */
export function Section({ title, note, actions, children, id }: SectionProps) {
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    if (id === undefined || location.hash !== `#${id}`) return;
    // After the page has gone to its top.
    const turn = setTimeout(() => section.current?.scrollIntoView());
    return () => clearTimeout(turn);
  }, [id]);
  return (
    <section ref={section} className="section" {...(id !== undefined && { id })}>
      <div className="section-head">
        <h2>{title}</h2>
        {note !== undefined && <p className="dim">{note}</p>}
        {actions}
      </div>
      <div className="section-body">{children}</div>
    </section>
  );
}
