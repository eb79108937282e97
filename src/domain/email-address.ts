/** A valid e-mail address in lower case, limited to forms with the same meaning in every header and command. */
export const EMAIL_ADDRESS =
  /^[^\s\p{C}@<>()[\]\\,;:"']{1,64}@[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/u;
