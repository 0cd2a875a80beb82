/** The public addresses of a deployment. */
export interface Addresses {
  /** Of the API, such as `https://api.example.com/v1`. */
  readonly base: string;
  /** `base` without `/v1`. */
  readonly root: string;
  readonly hasDocs: boolean;
  readonly hasMcp: boolean;
}

export const CATALOG_PATH = '.well-known/api-catalog';

/** The page for language models (llmstxt.org). */
export function llmsText({ base, root, hasDocs, hasMcp }: Addresses): string {
  const links = [
    `- [OpenAPI document](${root}/openapi.json): every operation, parameter, limit and error of the API below ${base}`,
    ...(hasDocs ? [`- [Swagger UI](${root}/docs): the same for people, with a form for each operation`] : []),
    ...(hasMcp
      ? [
          `- [Model Context Protocol](${root}/mcp): Streamable HTTP; one tool for each operation that the key may use`,
        ]
      : []),
    `- [API catalogue](${root}/${CATALOG_PATH}): these links for programs (RFC 9727)`,
  ];
  return `# Animal Store API

> An HTTP/JSON API of a store for animals: list, add, change and order animals.

Every request needs an API key: \`Authorization: Bearer <API_KEY>\`. The operator of this deployment creates keys. Requests are limited per minute and per day by the plan of the account. Identifiers are int64: keep integers beyond 2^53 exact.

## Links

${links.join('\n')}
`;
}

/** The API catalogue (RFC 9727), as a linkset (RFC 9264). */
export function apiCatalog({ base, root, hasDocs, hasMcp }: Addresses): object {
  return {
    linkset: [
      {
        anchor: `${root}/${CATALOG_PATH}`,
        item: [{ href: base }, ...(hasMcp ? [{ href: `${root}/mcp` }] : [])],
      },
      {
        anchor: base,
        'service-desc': [
          { href: `${root}/openapi.json`, type: 'application/json' },
          { href: `${root}/openapi.yaml`, type: 'application/yaml' },
        ],
        ...(hasDocs && { 'service-doc': [{ href: `${root}/docs`, type: 'text/html' }] }),
        status: [{ href: `${root}/readyz`, type: 'application/json' }],
      },
    ],
  };
}
