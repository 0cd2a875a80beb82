import { readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Reference {
  readonly $ref: string;
}

export interface DocumentedHeader {
  readonly required?: boolean;
  readonly schema: object;
}

interface DocumentedContent {
  readonly schema: object;
  /** One for each error code of the response, by the code. */
  readonly examples?: Readonly<Record<string, unknown>>;
}

export interface DocumentedResponse {
  readonly headers?: Readonly<Record<string, DocumentedHeader | Reference>>;
  /** By media type. */
  readonly content?: Readonly<Record<string, DocumentedContent>>;
}

/** Responses of one operation by status. */
type Responses = Readonly<Record<string, DocumentedResponse | Reference>>;

/** Operations of one path by method, in lower case. */
type Operations = Readonly<Record<string, { readonly responses: Responses }>>;

/** The parts of an OpenAPI document that describe responses. */
export interface ResponseDocument {
  readonly paths: Readonly<Record<string, Operations>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly headers: Readonly<Record<string, DocumentedHeader>>;
    readonly responses: Readonly<Record<string, DocumentedResponse>>;
  };
}

/** The committed document: in the root of the project and of the package, so `src` and `dist` reach it alike. */
const COMMITTED = join(__dirname, '..', '..', '..', 'openapi.json');

/** Reads the OpenAPI document of this version from `openapi.json`. */
export function readCommittedDocument(): ResponseDocument {
  const document: ResponseDocument = JSON.parse(readFileSync(COMMITTED, 'utf8'));
  return document;
}

/** Finds operations by the path of a request, and resolves references. */
export class DocumentedResponses {
  private readonly paths: readonly { readonly pattern: RegExp; readonly operations: Operations }[];

  constructor(private readonly document: ResponseDocument) {
    this.paths = Object.entries(document.paths).map(([path, operations]) => ({
      pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
      operations,
    }));
  }

  /**
   * The responses of an operation by status; undefined if the document has no such operation.
   *
   * @param path below the base URL, with or without a query; HEAD has the responses of GET
   */
  responsesOf(method: string, path: string): Responses | undefined {
    const [asWritten = ''] = path.split(/[?#]/, 1);
    const found = this.paths.find(({ pattern }) => pattern.test(normalized(asWritten)));
    return found?.operations[method === 'HEAD' ? 'get' : method.toLowerCase()]?.responses;
  }

  response(response: DocumentedResponse | Reference | undefined): DocumentedResponse | undefined {
    return resolved(response, this.document.components.responses);
  }

  /** The headers of a response by their names in lower case. */
  headers({ headers = {} }: DocumentedResponse): ReadonlyMap<string, DocumentedHeader> {
    return new Map(
      Object.entries(headers).flatMap(([name, header]) => {
        const known = resolved(header, this.document.components.headers);
        return known === undefined ? [] : [[name.toLowerCase(), known]];
      }),
    );
  }
}

function resolved<T extends object>(
  node: T | Reference | undefined,
  components: Readonly<Record<string, T>>,
): T | undefined {
  return isReference(node) ? components[node.$ref.slice(node.$ref.lastIndexOf('/') + 1)] : node;
}

function isReference(node: object | undefined): node is Reference {
  return node !== undefined && '$ref' in node;
}

/** Spells each segment of a path in one way, because the router decodes `%70ets`. */
function normalized(path: string): string {
  return path
    .split('/')
    .map((segment) => {
      try {
        return encodeURIComponent(decodeURIComponent(segment));
      } catch {
        return segment;
      }
    })
    .join('/');
}
