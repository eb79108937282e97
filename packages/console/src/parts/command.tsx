/** A command to run elsewhere, in full, with a copy button. */
import { SYSTEM } from '../text/system.js';
import { CopyButton } from './copy.js';

export function Command({ name, text }: { readonly name: string; readonly text: string }) {
  return (
    <p>
      {name}: <code>{text}</code> <CopyButton text={text} name={SYSTEM.copy} />
    </p>
  );
}
