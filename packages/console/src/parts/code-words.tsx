/** A name of the API or of an action. A line breaks after its dots and underscores, not within its words. */
export function CodeWords({ text }: { readonly text: string }) {
  return (
    <code className="code-words">
      {text.split(/(?<=[._])/).map((part, index) => (
        <span key={index}>{part}</span>
      ))}
    </code>
  );
}
