/** A native browser dialog: it traps the focus, and Escape closes it. */
import { useEffect, useId, useRef, type ReactNode } from 'react';
import { COMMON } from '../text/common.js';
import { Icon } from './icons.js';

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** Only the dialog's own buttons close it, so that its content is not lost by accident. */
  readonly isFirm?: boolean;
}

export function Dialog({ title, onClose, children, isFirm = false }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const name = useId();
  useEffect(() => {
    const shown = dialog.current;
    const before = document.activeElement;
    if (shown !== null && !shown.open) shown.showModal();
    return () => {
      shown?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      className="dialog"
      aria-labelledby={name}
      onCancel={(event) => {
        event.preventDefault();
        if (!isFirm) onClose();
      }}
    >
      <div className="dialog-head">
        <h2 id={name}>{title}</h2>
        {!isFirm && (
          <button type="button" className="plain-button" onClick={onClose}>
            <Icon name="bad" />
            <span className="only-read">{COMMON.close}</span>
          </button>
        )}
      </div>
      {children}
    </dialog>
  );
}
