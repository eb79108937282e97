/** Texts shared by all dialogs that show a secret. */
export const SECRET = {
  name: 'Secret',
  once: 'Shown this once. It is sealed from here on: nobody can read it again, the operator included.',
  copy: 'Copy the secret',
  kept: 'I have kept it where my program reads its secrets',
  linkName: 'Link',
  linkOnce: 'Shown this once; it works once, for 24 hours.',
  linkCopy: 'Copy the link',
  linkKept: 'I have sent it, or kept it to send',
  done: 'Done',
} as const;
