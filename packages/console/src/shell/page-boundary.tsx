/** Around the pages: one that fails says so, and the rest of the console stays. */
import { Button } from '@mantine/core';
import { Component, type ReactNode } from 'react';
import { Link } from 'wouter';
import { Page } from '../parts/page.js';
import { COMMON } from '../text/common.js';

interface PageBoundaryProps {
  readonly children: ReactNode;
}

/** With the page's path for its key: the next page is tried anew. */
export class PageBoundary extends Component<PageBoundaryProps, { readonly hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override render(): ReactNode {
    return this.state.hasFailed ? <FailedPage /> : this.props.children;
  }
}

/** Tried again it is loaded whole, since it may have failed by what was read. */
function FailedPage() {
  return (
    <Page title={COMMON.failedPage.title} lead={COMMON.failedPage.body}>
      <p>
        <Button variant="default" onClick={() => location.reload()}>
          {COMMON.retry}
        </Button>
      </p>
      <p className="link-list">
        <Link href="/">{COMMON.notFound.home}</Link>
      </p>
    </Page>
  );
}
