/** The audience of this console. Its process writes it into the page, so it is available before sign-in. */
import { AUDIENCES, type Audience } from '../../../../src/domain/audience.js';

const written = document.querySelector('meta[name="audience"]')?.getAttribute('content');

/** Undefined if another server delivers the page, such as the dev server. */
export const AUDIENCE: Audience | undefined = AUDIENCES.find((known) => known === written);
