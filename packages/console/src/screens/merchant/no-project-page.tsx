/** For who is in no project, or in none any more. */
import { Page } from '../../parts/page.js';
import { COMMON } from '../../text/common.js';

export function NoProjectPage() {
  return (
    <Page title={COMMON.noProject.title} lead={COMMON.noProject.body}>
      {null}
    </Page>
  );
}
