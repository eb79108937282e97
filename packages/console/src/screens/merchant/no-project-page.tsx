/** Page for a person without a project. */
import { Page } from '../../parts/page.js';
import { COMMON } from '../../text/common.js';

export function NoProjectPage() {
  return (
    <Page title={COMMON.noProject.title} lead={COMMON.noProject.body}>
      {null}
    </Page>
  );
}
