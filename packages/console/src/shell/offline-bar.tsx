/** A bar that shows while the console process is unreachable. */
import { useIsOnline } from '../api/reach.js';
import { Icon } from '../parts/icons.js';
import { COMMON } from '../text/common.js';

export function OfflineBar() {
  const isOnline = useIsOnline();
  return (
    <div role="status">
      {!isOnline && (
        <p className="offline-bar">
          <Icon name="warn" />
          <span>
            <strong>{COMMON.offline.title}.</strong> {COMMON.offline.body}
          </span>
        </p>
      )}
    </div>
  );
}
