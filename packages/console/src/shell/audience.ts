/** Whom this console is for, as its process wrote it into the page: known before anybody has signed in. */
import { AUDIENCES, type Audience } from '../../../../src/domain/audience.js';

const written = document.querySelector('meta[name="audience"]')?.getAttribute('content');

/** Undefined where the page comes from elsewhere, such as while pages are worked on. */
export const AUDIENCE: Audience | undefined = AUDIENCES.find((known) => known === written);
