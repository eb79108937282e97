/** Error boundary around the pages: if a page fails, the rest of the console keeps working. */
import { Button } from '@mantine/core';
import { Component, type ReactNode } from 'react';
import { Link } from 'wouter';
import { Page } from '../parts/page.js';
import { COMMON } from '../text/common.js';

interface PageBoundaryProps {
  readonly children: ReactNode;
}

/** Keyed by the page's path, so that navigation resets it. */
export class PageBoundary extends Component<PageBoundaryProps, { readonly hasFailed: boolean }> {
  override state = { hasFailed: false };

  static getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override render(): ReactNode {
    return this.state.hasFailed ? <FailedPage /> : this.props.children;
  }
}

/** Reloads the whole page on retry: cached data may have caused the failure. */
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
