/** A name of the API or of an action. A line breaks only after its dots, hyphens and underscores. */
import { Fragment } from 'react';

export function CodeWords({ text }: { readonly text: string }) {
  return (
    <code className="code-words">
      {text.split(/(?<=[._-])/).map((part, index) => (
        <Fragment key={index}>
          {part}
          <wbr />
        </Fragment>
      ))}
    </code>
  );
}
