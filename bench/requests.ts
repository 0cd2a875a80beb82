import { encodeCursor } from '../src/platform/http/page';

/** One request of a load. */
export interface BenchRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly key: string | undefined;
  readonly body?: object;
}

/** A page of the list, independent of the paging parameters of a server. */
export interface ListPlace {
  readonly limit?: number;
  readonly status?: string | undefined;
  /** Only the service has this filter, and the two below. */
  readonly categoryId?: number;
  readonly id?: readonly number[];
  readonly sort?: 'id' | '-id';
  /** The id after which the page begins. */
  readonly after?: number | undefined;
}

/** Returns the path and query of a page in the form that a server expects. */
export type ListAddress = (place: ListPlace) => string;

export const serviceList: ListAddress = ({ limit, id, categoryId, status, sort, after }) => {
  // As the service names the list in a cursor.
  const filters = { id, categoryId, status, sort: sort === 'id' ? undefined : sort };
  const cursor = after === undefined ? undefined : encodeCursor(`/pets?${search(filters)}`, BigInt(after));
  return address({ limit, ...filters, cursor });
};

export const handwrittenList: ListAddress = ({ limit, status, after }) => {
  const cursor = after === undefined ? undefined : Buffer.from(String(after)).toString('base64url');
  return address({ limit, status, cursor });
};

export const textbookList: ListAddress = ({ limit, status, after }) => address({ limit, status, after });

type Parameters = Readonly<Record<string, string | number | readonly number[] | undefined>>;

function address(parameters: Parameters): string {
  const query = search(parameters);
  return query === '' ? '/v1/pets' : `/v1/pets?${query}`;
}

function search(parameters: Parameters): string {
  return Object.entries(parameters)
    .flatMap(([name, values = []]) => [values].flat().map((value) => `${name}=${value}`))
    .join('&');
}
