/** Outages of the service, on every page of an operator. */
import type { InboxItem } from '../../../../src/modules/console/operator-shapes.js';
import { useReadEvery } from '../api/project-data.js';
import { Icon } from '../parts/icons.js';

const EVERY_MS = 15_000;

export function OutageBar() {
  const { data } = useReadEvery<{ readonly items: readonly InboxItem[] }>(['inbox'], '/api/operator/inbox', EVERY_MS);
  const outages = data?.items.filter(({ outage }) => outage === true) ?? [];
  return (
    <div role="status">
      {outages.map(({ says }) => (
        <p key={says} className="offline-bar">
          <Icon name="warn" />
          <span>{says}</span>
        </p>
      ))}
    </div>
  );
}
