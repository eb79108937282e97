/** What counts as an e-mail address here, in lower case: one that means the same in every header and command. */
export const EMAIL_ADDRESS =
  /^[^\s\p{C}@<>()[\]\\,;:"']{1,64}@[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/u;
