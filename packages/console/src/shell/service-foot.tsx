/** Footer of every merchant page: the API's base URL, its documentation, and the operator's contact. */
import type { ServiceFacts } from '../../../../src/modules/console/api-shapes.js';
import { CopyButton } from '../parts/copy.js';
import { COMMON } from '../text/common.js';

const text = COMMON.service;

export function ServiceFoot({ service }: { readonly service: ServiceFacts }) {
  const { api_url: api, contact } = service;
  if (api === undefined && contact === undefined) return null;
  return (
    <footer className="service-foot" aria-label={text.label}>
      {api !== undefined && (
        <p>
          {text.api} <code>{api}</code>
          <CopyButton text={api} name={text.api} />
        </p>
      )}
      {api !== undefined && (
        <a href={`${api}/docs`} target="_blank" rel="noreferrer">
          {text.docs}
        </a>
      )}
      {contact !== undefined && (
        <a href={contact.startsWith('https:') ? contact : `mailto:${contact}`} rel="noreferrer">
          {text.contact}
        </a>
      )}
    </footer>
  );
}
