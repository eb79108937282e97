/** A request for the merchant's own server, as a curl command and as a Node program. */
import type { PlaygroundCall } from '../../../../src/modules/console/integration-shapes.js';
import { PLAYGROUND } from '../text/playground.js';
import { CopyButton } from './copy.js';

const text = PLAYGROUND;

export function RequestSnippets({ call: { curl, node } }: { readonly call: PlaygroundCall }) {
  const parts = [
    [text.curl, curl, text.copyCurl],
    [text.node, node, text.copyNode],
  ] as const;
  return parts.map(([name, shown, copy]) => (
    <div key={name} className="stack">
      <h3 className="small-head">{name}</h3>
      <pre className="code-block" tabIndex={0}>
        {shown}
      </pre>
      <CopyButton text={shown} name={name} label={copy} />
    </div>
  ));
}
