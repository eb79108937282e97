import { Link } from 'wouter';
import { Page } from '../parts/page.js';
import { COMMON } from '../text/common.js';

export function NotFoundPage() {
  return (
    <Page title={COMMON.notFound.title} lead={COMMON.notFound.body}>
      <p className="link-list">
        <Link href="/">{COMMON.notFound.home}</Link>
      </p>
    </Page>
  );
}
