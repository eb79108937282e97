/** Texts shared by all dialogs that show a secret. */
export const SECRET = {
  name: 'Secret',
  once: 'Shown only once. It is stored encrypted, and nobody can display it again, not even the operator.',
  copy: 'Copy the secret',
  kept: 'I have stored it where my program reads its secrets',
  linkName: 'Link',
  linkOnce: 'Shown only once. The link works once, within 24 hours.',
  linkCopy: 'Copy the link',
  linkKept: 'I have sent it, or stored it to send later',
  done: 'Done',
} as const;
