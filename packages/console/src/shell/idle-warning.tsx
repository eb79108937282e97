/** Warns two minutes before the session expires, and offers to extend it. */
import { Button } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { SessionAnswer } from '../../../../src/modules/console/api-shapes.js';
import { useAct } from '../api/act.js';
import { get } from '../api/client.js';
import { keepSession } from '../api/session.js';
import { span } from '../format/time.js';
import { Dialog } from '../parts/dialog.js';
import { ActFailure } from '../parts/notice.js';
import { SIGN_IN } from '../text/sign-in.js';

const WARNED_MS = 2 * 60_000;

/**
 * Returns the ms until the session expires, by the server's clock: the user's clock may be wrong. The answer contains
 * the server's time.
 */
function leftMs({ idle_until: idle, expires_at: latest, now }: SessionAnswer, readAt: number): number {
  const ends = Math.min(Date.parse(idle), Date.parse(latest));
  return ends - Date.parse(now) - (Date.now() - readAt);
}

export function IdleWarning({ session }: { readonly session: SessionAnswer }) {
  const client = useQueryClient();
  const [left, setLeft] = useState<number>();
  const stay = useAct(async () => {
    keepSession(client, await get<SessionAnswer>('/api/session'));
    setLeft(undefined);
  });
  useEffect(() => {
    const readAt = Date.now();
    const look = () => {
      const now = leftMs(session, readAt);
      setLeft(now <= WARNED_MS ? now : undefined);
    };
    look();
    const timer = setInterval(look, 5000);
    return () => clearInterval(timer);
  }, [session]);
  if (left === undefined || left <= 0) return null;
  return (
    <Dialog title={SIGN_IN.warning.title} onClose={() => stay.run()}>
      <p>{SIGN_IN.warning.body(span(left / 1000))}</p>
      <ActFailure failure={stay.failure} />
      <div className="form-actions">
        <Button loading={stay.isUnderWay} onClick={() => stay.run()}>
          {SIGN_IN.warning.stay}
        </Button>
      </div>
    </Dialog>
  );
}
