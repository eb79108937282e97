/** A notice: tone, icon and text. A failure also says how to resolve it. */
import type { ReactNode } from 'react';
import { isOffline, Refusal } from '../api/failure.js';
import { REFUSALS } from '../text/codes.js';
import { COMMON } from '../text/common.js';
import { Icon, type IconName } from './icons.js';

export type Tone = 'good' | 'info' | 'warn' | 'bad';
const ICONS: Readonly<Record<Tone, IconName>> = { good: 'good', info: 'info', warn: 'warn', bad: 'bad' };

interface NoticeProps {
  readonly tone: Tone;
  readonly title?: string;
  readonly children?: ReactNode;
  readonly isUrgent?: boolean;
}

export function Notice({ tone, title, children, isUrgent = false }: NoticeProps) {
  return (
    <div className={`notice notice-${tone}`} {...(isUrgent && { role: 'alert' })}>
      <Icon name={ICONS[tone]} />
      <div>
        {title !== undefined && <p className="notice-title">{title}</p>}
        {children}
      </div>
    </div>
  );
}

/** Returns the sentence for a failure. Prefers the console process's own message, which is more specific. */
export function wordsOf(failure: unknown): string {
  if (isOffline(failure)) return COMMON.offline.act;
  if (!(failure instanceof Refusal)) return COMMON.failure.act;
  if (failure.status === 429) return COMMON.failure.tooMany(failure.retryAfterSec ?? 60);
  return REFUSALS[failure.code] ?? (failure.message === '' ? COMMON.failure.act : failure.message);
}

/** Shows the reason for a failed action next to its button. */
export function ActFailure({ failure }: { readonly failure: unknown }) {
  if (failure === null || failure === undefined) return null;
  const details = failure instanceof Refusal ? failure.details : [];
  const requestId = failure instanceof Refusal ? failure.requestId : undefined;
  return (
    <Notice tone={isOffline(failure) ? 'warn' : 'bad'} isUrgent>
      <p>{wordsOf(failure)}</p>
      {details.length > 0 && (
        <ul>
          {details.map(({ field, msg }) => (
            <li key={field}>{`${field}: ${msg}`}</li>
          ))}
        </ul>
      )}
      {requestId !== undefined && <p className="dim mono">{`${COMMON.requestId} ${requestId}`}</p>}
    </Notice>
  );
}
