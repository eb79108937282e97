/** Messages for refusal codes, each with the next step. Other codes show the console process's own message. */
export const REFUSALS: Readonly<Record<string, string>> = {
  WRONG_CREDENTIALS: 'The e-mail address or password is wrong.',
  WRONG_CODE: 'This code is wrong or was already used. Wait for the next code, or use a recovery code.',
  RATE_LIMITED: 'Too many attempts from your network. Wait a moment, then try again.',
  SIGN_IN: 'Your session has ended. Sign in again; your entries are kept.',
  SIGN_IN_AGAIN: 'This action needs a recent sign-in. Enter your password again.',
  FORBIDDEN: 'Your role can read this but not change it.',
  NOT_FOUND: 'This does not exist, or it belongs to another project.',
  LIMIT_REACHED: 'The maximum number is reached. Remove one first.',
  SERVICE_UNAVAILABLE: 'The service is busy or unavailable. Nothing was changed. Try again in a moment.',
  INTERNAL_ERROR:
    'An error in the service. The change was probably not made: reload the page and check before you repeat it.',
};
