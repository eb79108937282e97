/** Announcements for screen readers: at most one sentence every five seconds, the newest pending one. */
import { useEffect, useState } from 'react';

const APART_MS = 5000;

let show: (text: string) => void = () => undefined;
let shownAt = 0;
let waiting: string | undefined;
let timer: ReturnType<typeof setTimeout> | undefined;

export function announce(text: string): void {
  waiting = text;
  if (timer !== undefined) return;
  timer = setTimeout(
    () => {
      timer = undefined;
      shownAt = Date.now();
      if (waiting !== undefined) show(waiting);
      waiting = undefined;
    },
    Math.max(0, shownAt + APART_MS - Date.now()),
  );
}

export function LiveRegion() {
  const [text, setText] = useState('');
  useEffect(() => {
    show = setText;
    return () => {
      show = () => undefined;
    };
  }, []);
  return (
    <div className="only-read" role="status" aria-live="polite">
      {text}
    </div>
  );
}
