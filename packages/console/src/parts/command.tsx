/** A command to be run elsewhere: whole, and copied at a press. */
import { SYSTEM } from '../text/system.js';
import { CopyButton } from './copy.js';

export function Command({ name, text }: { readonly name: string; readonly text: string }) {
  return (
    <p>
      {name}: <code>{text}</code> <CopyButton text={text} name={SYSTEM.copy} />
    </p>
  );
}
