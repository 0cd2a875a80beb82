/** The global of the script before this one. @type {any} */
const { SwaggerUIBundle } = globalThis;
const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();

/**
 * Indents JSON with the digits of each number as they are. Swagger UI rounds integers beyond 2^53.
 *
 * @type {(text: string) => string}
 */
const indented = (text) => {
  /** Reads the text of numbers (ECMAScript proposal JSON.parse source text access). @type {any} */
  const { parse, rawJSON, stringify } = JSON;
  /** @type {(name: string, value: unknown, context: { source: string }) => unknown} */
  const keep = (_name, value, { source }) => (typeof value === 'number' ? rawJSON(source) : value);
  try {
    return rawJSON ? stringify(parse(text, keep), undefined, 2) : text;
  } catch {
    // A proxy may send another text as JSON.
    return text;
  }
};
const exactNumbers = {
  wrapComponents: {
    /** @type {(Original: Function, system: { React: any }) => Function} */
    responseBody:
      (Original, { React }) =>
      /** @type {(props: { content: string, contentType: string }) => unknown} */
      (props) =>
        React.createElement(
          Original,
          /json/.test(props.contentType)
            ? { ...props, content: indented(props.content), contentType: 'text' }
            : props,
        ),
  },
};
SwaggerUIBundle({
  url: './openapi.json',
  domNode: document.getElementById('swagger-ui'),
  deepLinking: true,
  displayOperationId: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  plugins: [exactNumbers],
  /** @type {(request: { headers: Record<string, string> }) => unknown} */
  requestInterceptor: (request) => {
    request.headers.Prefer = 'handling=strict';
    return request;
  },
});
