/** All inbox items by severity. */
import type { InboxItem } from '../../../../../src/modules/console/operator-shapes.js';
import { useReadEvery } from '../../api/project-data.js';
import { Loaded } from '../../parts/loaded.js';
import { Page, Section } from '../../parts/page.js';
import { AllClear } from '../../parts/status.js';
import { InboxNav } from '../../shell/subnav.js';
import { OPERATOR_HOME } from '../../text/home.js';
import { NAV } from '../../text/nav.js';
import { INBOX } from '../../text/system.js';
import { inboxKey, InboxNotice } from './inbox-item.js';

const EVERY_MS = 15_000;
const SEVERITIES = ['fault', 'warning', 'notice'] as const;

export function InboxPage() {
  const inbox = useReadEvery<{ readonly items: readonly InboxItem[] }>(['inbox'], '/api/operator/inbox', EVERY_MS);
  return (
    <Page title={NAV.inbox} lead={INBOX.lead} above={<InboxNav />}>
      <Loaded
        query={inbox}
        lines={6}
        isEmpty={({ items }) => items.length === 0}
        empty={<AllClear word={OPERATOR_HOME.allClear} at={new Date(inbox.dataUpdatedAt).toISOString()} />}
      >
        {({ items }) =>
          SEVERITIES.map((severity) => {
            const group = items.filter((item) => item.severity === severity);
            if (group.length === 0) return null;
            return (
              <Section key={severity} title={INBOX.groups[severity]} note={INBOX.notes[severity]}>
                <div className="stack">
                  {group.map((item) => (
                    <InboxNotice key={inboxKey(item)} item={item} />
                  ))}
                </div>
              </Section>
            );
          })
        }
      </Loaded>
    </Page>
  );
}
