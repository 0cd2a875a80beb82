/** The globals of the scripts before this one. @type {any} */
const scripts = globalThis;
const root = document.documentElement;
const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => root.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();
// Swagger UI gives these elements no name, and the keyboard no way to scroll.
const NAMES = [
  ['.body-param__text', 'Request body'],
  ['.close-modal', 'Close'],
  ['.modal-ux .authorize', 'Authorize'],
  ['.operation-filter-input', 'Filter'],
];
/** @type {(selector: string) => Iterable<any>} */
const all = (selector) => document.querySelectorAll(selector);
const nameElements = () => {
  for (const each of all('select:not([aria-label])')) {
    each.ariaLabel = each.closest('[data-param-name]')?.dataset.paramName ?? 'Server';
  }
  for (const [selector, name] of NAMES) {
    for (const each of all(selector)) if (each.ariaLabel !== name) each.ariaLabel = name;
  }
  for (const each of all('.operation-filter-input')) each.placeholder = 'Filter by path or title';
  for (const each of all('.curl, .microlight')) each.tabIndex = 0;
};
new MutationObserver(nameElements).observe(document.body, { childList: true, subtree: true });
/**
 * A map of Immutable.js, as Swagger UI has it.
 *
 * @typedef {{ get: (name: string) => any, getIn: (path: string[]) => string,
 *   update: (name: string, change: (list: Operation[]) => Operation[]) => Operation }} Operation
 */

/** Filters the operations, not only their groups. */
const filterOperations = {
  fn: {
    /** @type {(groups: Operation[], phrase: string) => Operation[]} */
    opsFilter: (groups, phrase) => {
      /** @type {(each: Operation) => boolean} */
      const isMeant = (each) =>
        [
          each.get('method'),
          each.get('path'),
          each.getIn(['operation', 'summary']),
          each.getIn(['operation', 'operationId']),
        ]
          .join(' ')
          .toLowerCase()
          .includes(phrase.trim().toLowerCase());
      const filtered = groups.map((group) => group.update('operations', (list) => list.filter(isMeant)));
      return filtered.filter((group) => group.get('operations').size > 0);
    },
  },
};
/** Keeps the key while the tab is open, also after a reload. */
const keepKey = {
  statePlugins: {
    auth: {
      wrapActions: {
        /** @type {(authorize: Function) => (given: { bearer: { value: string } }) => unknown} */
        authorize: (authorize) => (given) => {
          sessionStorage.setItem('key', given.bearer.value);
          return authorize(given);
        },
        /** @type {(logout: Function) => (names: unknown) => unknown} */
        logout: (logout) => (names) => {
          sessionStorage.removeItem('key');
          return logout(names);
        },
      },
    },
  },
};
const ui = scripts.SwaggerUIBundle({
  spec: scripts.slimDocument,
  domNode: document.getElementById('swagger-ui'),
  deepLinking: true,
  displayOperationId: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  filter: true,
  plugins: [keepKey, filterOperations],
  /** @type {(request: { headers: Record<string, string> }) => unknown} */
  requestInterceptor: (request) => {
    request.headers.Prefer = 'handling=strict';
    return request;
  },
  onComplete: () => {
    const key = sessionStorage.getItem('key');
    if (key !== null) ui.preauthorizeApiKey('bearer', key);
  },
});
