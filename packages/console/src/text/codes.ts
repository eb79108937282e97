/** Messages for refusal codes, each with the next step. Other codes show the console process's own message. */
export const REFUSALS: Readonly<Record<string, string>> = {
  WRONG_CREDENTIALS: 'E-mail address or password is wrong.',
  WRONG_CODE: 'That code is wrong or was used already. Wait for the next one, or use a recovery code.',
  RATE_LIMITED: 'Too many attempts from here. Wait a little, then try again.',
  SIGN_IN: 'Your sign-in has ended. Sign in again; your entries are kept.',
  SIGN_IN_AGAIN: 'This wants a fresh sign-in.',
  FORBIDDEN: 'Your role may read this, but not change it.',
  NOT_FOUND: 'There is no such thing, or it belongs to another project.',
  LIMIT_REACHED: 'The most there can be are there already; remove one first.',
  SERVICE_UNAVAILABLE: 'The service is busy or away. Nothing was changed; try again in a moment.',
  INTERNAL_ERROR: 'A fault of ours. Nothing was changed as far as is known; read the page again before you repeat it.',
};
