/** A button that copies a text and confirms it. */
import { useState } from 'react';
import { COMMON } from '../text/common.js';
import { announce } from './live.js';
import { Icon } from './icons.js';

interface CopyProps {
  readonly text: string;
  /** Name of the copied text, for screen readers. */
  readonly name: string;
  readonly label?: string;
}

/** Duration of the confirmation. */
const SHOWN_MS = 2000;

export function CopyButton({ text, name, label }: CopyProps) {
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    announce(`${COMMON.copied}: ${name}`);
    setTimeout(() => setCopied(false), SHOWN_MS);
  };
  return (
    <button
      type="button"
      className={label === undefined ? 'copy' : 'copy copy-labelled'}
      onClick={() => {
        copy().catch(() => undefined);
      }}
    >
      <Icon name={isCopied ? 'good' : 'copy'} />
      {label === undefined ? (
        <span className="only-read">{`${isCopied ? COMMON.copied : COMMON.copy}: ${name}`}</span>
      ) : (
        <span>{isCopied ? COMMON.copied : label}</span>
      )}
    </button>
  );
}
